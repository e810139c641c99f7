package captures

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store"
)

// Options configure a Sample. The zero value works.
type Options struct {
	// MaxRows bounds the captures held: about 150 bytes of disk each. The default is 250,000.
	MaxRows int
	// MaxSpellings bounds the spellings of one place; further ones are not taken. The
	// default is 1,000.
	MaxSpellings int
	// ReadOnly opens a sample to read, and fails if there is none. The default is false.
	ReadOnly bool
	// FS is the file system. The default is that of the machine.
	FS vfs.FS
}

func (o Options) withDefaults() Options {
	if o.MaxRows <= 0 {
		o.MaxRows = 250_000
	}
	if o.MaxSpellings <= 0 {
		o.MaxSpellings = 1_000
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	return o
}

// Sample is a bounded sample of captures on disk. All methods are safe for concurrent use.
type Sample struct {
	opt    Options
	coarse *canon.Profile
	db     *pebble.DB
	guard  *guard

	offers  chan Capture
	dropped atomic.Int64
	stopped chan struct{} // closed when all that was offered is taken

	lock   chan struct{} // full while rows are written; see enter
	closed bool

	stats atomic.Pointer[Stats]
}

// Stats tell how much a sample holds.
type Stats struct {
	Rows  int     // captures held
	Share float64 // of all places, those that are kept: 1, a half, a quarter …
	Taken int64   // captures given to Add since Open, without those that have no canonical form
	Full  int64   // of these, not taken since their place had too many spellings
	// Dropped counts captures given to Offer that found no room to wait, or a disk that failed.
	Dropped int64
}

// ErrClosed is returned by the methods of a closed Sample. It is store.ErrClosed.
var ErrClosed = store.ErrClosed

// Open opens the sample in a directory, which is made when missing. One process can have
// it open at a time. Where there is none to read, it returns [fs.ErrNotExist].
func Open(dir string, opt Options) (*Sample, error) {
	opt = opt.withDefaults()
	coarse, err := coarsest()
	if err != nil {
		return nil, fmt.Errorf("cannot open captures: %w", err)
	}
	cache := pebble.NewCache(4 << 20)
	defer cache.Unref()
	g := newGuard()
	db, err := pebble.Open(dir, &pebble.Options{
		FS: opt.FS, Cache: cache, MemTableSize: 4 << 20, Logger: g, ReadOnly: opt.ReadOnly, ErrorIfNotExists: opt.ReadOnly,
		FormatMajorVersion: pebble.FormatNewest,
	})
	if opt.ReadOnly && err != nil {
		err = noneToRead(opt.FS, dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open captures in %s: %w", dir, err)
	}
	s := &Sample{opt: opt, coarse: coarse, db: db, guard: g, offers: make(chan Capture, waiting), stopped: make(chan struct{}), lock: make(chan struct{}, 1)}
	st, err := s.load()
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.stats.Store(&st)
	go s.takeOffers()
	return s, nil
}

// noneToRead tells by an error of opening a sample to read that there is none. One who would
// write may have failed to make the directory, which is then missing for another reason.
func noneToRead(fsys vfs.FS, dir string, err error) error {
	if _, gone := fsys.Stat(dir); errors.Is(gone, fs.ErrNotExist) || errors.Is(err, pebble.ErrDBDoesNotExist) {
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}

// load reads the level and counts the rows.
func (s *Sample) load() (Stats, error) {
	st := Stats{Share: 1}
	level, err := s.get([]byte(levelKey))
	if err == nil && len(level) == 1 {
		st.Share = share(level[0])
	} else if err != nil && !errors.Is(err, pebble.ErrNotFound) {
		return st, fmt.Errorf("cannot read captures: %w", err)
	}
	st.Rows, err = s.count()
	return st, err
}

func (s *Sample) count() (rows int, err error) {
	it, err := s.db.NewIter(captureRows())
	if err != nil {
		return 0, fmt.Errorf("cannot count captures: %w", err)
	}
	for it.First(); it.Valid(); it.Next() {
		rows++
	}
	return rows, it.Close()
}

func captureRows() *pebble.IterOptions {
	return &pebble.IterOptions{LowerBound: []byte{captureRow}, UpperBound: []byte{captureRow + 1}}
}

func (s *Sample) get(key []byte) ([]byte, error) {
	v, closer, err := s.db.Get(key)
	if err != nil {
		return nil, err
	}
	v = bytes.Clone(v)
	return v, closer.Close()
}

// Stats tells how much the sample holds. It never waits for the disk.
func (s *Sample) Stats() Stats {
	st := *s.stats.Load()
	st.Dropped = s.dropped.Load()
	return st
}

// All lists the captures held, those of a place together, and of a spelling in order of
// time. It lists what was there when it began, and ends at the first error.
func (s *Sample) All() iter.Seq2[Capture, error] {
	return func(yield func(Capture, error) bool) {
		it, err := s.iterator()
		if err != nil {
			yield(Capture{}, err)
			return
		}
		for it.First(); it.Valid(); it.Next() {
			c, err := parseCapture(it.Value())
			if err != nil {
				err = fmt.Errorf("cannot read capture %x: %w", it.Key(), err)
			}
			if !yield(c, err) || err != nil {
				break
			}
		}
		if err := it.Close(); err != nil {
			yield(Capture{}, fmt.Errorf("cannot read captures: %w", err))
		}
	}
}

func (s *Sample) iterator() (*pebble.Iterator, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	if s.closed {
		return nil, ErrClosed
	}
	it, err := s.db.NewIter(captureRows())
	if err != nil {
		return nil, fmt.Errorf("cannot read captures: %w", err)
	}
	return it, nil
}

// Close takes what is still on offer and closes the sample. Listings under way must have
// ended, and nobody may call Offer any more. A second Close does nothing.
func (s *Sample) Close() error {
	if err := s.enter(); err != nil {
		return fmt.Errorf("cannot close captures: %w", err)
	}
	closed := s.closed
	s.closed = true
	s.leave()
	if closed {
		return nil
	}
	close(s.offers)
	select {
	case <-s.stopped:
	case <-s.guard.down:
		return fmt.Errorf("cannot close captures: %w", s.guard.failure())
	}
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("cannot close captures: %w", err)
	}
	return nil
}

// spellings reads how many spellings a place has.
func (s *Sample) spellings(place uint64) (uint64, error) {
	v, err := s.get(placeKey(countRow, place))
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	n, width := binary.Uvarint(v)
	if err == nil && width <= 0 {
		err = errRow
	}
	return n, err
}
