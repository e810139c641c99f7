package pebblestore

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sync/errgroup"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/crawlnames"
)

// Store is a store.Store in one Pebble database.
type Store struct {
	opt Options
	dir string
	db  *pebble.DB
	*health
	note      *noteKeeper // nil if the store is only read
	dirLock   io.Closer   // of the directory; nil where that is not possible
	secret    [secretLen]byte

	groups   atomic.Int64 // committed
	accepted atomic.Int64 // steps
	busy     busyTimes    // of the committer

	gate      sync.RWMutex // held for reading while db is used, for writing by Close
	queue     chan *request
	requests  sync.Pool       // to be used again
	flights   chan *flight    // empty ones, for groups to come
	written   chan *flight    // by the committer, to be answered when they are durable
	stopped   chan struct{}   // closed when all that was accepted is answered
	late      []*request      // that the last group had no time for; the committer's
	parts     []*request      // that have done a part; the committer's
	unsynced  bool            // rows of this group are in the database without a sync; the committer's
	pace      *pace           // the committer's
	wall      wallTime        // the committer's
	unflushed int             // written since it last had Pebble flush its buffer, see boundReplay; the committer's
	flushed   <-chan struct{} // closed when that flush has ended; nil before the first

	texts    *texts
	keeper   keeper
	cold     cold
	repaired []string // what Open corrected; written by it alone
	names    crawlnames.Table
	closing  chan struct{}  // closed by Close
	behind   sync.WaitGroup // the keeper, and work between steps; Close waits for it

	between      sync.RWMutex // held by the committer while memory is ahead of the rows
	mu           sync.RWMutex // guards what follows: written by the committer alone
	crawls       map[string]*crawl
	byNum        map[uint32]*crawl
	byName       []*crawl // in order of name
	nextCrawl    uint32
	nextGen      uint32
	identity     atomic.Pointer[store.Identity] // written by the committer alone, read without mu
	retained     time.Duration                  // a generation by Terms.Retention; 0 for none
	unicodeHosts bool
	sched        scheduler
	adding       addSpace
	also         []alsoSet // fixed once the store is open

	views      int    // readers of all keys, for which tombstones stay
	nextPacked uint64 // number of the next packed row
	packed     int64  // keys in packed rows
	packSpace  []byte // for the next packed row
	index      indexPhase
}

var _ store.Store = (*Store)(nil)

// Open opens or makes the store in a directory.
//
// Errors: store.ErrLocked while another process has it; store.ErrIdentity if a
// key file of Options.AlsoSeen has keys of another identity; store.ErrFormat for
// a store of another format; store.ErrCorrupt if its rows can't be read;
// store.ErrNotFound if it must exist and doesn't.
func Open(dir string, opt Options) (*Store, error) {
	opt = opt.withDefaults()
	if info, err := opt.FS.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("cannot open store %s: a file, not a directory", dir)
	}
	if opt.Mode == OpenOrCreate { // what is locked must be there
		if err := makeDir(opt.FS, dir); err != nil {
			return nil, fmt.Errorf("cannot open store %s: %w", dir, err)
		}
	}
	lock, err := lockDir(opt.FS, dir)
	opt.locked = lock != nil
	s, err := open(dir, opt, err)
	if err != nil {
		if lock != nil {
			err = errors.Join(err, lock.Close())
		}
		return nil, err
	}
	s.dirLock = lock
	return s, nil
}

// makeDir makes a directory, and those that it is in, if they are missing. The names of those that it makes are durable.
func makeDir(fs vfs.FS, dir string) error {
	var above []string
	for at := dir; ; {
		_, err := fs.Stat(at)
		up := fs.PathDir(at)
		if !isMissing(err) || up == at {
			break
		}
		above = append(above, up)
		at = up
	}
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, at := range slices.Backward(above) {
		_ = syncDir(fs, at) // as far as it may be read
	}
	return nil
}

// mostRepairs bounds the repairs of one Open: each must leave less to repair.
const mostRepairs = 4

// open decides what the directory is, repairs it if it is to, and opens the store.
func open(dir string, opt Options, err error) (*Store, error) {
	var n *note
	var repaired []string
	for err == nil {
		if n, err = examine(dir, &opt); err == nil || opt.Mode != OpenRepair || len(repaired) == mostRepairs {
			break
		}
		var text string
		if text, err = repair(dir, &opt, err); err == nil {
			repaired = append(repaired, text)
		}
	}
	if err == nil {
		n, err = n.usable(dir, &opt)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open store %s: %w", dir, err)
	}
	s, err := openNoted(dir, opt, n)
	if err != nil {
		return nil, err
	}
	s.repaired = append(repaired, s.repaired...)
	if opt.Mode != OpenRepair {
		return s, nil
	}
	if err := s.checkRepaired(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// usable returns the note with which a store is opened, or why it can't be. Without a store it makes the
// note of one, if it may.
func (n *note) usable(dir string, opt *Options) (*note, error) {
	switch {
	case n == nil && opt.Mode != OpenOrCreate:
		if _, err := opt.FS.Stat(dir); isMissing(err) {
			return nil, fault.As(store.ErrNotFound, "the directory does not exist")
		}
		return nil, fault.As(store.ErrNotFound, "the directory has no store")
	case n == nil:
		n = &note{format: opt.format, creating: true}
		return n, writeNote(opt.FS, dir, n)
	case n.format != opt.format:
		return nil, opt.otherFormat(n.format, dir)
	case n.creating && opt.Mode != OpenOrCreate:
		return nil, fault.As(store.ErrNotFound, "the directory has no store: the making of one was interrupted")
	}
	return n, nil
}

// checkRepaired refuses a repaired store that is not whole. Its counts decide what is leased.
func (s *Store) checkRepaired() error {
	r, err := s.Verify(context.Background())
	if err == nil && len(r.Findings) > 0 {
		err = fault.As(store.ErrCorrupt, "row %x: %s", r.Findings[0].Row, r.Findings[0].Text)
	}
	if err != nil {
		return fmt.Errorf("cannot repair store %s: it opens, and is not whole; restore a copy of the directory or import an export: %w", s.dir, err)
	}
	return nil
}

// openNoted opens a store that has a note.
func openNoted(dir string, opt Options, n *note) (*Store, error) {
	h := newHealth()
	h.damage.tell = opt.OnDamage
	var noted *noteKeeper
	if opt.Mode != OpenReadOnly {
		noted = newNoteKeeper(opt.FS, dir, n)
	}
	db, err := openPebble(dir, opt, h, noted)
	if err != nil {
		return nil, err
	}
	s := &Store{
		opt: opt, dir: dir, db: db, health: h, note: noted,
		queue:    make(chan *request, opt.backlog),
		requests: sync.Pool{New: func() any { return &request{done: make(chan struct{}, 1)} }},
		flights:  make(chan *flight, inFlight),
		written:  make(chan *flight, inFlight),
		stopped:  make(chan struct{}),
		closing:  make(chan struct{}),
		pace:     newPace(db, h, opt.memTableBytes),
		crawls:   map[string]*crawl{},
		byNum:    map[uint32]*crawl{},

		texts:  newTexts(opt.textBytes),
		keeper: keeper{poke: make(chan struct{}, 1)},
	}
	s.identity.Store(&store.Identity{})
	err = s.load()
	if err = cmp.Or(s.failure(), err); err != nil {
		err = errors.Join(fmt.Errorf("cannot open store %s: %w", dir, corruption(err)), s.closePebble())
		s.closeKeys()
		return nil, err
	}
	h.compactions.Store(1)
	for range inFlight {
		s.flights <- &flight{}
	}
	go s.committer()
	go s.answerer()
	if opt.Mode != OpenReadOnly {
		s.behind.Go(s.keepNote)
		s.keeper.removes.Store(true)
		s.startFill()
		s.behind.Go(s.keep)
		s.forgetLater(slices.Clone(s.sched.retired))
	}
	return s, nil
}

func openPebble(dir string, opt Options, h *health, n *noteKeeper) (db *pebble.DB, err error) {
	err = guard(func() (err error) {
		db, err = pebble.Open(dir, pebbleOptions(dir, opt, h, n))
		return err
	})
	if failed := h.failure(); failed != nil {
		if err == nil {
			_ = db.Close() // which changes nothing on the disk
		}
		return nil, openError(dir, opt.FS, failed)
	}
	if err != nil {
		h.die(err) // what Pebble left running must write nothing
		return nil, openError(dir, opt.FS, err)
	}
	return db, nil
}

// load reads the state from disk into memory.
func (s *Store) load() error {
	for _, load := range []func() error{s.loadMeta, s.loadCrawls, s.loadWallTime, s.openAlsoSeen} {
		if err := load(); err != nil {
			return err
		}
	}
	var tables errgroup.Group
	for _, load := range []func() error{s.loadKeys, s.loadQueues, s.loadPlaces} {
		tables.Go(load)
	}
	if err := tables.Wait(); err != nil {
		return err
	}
	if s.note != nil {
		var runs []runNote
		for g := range s.generations() {
			for _, r := range g.runs {
				runs = append(runs, noteOfRun(r.File))
			}
		}
		slices.SortFunc(runs, runNote.compare)
		return s.note.complete(slices.Compact(runs))
	}
	return nil
}

// scan calls f for the rows of a table in order; key and value are valid
// during the call.
func (s *Store) scan(lo, hi []byte, f func(key, value []byte) error) error {
	return scanRows(s.db, lo, hi, f)
}

func scanRows(rows pebble.Reader, lo, hi []byte, f func(key, value []byte) error) (err error) {
	it, err := rows.NewIter(bounds(lo, hi))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if err := f(it.Key(), v); err != nil {
			return err
		}
	}
	return it.Error()
}

// loadCrawls reads the crawls and their generations.
func (s *Store) loadCrawls() error {
	err := s.scan([]byte{tableCrawl}, rowBound(tableCrawl), func(key, value []byte) error {
		if len(key) != 5 {
			return fmt.Errorf("cannot read crawl row %x: %w", key, store.ErrCorrupt)
		}
		s.addCrawl(&crawl{num: binary.BigEndian.Uint32(key[1:]), name: string(value)})
		return nil
	})
	if err != nil {
		return err
	}
	return s.scan([]byte{tableGen}, rowBound(tableGen), func(key, value []byte) error {
		num, g, err := parseGeneration(key, value)
		if err != nil {
			return err
		}
		c := s.byNum[num]
		if c == nil {
			return fmt.Errorf("cannot read generation row %x; got unknown crawl %d: %w", key, num, store.ErrCorrupt)
		}
		g.c, c.gens = c, append(c.gens, g)
		return nil
	})
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.gate.Lock()
	if s.isClosing() {
		s.gate.Unlock()
		return store.ErrClosed
	}
	close(s.closing)
	close(s.queue)
	s.gate.Unlock()
	select {
	case <-s.stopped:
	case <-s.stuck:
		return s.failure()
	}
	s.behind.Wait()
	s.keeper.releasing.Wait()
	err := s.closePebble()
	s.closeKeys()
	if s.dirLock != nil {
		err = errors.Join(err, s.dirLock.Close())
	}
	return err
}

// closeKeys frees the memory of the keys, and closes the files.
func (s *Store) closeKeys() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.crawls {
		if c.seen != nil {
			c.seen.close()
		}
	}
	s.keeper.removes.Store(false)
	for g := range s.generations() {
		for _, r := range g.runs {
			r.File.Release()
		}
	}
	for _, f := range s.also {
		f.Close()
	}
}

func (s *Store) isClosing() bool { return async.Closed(s.closing) }

// closePebble leaves nothing in the log: tables have a checksum for every
// block, but damage to the last records of a log can look like a torn write.
func (s *Store) closePebble() (err error) {
	if s.opt.Mode != OpenReadOnly && !s.isDead() {
		err = s.db.Flush()
	}
	closed := make(chan error, 1)
	go func() { closed <- s.db.Close() }()
	select {
	case errClose := <-closed:
		err = errors.Join(err, errClose)
	case <-s.parked: // what it holds stays, until the process ends
	}
	if s.note != nil && err == nil && !s.isDead() {
		err = s.note.write()
	}
	return cmp.Or(s.failure(), err)
}
