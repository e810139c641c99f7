package pebblestore

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
)

// op is one step of a caller. Its results are fields that apply fills and the
// caller reads when do has returned nil.
type op interface {
	// weight is about how many rows the step writes or keys it looks up.
	weight() int
	// apply carries the step out. The committer calls it, alone and holding
	// Store.mu. It must find every error before it changes anything: an error
	// goes to its caller, and the group goes on.
	apply(tx *txn) error
}

// request is an op on its way to the committer and back.
type request struct {
	op    op
	state atomic.Int32
	err   error
	done  chan struct{} // with room for the one answer
}

const (
	waiting int32 = iota
	accepted
	withdrawn
)

// do hands o to the committer and waits until it is durable. Until the
// committer takes it, the end of ctx withdraws it.
func (s *Store) do(ctx context.Context, o op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, reads := o.(readOp); s.opt.ReadOnly && !reads {
		return fmt.Errorf("cannot write: the store is open for reading only: %w", store.ErrInvalid)
	}
	if err := s.awaitIndex(ctx, o); err != nil {
		return err
	}
	r := s.request(o)
	if err := s.enqueue(ctx, r); err != nil {
		return err
	}
	select {
	case <-r.done:
		return s.answer(r)
	case <-s.dead:
		return s.failure()
	case <-ctx.Done():
	}
	if r.state.CompareAndSwap(waiting, withdrawn) {
		return ctx.Err()
	}
	select {
	case <-r.done:
		return s.answer(r)
	case <-s.dead:
		return s.failure()
	}
}

// request returns a request for o: a new one, or one that was answered. Of one
// that was called back the committer still holds the address.
func (s *Store) request(o op) *request {
	r, ok := s.answered.Get().(*request)
	if !ok {
		r = &request{done: make(chan struct{}, 1)}
	}
	r.op = o
	return r
}

// answer returns what the committer answered to r, which is given back.
func (s *Store) answer(r *request) error {
	err := r.err
	r.op, r.err = nil, nil
	r.state.Store(waiting)
	s.answered.Put(r)
	return err
}

// enqueue puts r in the committer's queue. Close waits for the gate, so
// nothing comes after the queue is closed.
func (s *Store) enqueue(ctx context.Context, r *request) error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return store.ErrClosed
	}
	select {
	case s.queue <- r:
		return nil
	case <-s.dead:
		return s.failure()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// committer serves the queue until it is closed.
func (s *Store) committer() {
	defer close(s.stopped)
	s.health.committer.Store(goroutine())
	var group []*request
	for r := range s.queue {
		group = s.gather(append(group[:0], r))
		s.commitGroup(group)
		clear(group)
	}
}

// gather adds to the group what waits, up to GroupKeys, and with GroupWait
// what comes in that time.
func (s *Store) gather(group []*request) []*request {
	var timeout <-chan time.Time
	if s.opt.GroupWait > 0 {
		timeout = time.After(s.opt.GroupWait)
	}
	for n := group[0].op.weight(); n < s.opt.GroupKeys; {
		r := s.next(timeout)
		if r == nil {
			break
		}
		group = append(group, r)
		n += r.op.weight()
	}
	return group
}

// next returns a waiting request; if there is none it waits for one until the
// timeout, or not at all when that is nil.
func (s *Store) next(timeout <-chan time.Time) *request {
	select {
	case r := <-s.queue:
		return r
	default:
	}
	if timeout == nil {
		return nil
	}
	select {
	case r := <-s.queue:
		return r
	case <-timeout:
		return nil
	}
}

// commitGroup applies the steps of a group, commits them together and answers.
func (s *Store) commitGroup(group []*request) {
	if s.isDead() {
		return // which those who wait know
	}
	tx, start := s.begin(), time.Now()
	steps := s.applyGroup(tx, group)
	info := GroupInfo{Steps: steps, Rows: int(tx.batch.Count()), Bytes: tx.batch.Len(), Apply: time.Since(start)}
	err := s.finish(tx)
	if info.Sync = time.Since(start) - info.Apply; s.opt.Observer != nil && err == nil {
		s.opt.Observer.Group(info)
	}
	for _, r := range group {
		if r.op == nil {
			continue
		}
		if r.err == nil {
			r.err = err
		}
		r.done <- struct{}{}
	}
}

// applyGroup applies the steps of a group and returns how many were not called
// back; the op of those that were is nil now.
func (s *Store) applyGroup(tx *txn, group []*request) (steps int) {
	for len(group) > 0 {
		n := seeRun(group)
		if n > 1 {
			steps += s.applySees(tx, group[:n])
		} else if n = 1; s.accept(group[0]) {
			steps++
			group[0].err = s.applyOne(tx, group[0].op)
		}
		group = group[n:]
	}
	return steps
}

// accept takes a step that was not called back.
func (s *Store) accept(r *request) bool {
	if !r.state.CompareAndSwap(waiting, accepted) {
		r.op = nil
		return false
	}
	s.accepted.Add(1)
	return true
}

func (s *Store) applyOne(tx *txn, o op) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return o.apply(tx)
}

// finish writes what the group changed and syncs it. A failure is final.
func (s *Store) finish(tx *txn) error {
	s.mu.Lock()
	s.writeDirty(tx)
	s.writeQueues(tx)
	s.mu.Unlock()
	err := tx.err
	switch {
	case err != nil:
	case !tx.batch.Empty():
		err = commitBatch(tx.batch, pebble.Sync)
	case s.sched.unsynced:
		err = guard(func() error { return s.db.LogData(nil, pebble.Sync) }) // an empty batch would not sync
	}
	if err != nil {
		s.die(err)
		return s.failure()
	}
	s.sched.unsynced = false
	for _, d := range tx.dirty {
		d.crawl.seen.committed()
	}
	s.groups.Add(1)
	s.keepBudget()
	for _, f := range tx.after {
		f()
	}
	return tx.batch.Close()
}

// commitBatch commits b.
func commitBatch(b *pebble.Batch, w *pebble.WriteOptions) error {
	return guard(func() error { return b.Commit(w) })
}

// guard turns a panic of Pebble, which is how it fails to open or commit, by
// itself or through Fatalf, into an error.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("pebble: %v", r)
			if cause, ok := r.(error); ok {
				err = cause
			}
		}
	}()
	return f()
}
