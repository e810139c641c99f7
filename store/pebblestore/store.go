package pebblestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/osfile"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Store is a store.Store in one Pebble database.
//
// Its goroutines are the committer and the answerer (commit.go), the keeper and its merges (runs.go), and the one that writes the
// note (directory.go); all others are callers'. The fields are grouped by owner. Locks are taken in this
// order: gate, between, mu, keeper.mu, noteKeeper.mu.
type Store struct {
	// Set by Open, then constant. What they point to has its own locks.
	opt Options
	dir string
	db  *pebble.DB
	*health
	note     *noteKeeper // nil if the store is only read
	dirLock  io.Closer   // nil where a directory cannot be locked
	secret   [secretLen]byte
	texts    *texts
	repaired []string  // what Open corrected
	also     []alsoSet // key files; Close unmaps them, holding gate

	// Safe for concurrent use.
	groups   atomic.Int64 // committed
	accepted atomic.Int64 // steps and parts of them
	busy     busyTimes
	cold     cold
	keeper   keeper
	names    sched.Names
	identity atomic.Pointer[store.Identity] // written by the committer

	// The path of a step: see commit.go. Close closes queue and closing, holding gate for writing; users of db, queue or also
	// hold it for reading, or linger.
	gate     sync.RWMutex
	queue    chan *request
	requests sync.Pool      // to be used again
	flights  chan *flight   // empty ones, for groups to come
	written  chan *flight   // by the committer, to be answered when they are durable
	stopped  chan struct{}  // closed when all that was accepted is answered
	behind   sync.WaitGroup // the keeper, and work between steps; Close waits for it
	needed   chan struct{}  // a Take waits for the queues that Open left

	// The committer's alone.
	parts     []*request      // that have done a part
	starved   bool            // the next group begins with parts[0], for which the last had no time
	unsynced  bool            // rows of this group are in the database without a sync
	unflushed int             // written since Pebble last began to flush its buffer, see boundReplay
	flushed   <-chan struct{} // closed when that flush has ended; nil before the first
	pace      *pace
	wall      wallTime
	adding    addSpace
	packSpace []byte // for the next packed row

	// between is held by the committer while memory is ahead of the rows in the database, and by readers of
	// both.
	between sync.RWMutex

	// Guarded by mu. Only the committer writes these, except views, busy runs and leases that ran out, whose writers hold mu.
	mu           sync.RWMutex
	crawls       map[string]*crawl
	byNum        map[uint32]*crawl
	byName       []*crawl // in order of name
	nextCrawl    uint32
	nextGen      uint32
	retained     time.Duration // a generation by Terms.Retention; 0 for none
	unicodeHosts bool
	sched        scheduler
	index        indexPhase
	views        int    // readers of all keys, for which tombstones stay
	nextPacked   uint64 // number of the next packed row
	packed       int64  // keys in packed rows
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
	if err := s.leftLeases(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
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

// mostRepairs bounds the repairs of one Open, each of which must leave less to repair.
const mostRepairs = 4

// open decides what the directory is, repairs it if asked to, and opens the store.
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
		n, err = n.orNew(dir, &opt)
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
	if err := s.verifies(context.Background()); err != nil { // its counts decide what is leased
		err = fmt.Errorf("cannot repair store %s: it opens, and is not whole; restore a copy of the directory or import an export: %w", dir, err)
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// orNew returns the note with which a store is opened, or why it can't be. If there is no store, it makes a
// note for a new one, if it may.
func (n *note) orNew(dir string, opt *Options) (*note, error) {
	switch {
	case n == nil && opt.Mode != OpenOrCreate:
		if _, err := opt.FS.Stat(dir); isMissing(err) {
			return nil, fault.As(store.ErrNotFound, "the directory does not exist")
		}
		return nil, fault.As(store.ErrNotFound, "the directory has no store")
	case n == nil:
		n = &note{format: opt.format, creating: true}
		return n, writeNote(opt.FS, dir, n.append(nil))
	case n.format != opt.format:
		return nil, opt.otherFormat(n.format, dir)
	case n.creating && opt.Mode != OpenOrCreate:
		return nil, fault.As(store.ErrNotFound, "the directory has no store: the making of one was interrupted")
	}
	return n, nil
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
		pace:     newPace(db, h, opt.memTableBytes),
		crawls:   map[string]*crawl{},
		byNum:    map[uint32]*crawl{},

		texts:  newTexts(opt.textBytes),
		keeper: keeper{poke: make(chan struct{}, 1)},
		needed: make(chan struct{}, 1),
	}
	s.identity.Store(&store.Identity{})
	err = s.load()
	if err = cmp.Or(s.failure(), err); err != nil {
		close(s.closing)
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
	if s.sched.Filing() {
		s.behind.Go(s.loadRest)
	}
	if opt.Mode != OpenReadOnly {
		s.behind.Go(s.keepNote)
		s.keeper.removes.Store(true)
		s.startFill()
		s.behind.Go(s.keep)
		s.forgetLater(slices.Clone(s.sched.retired))
	}
	return s, nil
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
	return s.unlessStuck(func() error {
		<-s.stopped
		s.behind.Wait()
		s.keeper.releasing.Wait()
		err := s.closePebble()
		s.closeKeys()
		if s.dirLock != nil {
			err = errors.Join(err, s.dirLock.Close())
		}
		return err
	})
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

// lockDir locks a directory, before anything in it is read. It returns nil for one that does not exist, or where
// directories cannot be locked.
func lockDir(fs vfs.FS, dir string) (io.Closer, error) {
	f, err := fs.OpenDir(dir)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if f.Fd() == vfs.InvalidFd {
		return nil, f.Close()
	}
	lock, err := osfile.Lock(f)
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return lock, err
}

// usable returns ErrClosed after Close, and ErrFailed if the store has failed.
func (s *Store) usable() error {
	if s.isClosing() {
		return store.ErrClosed
	}
	return s.failure()
}

// linger makes Close wait for work between steps, until the work calls the returned function. The work
// must end when isClosing returns true, or a step fails.
func (s *Store) linger() (func(), error) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	s.behind.Add(1)
	return s.behind.Done, nil
}

// rlock takes s.mu for reading if the store is usable: after a failure, the state may be
// ahead of the disk.
func (s *Store) rlock() error { return s.lockUsable(s.mu.TryRLock, s.mu.RLocker()) }

// lock is rlock for writing, for goroutines other than the committer.
func (s *Store) lock() error { return s.lockUsable(s.mu.TryLock, &s.mu) }

func (s *Store) lockUsable(try func() bool, mu sync.Locker) error {
	err := s.usable()
	if err == nil { // or the lock may never be free
		err = s.wait(try, mu)
	}
	if err != nil {
		return err
	}
	err = s.usable()
	if err != nil {
		mu.Unlock()
	}
	return err
}

// Prepare implements store.Store. Keys are forgotten in groups that were recorded within an eighth
// of the shortest retention that a user requested.
func (s *Store) Prepare(ctx context.Context, t store.Terms) error {
	var err error
	if s.opt.Mode == OpenReadOnly {
		_, err = s.Identity().Adopt(t.Identity, s.keys() > 0, s.unicodeHosts)
	} else {
		err = s.do(ctx, 1, func(tx *txn) error { return tx.prepare(t) })
	}
	if errors.Is(err, store.ErrIdentity) {
		return fmt.Errorf("cannot use store %s: %w", s.dir, err)
	}
	return err
}

// prepare adopts the identity of terms, and notes their retention.
func (tx *txn) prepare(t store.Terms) error {
	s := tx.s
	have := s.Identity()
	id, err := have.Adopt(t.Identity, s.keys() > 0, s.unicodeHosts)
	if err != nil || t.ReadOnly {
		return err
	}
	for _, f := range s.also {
		if err := accepts(id, f.Header()); err != nil {
			return fmt.Errorf("cannot use key file %s: %w", f.Path(), err)
		}
	}
	if id != have {
		s.identity.Store(&id)
		tx.set(metaKey(metaIdentity), id.AppendTo(nil))
	}
	if g := t.Retention / 8; g > 0 && (s.retained == 0 || g < s.retained) {
		s.retained = g
	}
	return nil
}
