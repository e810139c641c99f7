package pebblestore

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/internal/async"
)

// groupTime is after how long a group takes no further step: others wait for all of it.
const groupTime = 20 * time.Millisecond

// committer serves the queue until it is closed.
func (s *Store) committer() {
	defer close(s.written)
	for {
		if len(s.late) == 0 {
			r := <-s.queue
			if r == nil { // it was closed
				return
			}
			s.late = append(s.late, r)
		}
		r := s.late[0]
		f := <-s.flights
		s.pace.wait(s.dead, s.closing)
		s.awaitFlush()
		for n := -1; r.op.weight() < 1500 && n < len(s.queue); runtime.Gosched() { // small calls about to come go into the group; large ones are prepared for too long
			n = len(s.queue)
		}
		began := s.opt.monotonic()
		s.boundReplay()
		f.group = s.gather(append(f.group, s.late...))
		s.late = s.late[:0]
		if !s.isDead() { // or memory is ahead of the disk
			s.apply(f)
			s.answerDurable(f)
		}
		f.info.busy = s.opt.monotonic() - began
		s.busy.add(f.info.busy)
		if len(f.group) == 0 && f.batch == nil && len(f.files) == 0 { // nothing waits for the disk
			s.recycle(f)
			continue
		}
		n := f.info.bytes
		s.written <- f
		s.pace.charge(n, s.lag())
	}
}

// gather adds to the group what waits, up to groupKeys.
func (s *Store) gather(group []*request) []*request {
	n := 0
	for _, r := range group {
		n += r.op.weight()
	}
	for n < s.opt.groupKeys {
		select {
		case r := <-s.queue:
			if r == nil { // the queue was closed
				return group
			}
			group = append(group, r)
			n += r.op.weight()
		default:
			return group
		}
	}
	return group
}

// apply applies the steps of a group, and writes their changes without waiting for the sync.
func (s *Store) apply(f *flight) {
	s.between.Lock()
	defer s.between.Unlock()
	tx := s.begin()
	s.recent.group++
	f.number = s.recent.group
	var done int
	done, f.info.steps = s.applyGroup(tx, f.group)
	s.late = append(s.late, f.group[done:]...)
	f.group = f.group[:done]
	s.mu.Lock()
	s.writePacked(tx)
	s.writeDirty(tx)
	s.writeQueues(tx)
	s.mu.Unlock()
	tx.keepWallTime()
	tx.count()
	f.info.rows, f.info.bytes = tx.wroteRows, tx.wroteBytes
	f.files = tx.files
	wrote, err := s.write(tx)
	if err != nil {
		s.die(err)
		return
	}
	if wrote {
		f.batch, f.last = tx.batch, s.note.written.Load()
	}
	s.groups.Add(1)
	s.keepBudget()
}

// applyGroup applies the first steps of a group, for groupTime. It returns how many these are, and how many of them
// were not called back; the op of those that were is nil now.
func (s *Store) applyGroup(tx *txn, group []*request) (done, steps int) {
	for began, now := s.opt.monotonic(), time.Duration(0); done < len(group) && now < groupTime; {
		n, r, before := seeRun(group[done:]), group[done], now
		if n > 0 {
			steps += s.applySees(tx, group[done:][:n])
		} else if n = 1; s.accept(r) {
			steps++
			tx.left = budget{r.rows, stepBytes}
			r.err = s.applyOne(tx, r.op)
		}
		now = s.opt.monotonic() - began
		r.took = now - before
		done += n
	}
	return done, steps
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
	defer tx.file()
	return o.apply(tx)
}

// write passes the rows of tx to Pebble, which syncs them; see the batch's SyncWait. It reports whether there were
// any, or some before that are not synced yet.
func (s *Store) write(tx *txn) (wrote bool, err error) {
	if tx.err != nil || tx.batch.Empty() && !s.sched.unsynced {
		return false, tx.err
	}
	s.sched.unsynced = false
	s.unflushed += tx.wroteBytes + rowCost*tx.wroteRows
	return true, tx.commit(func(b *pebble.Batch) error { return s.db.ApplyNoSyncWait(b, pebble.Sync) })
}

// commit ends the batch with a claim, and passes it to Pebble.
func (tx *txn) commit(apply func(*pebble.Batch) error) error {
	n := tx.s.note
	claim := appendClaim(make([]byte, 0, claimLen), n.acked.Load())
	rows, log := uint64(tx.batch.Count()), n.newest.Load()
	err := guard(func() error { return errors.Join(tx.batch.LogData(claim, nil), apply(tx.batch)) })
	if err != nil {
		return err
	}
	if !tx.batch.Empty() {
		n.written.Store(uint64(tx.batch.SeqNum()) + rows - 1)
		return nil
	}
	// Pebble wrote a batch that is too large for its buffer into the log before the one that it has now begun.
	n.written.Add(rows)
	n.begins(log, n.written.Load()+1)
	return nil
}

// rowCost is how many bytes a row counts for beside its own: it costs Open, which replays it after a kill, and a
// flush as much.
const rowCost = 128

// awaitFlush waits until the flush before has ended if another is due: an Open that finds more than one full buffer flushes
// them before it returns.
func (s *Store) awaitFlush() {
	if s.unflushed < s.opt.memTableBytes || s.flushed == nil || async.Closed(s.flushed) {
		return
	}
	defer s.pace.waiting()()
	select {
	case <-s.flushed:
	case <-s.dead:
	case <-s.closing:
	}
}

// boundReplay has Pebble flush its buffer when enough was written: with 120 bytes a row, 130,000 of them. Packed keys are in
// a few large rows.
func (s *Store) boundReplay() {
	if s.unflushed < s.opt.memTableBytes || s.flushed != nil && !async.Closed(s.flushed) {
		return
	}
	s.unflushed = 0
	if err := guard(func() (err error) {
		s.flushed, err = s.db.AsyncFlush()
		return err
	}); err != nil {
		s.die(err)
	}
}

// guard turns a panic of Pebble, which is how it fails to open or commit, into an error.
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
