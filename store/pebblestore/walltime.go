package pebblestore

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/wallclock"
)

// wallTime is the store's judgement of its clock, and the time that is on disk.
type wallTime struct {
	wallclock.Clock
	written time.Time
}

// wallTimeEvery is how old the time on disk may get: a sweep after a crash takes the
// clock for that much more ahead than it is.
const wallTimeEvery = time.Minute

// loadWallTime reads the latest time at which the clock was right; otherwise it is when a key was
// last recorded, the zero time for a store without any.
func (s *Store) loadWallTime() error {
	var latest time.Time
	for g := range s.generations() {
		if g.last.After(latest) {
			latest = g.last
		}
	}
	err := readRow(s.db, metaKey(metaWallTime), func(row []byte) error {
		if len(row) != 8 {
			return fmt.Errorf("cannot read the time of the clock; got %x: %w", row, store.ErrCorrupt)
		}
		latest = time.Unix(0, int64(binary.BigEndian.Uint64(row)))
		s.wall.written = latest
		return nil
	})
	s.wall.Restore(latest)
	return err
}

// keepWallTime writes the time with a group that writes anyway, every minute.
func (tx *txn) keepWallTime() {
	if w := &tx.s.wall; !tx.batch.Empty() && w.Latest().Sub(w.written) >= wallTimeEvery {
		tx.writeWallTime()
	}
}

func (tx *txn) writeWallTime() {
	w := &tx.s.wall
	if latest := w.Latest(); !latest.Equal(w.written) {
		w.written = latest
		tx.set(metaKey(metaWallTime), binary.BigEndian.AppendUint64(nil, uint64(latest.UnixNano())))
	}
}
