package captures

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/flock"
)

// Options configure a Sample. The zero value works.
type Options struct {
	// MaxRows bounds the captures held: each takes about 200 bytes of disk, twice that between two
	// rewrites of the file, and up to 110 bytes of memory. The default is 250,000.
	MaxRows int
	// OnFault is called with the error of a write when writes begin to fail, and with nil when
	// they work again, by the goroutine that wrote. The default is none.
	OnFault func(error)

	readOnly    bool
	maxVariants int // of one place; further ones are not taken; only tests set it
	open        func(name string, flag int) (file, error)
}

// maxVariants is the default of Options.maxVariants.
const maxVariants = 1_000

func (o Options) withDefaults() Options {
	if o.MaxRows <= 0 {
		o.MaxRows = 250_000
	}
	if o.maxVariants <= 0 {
		o.maxVariants = maxVariants
	}
	if o.readOnly {
		o.maxVariants = math.MaxInt
	}
	if o.OnFault == nil {
		o.OnFault = func(error) {}
	}
	if o.open == nil {
		o.open = openFile
	}
	return o
}

// Sample is a bounded sample of captures on disk. All methods are safe for concurrent use.
type Sample struct {
	opt    Options
	name   string // of the file
	coarse *canon.Profile
	lock   io.Closer // keeps other processes from writing

	offers  chan Capture
	dropped atomic.Int64
	damaged atomic.Int64
	stopped chan struct{} // closed when all that was offered is taken

	writing sync.Mutex // held by the one who writes
	lines   int        // of the file
	old     bool       // it is of the version before, and is written again before more is added
	rewrite int        // lines at which the file is written again
	faulty  bool       // the last write failed

	mu     sync.Mutex // guards what follows; never held during I/O
	log    *log
	index  *index
	counts Stats
	closed bool
}

// Stats are the counts of a sample.
type Stats struct {
	Rows  int     // captures held
	Share float64 // of all places, those that are kept: 1, a half, a quarter …
	Taken int64   // captures given to Add since Open, without those that have no canonical form
	Full  int64   // of these, not taken since their place had too many variants
	// Dropped counts captures given to Offer that found no room to wait, or could not be written.
	Dropped int64
	// Damaged counts lines that were read and were damaged.
	Damaged int64
}

// ErrClosed is returned by the methods of a closed Sample. It is store.ErrClosed.
var ErrClosed = store.ErrClosed

// Open opens the sample in a directory, which is made when missing. One process can write
// it at a time: another gets store.ErrLocked. Damaged lines are left out, and counted in Stats.
func Open(dir string, opt Options) (*Sample, error) {
	opt = opt.withDefaults()
	coarse, err := coarsest()
	if err != nil {
		return nil, fmt.Errorf("cannot open captures: %w", err)
	}
	s := &Sample{opt: opt, name: filepath.Join(dir, "captures.log"), coarse: coarse, index: newIndex(opt.maxVariants),
		offers: make(chan Capture, waiting), stopped: make(chan struct{})}
	if err := s.open(dir); err != nil {
		return nil, fmt.Errorf("cannot open captures in %s: %w", dir, err)
	}
	go s.takeOffers()
	return s, nil
}

func (s *Sample) open(dir string) (err error) {
	flag := os.O_RDONLY
	if !s.opt.readOnly {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if s.lock, err = flock.Dir(dir); err != nil {
			return err
		}
		flag = os.O_CREATE | os.O_RDWR | os.O_APPEND
	}
	f, err := s.opt.open(s.name, flag)
	if err == nil {
		s.log = newLog(f)
		if err = s.load(); err != nil {
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil && s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

// load reads the file.
func (s *Sample) load() error {
	ours := false // a line
	err := s.log.scan(func(text []byte, at int64) error {
		s.lines++
		if at == 0 {
			ours = bytes.HasPrefix(text, []byte(header[:len(header)-1]))
			return s.readHeader(text)
		}
		switch l, err := parseLine(text); {
		case err != nil && len(text) == 0: // after half a line
		case err != nil:
			s.damaged.Add(1)
		case l.isCapture:
			ours = true
			s.index.put(l.place, l.variant, at)
		default:
			ours = true
			s.index.raise(l.level)
		}
		return nil
	})
	if err == nil && s.lines > 0 && !ours {
		err = fault.As(store.ErrFormat, "%s is not a sample of fetches: move it away", s.name)
	}
	if err != nil {
		return fmt.Errorf("cannot read captures: %w", err)
	}
	if s.log.torn && !s.opt.readOnly { // a reader may see half of a write in progress
		s.damaged.Add(1)
	}
	for !s.opt.readOnly && s.index.rows > s.opt.MaxRows && s.index.level < maxLevel {
		s.index.raise(s.index.level + 1)
	}
	s.setRewrite()
	if s.old && !s.opt.readOnly {
		s.writeAgain()
	}
	return nil
}

// readHeader refuses the file of a later version.
func (s *Sample) readHeader(text []byte) error {
	switch string(text) {
	case header:
		return nil
	case before:
		s.old = true
		return nil
	}
	if bytes.HasPrefix(text, []byte(header[:len(header)-1])) {
		return fault.As(store.ErrFormat, "the file has another format: it begins %.40q, not %q", text, header)
	}
	s.damaged.Add(1)
	return nil
}

// Stats returns the counts of the sample. It never waits for the disk.
func (s *Sample) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.counts
	st.Rows, st.Share = s.index.rows, share(s.index.level)
	st.Dropped, st.Damaged = s.dropped.Load(), s.damaged.Load()
	return st
}

// All returns the captures, those of a place together, and those of a variant in order of time. It
// returns the captures that exist when it begins, without damaged ones, and ends at the first error.
func (s *Sample) All() iter.Seq2[Capture, error] {
	return func(yield func(Capture, error) bool) {
		log, all, err := s.snapshot()
		if err != nil {
			yield(Capture{}, err)
			return
		}
		defer func() { _ = log.release() }() // nothing was written through it
		sortEntries(all)
		lines := newLineReader(log)
		for _, e := range all {
			for _, at := range []int64{e.first, e.latest} {
				if at == 0 {
					continue
				}
				c, err := readCapture(lines, at)
				if errors.Is(err, errLine) {
					s.damaged.Add(1)
					continue
				}
				if err != nil {
					err = fmt.Errorf("cannot read captures: %w", err)
				}
				if !yield(c, err) || err != nil {
					return
				}
			}
		}
	}
}

func (s *Sample) snapshot() (*log, []entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, ErrClosed
	}
	return s.log.use(), s.index.entries(), nil
}

func readCapture(lines *lineReader, at int64) (c Capture, err error) {
	text, err := lines.read(at)
	if err != nil {
		return c, err
	}
	l, err := parseLine(text[:len(text)-1])
	if err != nil {
		return c, err
	}
	if !l.isCapture {
		return c, errLine
	}
	return l.capture()
}

// Close writes the offered captures and closes the sample. Listings in progress continue. Offer must
// not be called after Close. A second Close does nothing.
func (s *Sample) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	close(s.offers)
	<-s.stopped
	s.writing.Lock()
	defer s.writing.Unlock()
	err := s.log.release()
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	if err != nil {
		return fmt.Errorf("cannot close captures: %w", err)
	}
	return nil
}

// OpenReadOnly opens the sample in a directory for reading alone, also while another process
// writes it. If there is none, it returns [fs.ErrNotExist].
func OpenReadOnly(dir string) (*Sample, error) { return Open(dir, Options{readOnly: true}) }

// Verify reads a sample and returns how many captures it holds and how many lines are
// damaged. If there is no sample, it returns [fs.ErrNotExist].
func Verify(dir string) (rows int, damaged int64, err error) {
	s, err := OpenReadOnly(dir)
	if err != nil {
		return 0, 0, err
	}
	for _, readErr := range s.All() {
		err = errors.Join(err, readErr)
	}
	st := s.Stats()
	return st.Rows, st.Damaged, errors.Join(err, s.Close())
}
