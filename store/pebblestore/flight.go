package pebblestore

import (
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store/internal/runfile"
)

// inFlight is how many groups may wait for the disk. Pebble syncs those that wait
// together, so a group is written as soon as there is one: the processors work
// while the disk does, and no caller waits for more than the sync in progress and the
// next one.
const inFlight = 8

// flight is a group from when it was gathered until it is answered.
type flight struct {
	group  []*request
	number uint64
	batch  *pebble.Batch   // its rows, once they are written
	files  []*runfile.File // to be removed when they are durable
	info   groupInfo
}

// flight returns an empty one.
func (s *Store) flight() *flight {
	if f, ok := s.landed.Get().(*flight); ok {
		return f
	}
	return &flight{}
}

// flights are those whose answers have not begun.
type flights struct {
	mu     sync.Mutex
	open   map[*flight]struct{}
	buried bool
}

// begin notes f, and returns false when the store is dead.
func (l *flights) begin(f *flight) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.buried {
		return false
	}
	if l.open == nil {
		l.open = map[*flight]struct{}{}
	}
	l.open[f] = struct{}{}
	return true
}

// take reports whether the caller is the one to answer f.
func (l *flights) take(f *flight) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.open[f]
	delete(l.open, f)
	return ok
}

// takeDurable takes the steps out of f that need not wait, and appends them to taken. It takes none
// if bury has f.
func (l *flights) takeDurable(f *flight, taken []*request) []*request {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.open[f]; !ok {
		return taken
	}
	f.group = slices.DeleteFunc(f.group, func(r *request) bool {
		o, ok := r.op.(*seeOp)
		if ok = ok && o.durable; ok {
			taken = append(taken, r)
		}
		return ok
	})
	return taken
}

// bury returns all of them, and lets no other begin.
func (l *flights) bury() (left []*flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for f := range l.open {
		left = append(left, f)
	}
	clear(l.open)
	l.buried = true
	return left
}

// answerer answers groups, in their order, when they are durable. One that wrote
// nothing waits for those before it: they may have made its duplicates.
func (s *Store) answerer() {
	defer close(s.stopped)
	for f := range s.written {
		if f.batch != nil {
			if err := f.batch.SyncWait(); err != nil {
				s.die(err)
			}
		}
		if s.isDead() || !s.flights.take(f) {
			continue // bury has it
		}
		s.recent.landed.Store(f.number)
		s.land(f)
	}
}

// land answers a group that is durable.
func (s *Store) land(f *flight) {
	if s.opt.observe != nil {
		s.opt.observe(f.info)
	}
	f.answer(true)
	if len(f.files) > 0 {
		s.throwAway(f.files)
	}
	if f.batch != nil {
		_ = f.batch.Close() // releases its memory; nothing can fail
	}
	s.recycle(f)
}

// empty reports whether f has nothing that waits for the disk.
func (f *flight) empty() bool { return len(f.group) == 0 && f.batch == nil && len(f.files) == 0 }

// recycle makes room for another group.
func (s *Store) recycle(f *flight) {
	clear(f.group)
	*f = flight{group: f.group[:0]}
	s.landed.Put(f)
	<-s.slots
}

// answer answers the steps of a group that weren't called back: that they are
// durable, or that the store died.
func (f *flight) answer(carried bool) {
	for _, r := range f.group {
		if !carried || r.op != nil {
			r.done <- carried
		}
	}
}

// bury answers all callers when the store dies: the committer, and the answerer, may wait
// for Pebble for ever.
func (s *Store) bury() {
	select {
	case <-s.dead:
	case <-s.stopped:
		if !s.isDead() {
			return
		}
	}
	for _, f := range s.flights.bury() {
		f.answer(false)
	}
	for r := range s.queue {
		r.done <- false
	}
}
