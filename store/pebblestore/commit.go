package pebblestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
)

// All changes to a store go through one goroutine, the committer. The obvious way would be a lock, and a synced write by each
// caller. But then a caller with one key pays for a whole sync, and two callers with the same key must look twice, under the lock.
// Instead, the committer takes the waiting steps as one group: it applies them in order to the state in memory, writes all their
// rows as one Pebble batch, and continues with the next group while the disk syncs. A second goroutine, the answerer,
// waits for the syncs and answers the callers. So:
//
//	caller      do ──queue──▶ committer   gather, apply, write ──written──▶ answerer   SyncWait, answer
//
//   - The order of the queue is the order of everything: no step sees half of another, and of two adds of one key the second
//     is the duplicate.
//   - An answer waits for the sync of its own group and, since groups are answered in order, of all groups before. So a "duplicate"
//     is durable. A group that wrote nothing waits too: the one before may have recorded its duplicates.
//   - Memory is ahead of the disk from apply to the sync. A write that fails therefore fails the store (health.die).
//
// # Long work is done in parts
//
// No caller may hold up others for longer than a few steps take, but the work of some calls grows with a queue, a crawl or the
// store. A fixed bound on rows for each kind of work was not enough: a row costs one microsecond or a hundred, depending on the
// caches, and bounds that were right on one machine blocked for a fifth of a second on the next. So all such steps do
// a part, as much as txn.left allows, and return errMore or errRest. The committer carries out the next part
// in the next group, after the steps waiting by then; a part that this group has no time for goes first in the one after it. The
// size of a part follows from the time the last one took. A group always ends after groupTime. Only the last part is answered.
// (At first each part was a separate call, which waited for its sync: forgetting a million URLs waited for 500 syncs in a row.)
//
// # Who owns what
//
// The committer owns the txn, Store.parts and Store.starved, and the flight until it hands it to the answerer. A request is its
// caller's until it is in the queue, and again when done has a value; in between, the caller may only move its state.

// Neither is a failure. After errMore the rest is left undone if the caller's context ends or the store closes; after errRest
// it is done in any case.
var (
	errMore = errors.New("there is more to do")
	errRest = errors.New("the rest has to be done")
)

func unfinished(err error) bool {
	return err == errMore || err == errRest //nolint:errorlint // nothing wraps them
}

// budget is how much one part may still look at: rows, leases, queues and crawls, even if there is little to find, and bytes.
type budget struct{ rows, bytes int }

func (b *budget) spent() bool { return b.rows <= 0 || b.bytes <= 0 }

const (
	// groupTime is how long a group takes further steps: callers wait for all of it.
	groupTime = 20 * time.Millisecond
	// partTime is how long a part of a long step should take.
	partTime = 8 * time.Millisecond
	// firstRows bounds the rows that the first part looks at, leastRows and mostRows those of any part.
	firstRows, leastRows, mostRows = 512, 16, 2048
	// partBytes bounds the bytes of these rows.
	partBytes = 1 << 20
)

// nextRows returns how many rows the next part may look at, if those of the last one took so long.
func nextRows(rows int, took time.Duration) int {
	if took > partTime {
		return max(leastRows, int(int64(rows)*int64(partTime)/int64(took)))
	}
	if took < partTime/2 {
		rows *= 2
	}
	return min(rows, mostRows)
}

// request is a step on its way to the committer and back.
type request struct {
	// apply carries the step out, or a part of it. The committer calls it, alone and holding Store.mu. It must find every error
	// before it changes anything: an error goes to its caller, and the rest of the group is applied. With errMore and errRest it
	// has done a part, and is called again in a later group. Nil: the step was withdrawn.
	apply  func(tx *txn) error
	weight int // about how many rows the step writes or keys it looks up
	state  atomic.Int32
	rows   int // that its next part may look at
	err    error
	done   chan struct{} // gets the one answer
}

// The states of a request. The caller withdraws it before it is accepted, and ends it between two parts.
const (
	waiting int32 = iota
	withdrawn
	accepted
	ending
)

// do carries out a step that writes.
func (s *Store) do(ctx context.Context, weight int, apply func(tx *txn) error) error {
	if s.opt.Mode == OpenReadOnly {
		return fault.As(store.ErrInvalid, "cannot write: the store is open for reading only")
	}
	return s.submit(ctx, weight, apply)
}

// read carries out a step that only reads. It goes through the committer like any other, so it sees every earlier step as a
// whole, and none that might still be lost.
func (s *Store) read(ctx context.Context, read func(tx *txn) error) error {
	return s.submit(ctx, 1, func(tx *txn) error {
		tx.flush()
		return read(tx)
	})
}

// submit hands a step to the committer, and waits until all of it is durable. Until the committer takes it, the end of ctx
// withdraws it. When submit returns, the step's data is the caller's; but if the store isStuck, the committer may still
// use it.
func (s *Store) submit(ctx context.Context, weight int, apply func(tx *txn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := s.requests.Get().(*request)
	r.apply, r.weight, r.rows = apply, weight, firstRows
	if err := s.enqueue(ctx, r); err != nil {
		return err
	}
	for ended := ctx.Done(); ; {
		select {
		case <-r.done:
			return s.answer(ctx, r)
		case <-s.stuck:
			return s.failure() // r stays the committer's
		case <-ended:
			if r.state.CompareAndSwap(waiting, withdrawn) {
				return ctx.Err()
			}
			r.state.CompareAndSwap(accepted, ending)
			ended = nil
		}
	}
}

// ask returns what a step that only reads returns.
func ask[T any](ctx context.Context, s *Store, read func(tx *txn) (T, error)) (none T, err error) {
	var answer T
	if err := s.read(ctx, func(tx *txn) (err error) {
		answer, err = read(tx)
		return err
	}); err != nil {
		return none, err
	}
	return answer, nil
}

// answer returns the answer to r, and puts r back into the pool. A withdrawn request never comes here, as the committer
// still points to it.
func (s *Store) answer(ctx context.Context, r *request) error {
	err := r.err
	r.apply, r.err = nil, nil
	r.state.Store(waiting)
	s.requests.Put(r)
	if unfinished(err) {
		return cmp.Or(ctx.Err(), store.ErrClosed)
	}
	return corruption(err)
}

// enqueue puts r in the committer's queue. Close waits for the gate, so
// nothing is queued after the queue is closed.
func (s *Store) enqueue(ctx context.Context, r *request) error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if err := s.usable(); err != nil {
		return err
	}
	select {
	case s.queue <- r:
		return nil
	default:
	}
	select {
	case s.queue <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.dead: // the committer may never come, and Close waits for the gate
		return s.failure()
	}
}

// inFlight is how many groups may wait for the disk. Pebble syncs waiting groups together, so a group is written as soon as
// it is ready: processors and disk work in parallel, and no caller waits for more than the sync in progress and the
// next one. With eight, 256 callers of one key each got 5 % more keys recorded, but waited longer.
const inFlight = 4

// flight is a group, from gathering to answer.
type flight struct {
	group []*request
	batch *pebble.Batch   // its rows, once they are written; nil for none
	last  uint64          // the number of the last of them, see noteKeeper
	files []*runfile.File // to be released when they are durable
	info  groupInfo
}

// committer serves the queue until it is closed and all parts are done.
func (s *Store) committer() {
	defer close(s.written)
	for {
		var first *request
		if len(s.parts) == 0 {
			if first = <-s.queue; first == nil { // it was closed
				return
			}
		}
		f := <-s.flights
		s.pace.wait(s.dead, s.closing)
		s.awaitFlush()
		s.awaitCallers(first)
		began := s.opt.monotonic()
		s.boundReplay()
		if s.isDead() { // memory is ahead of the disk
			f.group = slices.AppendSeq(f.group, s.turns(f, first))
		} else {
			s.apply(f, first)
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

// awaitCallers waits for small calls that are about to arrive, to join the group. Large calls take too long to prepare.
func (s *Store) awaitCallers(first *request) {
	if first == nil || first.weight >= 1500 {
		return
	}
	for n := -1; n < len(s.queue); runtime.Gosched() {
		n = len(s.queue)
	}
}

// turns yields the steps of a group: waiting steps, up to groupKeys, and then the next parts. A part that
// the last group had no time for goes first: so parts and steps take turns, however many there are of both, and however long one
// takes. Those not consumed wait for the next group.
func (s *Store) turns(f *flight, first *request) iter.Seq[*request] {
	return func(yield func(*request) bool) {
		parts := s.parts
		s.parts = nil
		defer func() {
			s.starved = len(parts) > 0 && (f.info.steps > 1 || !s.starved) // where a group has time for one step, every second begins with a part
			s.parts = append(parts, s.parts...)                            // those that waited longer
		}()
		part := func() bool {
			r := parts[0]
			parts = parts[1:]
			return yield(r)
		}
		if s.starved && !part() {
			return
		}
		n := 0
		if first != nil {
			if n = first.weight; !yield(first) {
				return
			}
		}
		for left := len(s.queue); left > 0 && n < s.opt.groupKeys; left-- {
			r := <-s.queue
			if n += r.weight; !yield(r) {
				return
			}
		}
		for len(parts) > 0 && part() {
		}
	}
}

// apply applies the steps of a group, and writes their changes without waiting for the sync.
func (s *Store) apply(f *flight, first *request) {
	s.between.Lock()
	defer s.between.Unlock()
	tx := s.begin()
	s.applyGroup(tx, f, first)
	s.mu.Lock()
	tx.writeState()
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

// applyGroup applies steps for groupTime. Finished steps go into the group.
func (s *Store) applyGroup(tx *txn, f *flight, first *request) {
	began, now := s.opt.monotonic(), time.Duration(0)
	for r := range s.turns(f, first) {
		more := false
		if s.accept(r) {
			f.info.steps++
			tx.left = budget{r.rows, partBytes}
			tx.rest = groupTime - now
			r.err = s.applyOne(tx, r)
			before := now
			now = s.opt.monotonic() - began
			if more = unfinished(r.err); more {
				r.rows = nextRows(r.rows, now-before)
				s.parts = append(s.parts, r)
			}
		}
		if !more {
			f.group = append(f.group, r)
		}
		if now >= groupTime {
			break
		}
	}
}

// accept reports whether a step, or its next part, is to be carried out.
func (s *Store) accept(r *request) bool {
	if !r.state.CompareAndSwap(waiting, accepted) {
		switch state := r.state.Load(); {
		case state == withdrawn:
			r.apply = nil
			return false
		case r.err == errMore && (state == ending || s.isClosing()): //nolint:errorlint // nothing wraps it
			return false
		}
	}
	s.accepted.Add(1)
	return true
}

func (s *Store) applyOne(tx *txn, r *request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer tx.file()
	return r.apply(tx)
}

// write passes the rows of tx to Pebble, which syncs them; see the batch's SyncWait. It reports whether there are
// any, or earlier ones that are not synced yet.
func (s *Store) write(tx *txn) (wrote bool, err error) {
	if tx.err != nil || tx.batch.Empty() && !s.unsynced {
		return false, tx.err
	}
	s.unsynced = false
	s.unflushed += tx.wroteBytes + rowCost*tx.wroteRows
	return true, tx.commit(func(b *pebble.Batch) error { return s.db.ApplyNoSyncWait(b, pebble.Sync) })
}

// answerer answers groups, in their order, when they are durable or the store has failed.
func (s *Store) answerer() {
	defer close(s.stopped)
	for f := range s.written {
		if f.batch != nil {
			if err := f.batch.SyncWait(); err != nil {
				s.die(err)
			} else if !s.isDead() {
				s.note.acked.Store(f.last)
			}
		}
		s.land(f)
	}
}

// land answers the steps of a group that were not withdrawn.
func (s *Store) land(f *flight) {
	failed := s.failure()
	if failed == nil && s.opt.observe != nil {
		s.opt.observe(f.info)
	}
	if files := f.files; len(files) > 0 {
		s.keeper.releasing.Go(func() {
			for _, f := range files {
				f.Release()
			}
		})
	}
	for _, r := range f.group {
		if r.apply != nil {
			r.err = cmp.Or(failed, r.err)
			r.done <- struct{}{}
		}
	}
	if f.batch != nil {
		_ = f.batch.Close() // releases its memory; nothing can fail
	}
	s.recycle(f)
}

// recycle makes room for another group.
func (s *Store) recycle(f *flight) {
	clear(f.group[:cap(f.group)])
	*f = flight{group: f.group[:0]}
	s.flights <- f
}

// txn collects the writes of one group's steps: one batch, one time.
//
// A step changes the state in memory, and makes the same change in rows through set, delete and deleteRange. The first error of
// these sticks, and fails the group and the store: only a bug makes them fail. The state of queues, crawls,
// generations and journals is written once a group: a step marks its changes (touch, changedQueue, changedCrawl …), and
// writeState writes them.
type txn struct {
	s     *Store
	batch *pebble.Batch
	now   time.Time // the group's time
	stamp time.Time // the time stamped on recorded keys
	err   error
	left  budget        // of the part that is applied
	rest  time.Duration // of groupTime, when the part began
	// wroteRows and wroteBytes count the group's complete batches.
	wroteRows, wroteBytes int
	// key and value are scratch space.
	key, value []byte
	dirty      []*generation   // whose rows are to be written
	packs      []*generation   // with keys to be packed
	files      []*runfile.File // to be released when the batch is durable
}

func (s *Store) begin() *txn {
	now := s.opt.Clock()
	return &txn{s: s, batch: s.db.NewBatch(), now: now, stamp: s.wall.Stamp(now, s.opt.monotonic())}
}

// fail has an error, if it is one, fail the group and the store.
func (tx *txn) fail(err error) {
	if tx.err == nil {
		tx.err = err
	}
}

// count counts a batch that is complete.
func (tx *txn) count() {
	if !tx.batch.Empty() {
		tx.wroteRows += int(tx.batch.Count())
		tx.wroteBytes += tx.batch.Len()
	}
}

// set writes a row; key and value may be reused at once.
func (tx *txn) set(key, value []byte) { tx.fail(tx.batch.Set(key, value, nil)) }

func (tx *txn) delete(key []byte) { tx.fail(tx.batch.Delete(key, nil)) }

// singleDelete deletes a row that was set exactly once since its last delete. Pebble then drops both as soon as they
// meet; a plain delete has to sink to the last level. The condition holds for the rows of queued URLs, leases, journals and packed
// keys: an arrival, a token and a row's number are never reused, and Extend deletes the row of the lease before it sets it
// again. A row that was set twice would reappear with its first value.
func (tx *txn) singleDelete(key []byte) { tx.fail(tx.batch.SingleDelete(key, nil)) }

// deleteRange removes the rows from lo up to, not including, hi.
func (tx *txn) deleteRange(lo, hi []byte) { tx.fail(tx.batch.DeleteRange(lo, hi, nil)) }

// writeState writes the state that steps marked as changed.
func (tx *txn) writeState() {
	tx.writePacked()
	tx.writeGenerations()
	tx.writeQueues()
}

// flush, called at the beginning of a step, makes the earlier steps readable in the database. A crash keeps a prefix of a
// group's batches, so each batch must contain whole steps with their counts: that is why
// flush writes the state, too. The group is still synced at its end.
func (tx *txn) flush() {
	if tx.batch.Empty() && len(tx.packs) == 0 || tx.err != nil {
		return
	}
	tx.writeState()
	if tx.count(); tx.err == nil {
		tx.fail(tx.commit(func(b *pebble.Batch) error { return b.Commit(pebble.NoSync) }))
	}
	tx.s.unsynced = true
	tx.batch = tx.s.db.NewBatch()
}

// reader reads the rows as this step has left them so far. It is valid until the next write: reading takes a batch with an
// index, into which the first call turns the current one.
func (tx *txn) reader() pebble.Reader {
	switch {
	case tx.batch.Empty():
		return tx.s.db
	case !tx.batch.Indexed():
		indexed := tx.s.db.NewIndexedBatch()
		tx.fail(indexed.Apply(tx.batch, nil))
		tx.fail(tx.batch.Close())
		tx.batch = indexed
	}
	return tx.batch
}

// commit ends the batch with a claim (logs.go), and passes it to Pebble.
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
	// Pebble wrote a batch too large for its buffer to the log before the one it has now begun.
	n.written.Add(rows)
	n.begins(log, n.written.Load()+1)
	return nil
}

// An Open after a kill replays the log, and before it returns flushes all beyond one full write buffer. Pebble rotates
// its buffer by bytes, and packed keys are a few large rows: so the committer asks for a flush when the rows written since the
// last one would take long to replay, and waits for the previous flush when another is due.

// rowCost is how many bytes a row counts for besides its own, for the cost of replay and flush. With 120 bytes a row, a buffer is
// 130,000 rows.
const rowCost = 128

func (s *Store) flushDue() bool { return s.unflushed >= s.opt.memTableBytes }

// awaitFlush waits for the previous flush to end if another is due.
func (s *Store) awaitFlush() {
	if !s.flushDue() || s.flushed == nil || async.Closed(s.flushed) {
		return
	}
	defer s.pace.waiting()()
	select {
	case <-s.flushed:
	case <-s.dead:
	case <-s.closing:
	}
}

// boundReplay has Pebble flush its buffer when enough was written.
func (s *Store) boundReplay() {
	if !s.flushDue() || s.flushed != nil && !async.Closed(s.flushed) {
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
