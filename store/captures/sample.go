package captures

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/osfile"
)

// Options configure a Sample. The zero value works.
type Options struct {
	// MaxRows bounds the captures held. Each takes about 200 bytes of disk, twice that between two rewrites of
	// the file, and about 300 bytes of memory; all of them take at most 600 bytes each. The default is 250,000.
	MaxRows int
	// OnFault is called with the error of a write when writes begin to fail, and with nil when
	// they work again, by the goroutine that wrote. The default is none.
	OnFault func(error)

	readOnly    bool
	maxVariants int // of one place; more are not taken; only tests set it
	open        func(name string, flag int) (file, error)
}

const (
	maxVariants = 1_000 // the default of Options.maxVariants
	meanBytes   = 400   // of a line, at most
	maxLevel    = 63    // zero bits that a place may need
	waiting     = 4096  // offers that wait for the disk
)

// file is what a Sample needs of an *os.File.
type file interface {
	io.Writer
	io.ReaderAt
	Sync() error
	Close() error
}

func openFile(name string, flag int) (file, error) { return os.OpenFile(name, flag, 0o644) }

// Sample is a bounded sample of captures on disk. All methods are safe for concurrent use.
type Sample struct {
	opt    Options
	name   string         // of the file
	coarse *canon.Profile // makes the places
	lock   io.Closer      // keeps other processes from writing

	offers  chan Capture
	stopped chan struct{} // closed when all that was offered is taken
	dropped atomic.Int64
	damaged atomic.Int64

	// writing is held by the goroutine that writes. It guards the file:
	writing sync.Mutex
	file    file
	empty   bool // nothing is in it
	torn    bool // its last line has no end
	lines   int  // in it, about
	rewrite int  // lines at which it is rewritten
	faulty  bool // the last write failed

	// mu guards the sample in memory. It is never held during I/O, and is taken after writing.
	mu     sync.Mutex
	places map[uint64][]variant
	level  uint8 // zero bits that a place needs
	rows   int
	bytes  int // of their lines
	counts Stats
	closed bool
}

// variant has the captures of one URL, as lines of the file: the first, and the latest if there is another.
type variant struct {
	hash          uint64
	first, latest string
}

// Stats are the counts of a sample.
type Stats struct {
	Rows  int     // captures held
	Share float64 // of all places that is kept: 1, a half, a quarter …
	Taken int64   // captures passed to Add since Open, except those without a canonical form
	Full  int64   // those of them that were refused, since their place had too many variants
	// Dropped counts captures given to Offer that found no room to wait, or could not be written.
	Dropped int64
	// Damaged counts the damaged lines that were read.
	Damaged int64
}

// ErrClosed is returned by the methods of a closed Sample. It is store.ErrClosed.
var ErrClosed = store.ErrClosed

// OpenReadOnly opens the sample in a directory for reading alone, also while another process
// writes it. If there is none, it returns [fs.ErrNotExist].
func OpenReadOnly(dir string) (*Sample, error) { return Open(dir, Options{readOnly: true}) }

// Open opens the sample in a directory, which is made when missing. One process can write
// it at a time: another gets store.ErrLocked. Damaged lines are left out, and counted in Stats.
func Open(dir string, opt Options) (*Sample, error) {
	opt.MaxRows = cmp.Or(max(opt.MaxRows, 0), 250_000)
	opt.maxVariants = cmp.Or(opt.maxVariants, maxVariants)
	if opt.readOnly {
		opt.MaxRows, opt.maxVariants = math.MaxInt/meanBytes, math.MaxInt
	}
	if opt.OnFault == nil {
		opt.OnFault = func(error) {}
	}
	if opt.open == nil {
		opt.open = openFile
	}
	// One form of all variants that any rule might merge.
	coarse, err := canon.Qiita().With(canon.Enable(canon.StripWWW, canon.FoldHTTPS, canon.StripTrailingDot, canon.LowercasePath,
		canon.StripSessionIDs, canon.StripIndex, canon.StripTrailingSlash, canon.DropQuery))
	if err != nil {
		return nil, fmt.Errorf("cannot open captures: %w", err)
	}
	s := &Sample{opt: opt, name: filepath.Join(dir, "captures.log"), coarse: coarse, places: map[uint64][]variant{},
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
		if s.lock, err = osfile.LockDir(dir); err != nil {
			return err
		}
		flag = os.O_CREATE | os.O_RDWR | os.O_APPEND
	}
	if s.file, err = s.opt.open(s.name, flag); err == nil {
		if err = s.load(); err != nil {
			err = errors.Join(err, s.file.Close())
		}
	}
	if err != nil && s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

// load reads the file. It refuses a file of a later version, and one in which no line is ours.
func (s *Sample) load() error {
	in := bufio.NewReaderSize(io.NewSectionReader(s.file, 0, math.MaxInt64), maxLine)
	ours := false
	s.empty = true
	for {
		text, err := in.ReadSlice('\n')
		whole := err == nil
		for errors.Is(err, bufio.ErrBufferFull) { // a line that is too long
			text, err = in.ReadSlice('\n')
		}
		s.empty = s.empty && len(text) == 0
		s.torn = err != nil && len(text) > 0
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("cannot read captures: %w", err)
		}
		if s.lines++; s.lines == 1 && whole {
			version, ok := strings.CutPrefix(strings.TrimSuffix(string(text), "\n"), headerStart)
			switch {
			case ok && version == "2":
				ours = true
				continue
			case ok && version != "" && strings.Trim(version, "0123456789") == "":
				return fault.As(store.ErrFormat, "cannot read captures: the file has another format: it begins %.40q, not %q", text, header)
			}
			ours = ok // a damaged header
		}
		l, err := parseLine(text)
		switch {
		case whole && err == nil && l.isCapture:
			s.put(l.place, l.variant, string(text))
		case whole && err == nil:
			s.raise(l.level)
		case len(text) > 1: // not the end of half a line
			s.damaged.Add(1)
		}
		ours = ours || err == nil
	}
	if s.lines > 0 && !ours {
		return fault.As(store.ErrFormat, "cannot read captures: %s is not a sample of fetches: move it away", s.name)
	}
	if s.opt.readOnly { // it may see half of a write in progress
		return nil
	}
	if s.torn {
		s.damaged.Add(1)
	}
	s.shrink()
	s.rewrite = s.fullAt()
	return nil
}

// put notes a capture, and reports whether the sample has room for it. s.mu is held.
func (s *Sample) put(place, hash uint64, line string) bool {
	if !s.hasRoom(place, hash) {
		return false
	}
	of := s.places[place]
	i := slices.IndexFunc(of, func(v variant) bool { return v.hash == hash })
	switch {
	case i < 0:
		s.places[place] = append(of, variant{hash: hash, first: line})
		s.rows++
	case of[i].latest == "":
		of[i].latest = line
		s.rows++
	default:
		s.bytes -= len(of[i].latest)
		of[i].latest = line
	}
	s.bytes += len(line)
	return true
}

func (s *Sample) hasRoom(place, hash uint64) bool {
	of := s.places[place]
	return s.keeps(place) && (len(of) < s.opt.maxVariants || slices.ContainsFunc(of, func(v variant) bool { return v.hash == hash }))
}

func (s *Sample) keeps(place uint64) bool { return s.level == 0 || place>>(64-s.level) == 0 }

// shrink drops half of the places, repeatedly, until the sample is within its bounds. It reports whether it had to.
func (s *Sample) shrink() (dropped bool) {
	for (s.rows > s.opt.MaxRows || s.bytes > s.opt.MaxRows*meanBytes) && s.level < maxLevel {
		s.raise(s.level + 1)
		dropped = true
	}
	return dropped
}

// raise drops the places that a level leaves out.
func (s *Sample) raise(level uint8) {
	s.level = max(s.level, level)
	for place, of := range s.places {
		if s.keeps(place) {
			continue
		}
		for _, v := range of {
			for _, line := range v.lines() {
				s.rows, s.bytes = s.rows-1, s.bytes-len(line)
			}
		}
		delete(s.places, place)
	}
}

func (v *variant) lines() []string {
	if v.latest == "" {
		return []string{v.first}
	}
	return []string{v.first, v.latest}
}

func hash64(text []byte) uint64 {
	sum := sha256.Sum256(text)
	return binary.BigEndian.Uint64(sum[:])
}

// Offer is Add for callers that must not wait. A capture that finds no room, or cannot be
// written, is dropped and counted ([Stats]). The sample must not be closed.
func (s *Sample) Offer(all ...Capture) {
	for _, c := range all {
		select {
		case s.offers <- c:
		default:
			s.dropped.Add(1)
		}
	}
}

// takeOffers adds the waiting captures, in batches.
func (s *Sample) takeOffers() {
	defer close(s.stopped)
	for c := range s.offers {
		batch := append(make([]Capture, 0, len(s.offers)+1), c)
		for range len(s.offers) {
			if c, ok := <-s.offers; ok {
				batch = append(batch, c)
			}
		}
		s.writing.Lock()
		err := s.addAll(batch)
		s.writing.Unlock()
		if err != nil {
			s.dropped.Add(int64(len(batch)))
		}
	}
}

// Add offers captures to the sample. A capture without a canonical form, or with a text that
// is too long, is left out. On an error none of the captures is taken.
func (s *Sample) Add(all ...Capture) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return ErrClosed
	}
	return s.addAll(all)
}

// addAll is Add; s.writing is held. It writes to the file first, so every capture in memory is also in the file.
func (s *Sample) addAll(all []Capture) error {
	type pending struct {
		place, hash uint64
		from, to    int // in lines
	}
	var lines []byte
	var written []pending
	for i := range all {
		c := &all[i]
		form, err := s.coarse.AppendCanonical(nil, []byte(c.URL))
		if err != nil || max(len(c.Digest), len(c.Redirect), len(c.Canonical), len(c.NoVarySearch), len(c.CleanParam)) > maxText {
			continue
		}
		p := pending{place: hash64(form), hash: hash64([]byte(c.URL)), from: len(lines)}
		if !s.wants(p.place, p.hash) {
			continue
		}
		lines = c.append(lines, p.place, p.hash)
		if p.to = len(lines); p.to-p.from > maxLine {
			lines = lines[:p.from]
			continue
		}
		written = append(written, p)
	}
	if len(written) == 0 {
		return nil
	}
	if err := s.write(lines, len(written)); err != nil {
		return fmt.Errorf("cannot keep %d captures: %w", len(written), err)
	}
	s.mu.Lock()
	for _, p := range written {
		if !s.put(p.place, p.hash, string(lines[p.from:p.to])) {
			s.counts.Full++ // by others of this call
		}
	}
	dropped := s.shrink()
	level := s.level
	s.mu.Unlock()
	if dropped {
		// If this fails, the places come back at the next Open, and are dropped again.
		_ = s.write(appendLevel(nil, level), 1)
	}
	if s.lines >= s.rewrite {
		s.writeAgain()
	}
	return nil
}

// wants counts a capture, and reports whether the sample has room for it.
func (s *Sample) wants(place, hash uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Taken++
	ok := s.hasRoom(place, hash)
	if !ok && s.keeps(place) {
		s.counts.Full++
	}
	return ok
}

// write appends n lines to the file. After an error some of them may be there, the last one cut off: the next
// write makes that one a damaged line, even if only its end was missing.
func (s *Sample) write(lines []byte, n int) error {
	switch {
	case s.empty:
		lines = append([]byte(header+"\n"), lines...)
		n++
	case s.torn:
		lines = append([]byte("!\n"), lines...)
		n++
	}
	done, err := s.file.Write(lines)
	s.empty = s.empty && done == 0
	if err != nil {
		s.torn = s.torn || done > 0
	} else {
		s.torn = false
		s.lines += n
	}
	s.fault(err)
	return err
}

// fault reports when writes begin to fail, and when they work again.
func (s *Sample) fault(err error) {
	if s.faulty != (err != nil) {
		s.faulty = err != nil
		s.opt.OnFault(err)
	}
}

// fullAt returns the number of lines at which the file is rewritten.
func (s *Sample) fullAt() int { return 2*s.rows + 10_000 }

// writeAgain writes a new file without the replaced and dropped lines, and renames it over the old one.
// After a power cut the name has one of the two files, both whole. s.writing is held.
func (s *Sample) writeAgain() {
	s.mu.Lock()
	all, level, lines, next := s.sorted(), s.level, 2+s.rows, s.fullAt()
	s.mu.Unlock()
	temp := s.name + ".new"
	f, err := s.opt.open(temp, os.O_CREATE|os.O_TRUNC|os.O_RDWR|os.O_APPEND)
	if err == nil {
		out := bufio.NewWriterSize(f, 1<<18)
		_, _ = out.WriteString(header + "\n") // Flush returns the error of any write
		if level > 0 {
			_, _ = out.Write(appendLevel(nil, level))
		}
		for _, v := range all {
			_, _ = out.WriteString(v.first)
			_, _ = out.WriteString(v.latest)
		}
		if err = out.Flush(); err == nil {
			err = f.Sync()
		}
		if err == nil {
			err = os.Rename(temp, s.name)
		}
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(temp))
		}
	}
	if err != nil {
		s.rewrite = s.lines + s.lines/2 // the old file is as good; later there may be room
		s.fault(err)
		return
	}
	_ = s.file.Close() // nothing is in it that the new file has not
	s.file, s.empty, s.torn, s.lines, s.rewrite = f, false, false, lines, next
}

// sorted copies the sample: the variants of a place together, in order of arrival. s.mu is held.
func (s *Sample) sorted() []variant {
	places := make([]uint64, 0, len(s.places))
	for place := range s.places {
		places = append(places, place)
	}
	slices.Sort(places)
	all := make([]variant, 0, s.rows)
	for _, place := range places {
		all = append(all, s.places[place]...)
	}
	return all
}

// Stats returns the counts of the sample. It never waits for the disk.
func (s *Sample) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.counts
	st.Rows, st.Share = s.rows, math.Ldexp(1, -int(s.level))
	st.Dropped, st.Damaged = s.dropped.Load(), s.damaged.Load()
	return st
}

// All returns the captures, grouped by place, and those of a variant in order of time. It
// returns the captures that exist when it begins, without damaged ones. The only error is [ErrClosed].
func (s *Sample) All() iter.Seq2[Capture, error] {
	return func(yield func(Capture, error) bool) {
		s.mu.Lock()
		all, closed := s.sorted(), s.closed
		s.mu.Unlock()
		if closed {
			yield(Capture{}, ErrClosed)
			return
		}
		for _, v := range all {
			for _, text := range v.lines() {
				l, err := parseLine([]byte(text))
				var c Capture
				if err == nil {
					c, err = l.capture()
				}
				if err != nil {
					s.damaged.Add(1)
				} else if !yield(c, nil) {
					return
				}
			}
		}
	}
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
	err := s.file.Close()
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	if err != nil {
		return fmt.Errorf("cannot close captures: %w", err)
	}
	return nil
}

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
