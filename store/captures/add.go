package captures

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/cockroachdb/pebble/v2"
)

// Add offers captures to the sample. A capture without a canonical form, or with a digest or
// redirect that is too long, is left out. On an error some of the captures may have been taken.
func (s *Sample) Add(all ...Capture) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if s.closed {
		return ErrClosed
	}
	return s.addAll(all)
}

func (s *Sample) addAll(all []Capture) error {
	st := *s.stats.Load()
	defer func() { s.stats.Store(&st) }()
	for i := range all {
		if err := s.add(&st, &all[i]); err != nil {
			return fmt.Errorf("cannot keep capture of %.100q: %w", all[i].URL, err)
		}
	}
	for st.Rows > s.opt.MaxRows && st.level() < 63 {
		if err := s.halve(&st); err != nil {
			return fmt.Errorf("cannot halve captures: %w", err)
		}
	}
	return nil
}

func (s *Sample) add(st *Stats, c *Capture) error {
	form, err := s.coarse.AppendCanonical(nil, []byte(c.URL))
	if err != nil || len(c.Digest) > maxText || len(c.Redirect) > maxText {
		return nil
	}
	st.Taken++
	place, spelling := hash64(form), hash64([]byte(c.URL))
	if !kept(place, st.level()) {
		return nil
	}
	return s.put(st, place, spelling, c)
}

// put writes a capture to the slot it belongs to.
func (s *Sample) put(st *Stats, place, spelling uint64, c *Capture) (err error) {
	b := s.db.NewBatch()
	defer func() { err = errors.Join(err, b.Close()) }()
	known, err := s.has(keyOf(place, spelling, first))
	if err != nil {
		return err
	}
	slot, more := byte(first), true
	if known {
		slot = latest
		again, err := s.has(keyOf(place, spelling, latest))
		if err != nil {
			return err
		}
		more = !again
	} else if ok, err := s.countSpelling(st, b, place); err != nil || !ok {
		return err
	}
	if err := b.Set(keyOf(place, spelling, slot), c.append(nil), nil); err != nil {
		return err
	}
	if err := b.Commit(pebble.NoSync); err != nil {
		return err
	}
	if more {
		st.Rows++
	}
	return nil
}

// countSpelling counts one more spelling of a place, if there is room for it.
func (s *Sample) countSpelling(st *Stats, b *pebble.Batch, place uint64) (ok bool, err error) {
	n, err := s.spellings(place)
	if err != nil {
		return false, err
	}
	if n >= uint64(s.opt.MaxSpellings) {
		st.Full++
		return false, nil
	}
	return true, b.Set(placeKey(countRow, place), binary.AppendUvarint(nil, n+1), nil)
}

func (s *Sample) has(key []byte) (bool, error) {
	_, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, closer.Close()
}

// level is how many leading zero bits a place needs.
func (st *Stats) level() uint8 { return uint8(bits.Len64(uint64(1/st.Share)) - 1) }

// halve leaves out half of the places.
func (s *Sample) halve(st *Stats) (err error) {
	level := st.level() + 1
	from, _ := bound(level)
	b := s.db.NewBatch()
	defer func() { err = errors.Join(err, b.Close()) }()
	err = errors.Join(
		b.DeleteRange(placeKey(captureRow, from), []byte{captureRow + 1}, nil),
		b.DeleteRange(placeKey(countRow, from), []byte{countRow + 1}, nil),
		b.Set([]byte(levelKey), []byte{level}, nil))
	if err != nil {
		return err
	}
	if err := b.Commit(pebble.NoSync); err != nil {
		return err
	}
	st.Share = share(level)
	st.Rows, err = s.count()
	return err
}
