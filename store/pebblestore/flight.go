package pebblestore

import (
	"cmp"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store/internal/runfile"
)

// inFlight is how many groups may wait for the disk. Pebble syncs those that wait
// together, so a group is written as soon as there is one: the processors work
// while the disk does, and no caller waits for more than the sync in progress and the
// next one. With eight, 256 callers of one key each got 5 % more keys recorded, but waited longer.
const inFlight = 4

// flight is a group from when it was gathered until it is answered.
type flight struct {
	group  []*request
	number uint64
	batch  *pebble.Batch   // its rows, once they are written
	last   uint64          // the number of the last of them, see noteKeeper
	files  []*runfile.File // to be released when they are durable
	info   groupInfo
}

// answerer answers groups, in their order, when they are durable or the store has failed. One that
// wrote nothing waits for those before it: they may have made its duplicates.
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

// land answers the steps of a group that were not called back.
func (s *Store) land(f *flight) {
	failed := s.failure()
	if failed == nil {
		s.recent.landed.Store(f.number)
		if s.opt.observe != nil {
			s.opt.observe(f.info)
		}
	}
	if files := f.files; len(files) > 0 {
		s.keeper.releasing.Go(func() {
			for _, f := range files {
				f.Release()
			}
		})
	}
	for _, r := range f.group {
		if r.op != nil {
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
	clear(f.group)
	*f = flight{group: f.group[:0]}
	s.flights <- f
}
