package pebblestore

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// Between this package and the disk is Pebble, which can end the process in three ways: it panics if it cannot write its log or
// manifest, calls Fatalf if it cannot continue, and panics in a compaction that meets damage below a single delete. A store embedded
// in a program must not end it. So there is a file system below Pebble (watchFS) that hides such errors from it, an
// event listener, and a logger whose Fatalf blocks the goroutine; health records what has happened.
//
// Nothing here knows of URLs. health is safe for concurrent use: err is written once, before dead is closed.

// pebbleFormat is the version of Pebble's own files. A store that was opened with a later one
// can't be opened with an earlier one, so it is raised here and nowhere else: not by an
// upgrade of Pebble.
const pebbleFormat = pebble.FormatValueSeparation

// pebbleOptions are Pebble's options for ours.
func pebbleOptions(dir string, opt Options, h *health, n *noteKeeper) *pebble.Options {
	o := &pebble.Options{
		FS:                 newWatchFS(dir, opt, h, n),
		ReadOnly:           opt.Mode == OpenReadOnly,
		ErrorIfNotExists:   opt.Mode != OpenOrCreate,
		FormatMajorVersion: pebbleFormat,
		Logger:             pebbleLog{h},
		EventListener:      h.listener(),
		MemTableSize:       2 * uint64(opt.memTableBytes), // from half of that on, its Open flushes them
		// Pebble takes its write buffers, usually two, out of its cache. With no more than that there
		// would be no cache, and each read of a row would read the tables' filters again.
		CacheSize: opt.CacheBytes + 2*2*int64(opt.memTableBytes),
		// Open asks for none: it needs the processors, and Pebble's own Open waits for those that it began.
		CompactionConcurrencyRange: func() (lower, upper int) {
			return int(h.compactions.Load()), max(3, runtime.GOMAXPROCS(0))
		},
	}
	if opt.noCache {
		o.CacheSize = 1
	}
	o.BlockPropertyCollectors = []func() pebble.BlockPropertyCollector{func() pebble.BlockPropertyCollector { return tableOwner{h} }}
	// Pebble begins no further ones by itself: see newPace.
	o.Experimental.L0CompactionConcurrency, o.Experimental.CompactionDebtConcurrency = math.MaxInt, math.MaxInt
	o.Experimental.CompactionGarbageFractionForMaxConcurrency = func() float64 { return 0 }
	o.MemTableStopWritesThreshold = min(max(4, (128<<20)/opt.memTableBytes), 16)
	// Every write buffer becomes a table in L0. Eight of them go down together (two by default), so that the level
	// below is rewritten less often. Sixteen, with tables of 2 MB in L0 that end where its others do (FlushSplitBytes 0.5 MB), take 0.7
	// of the time for URLs of new hosts, but 1.07 for those of a few thousand hosts and 1.05 for their leases: most crawls are of
	// these. The tables alone take 0.9 of it, and no compaction at all would take 0.7 as well.
	o.L0CompactionThreshold = 16
	o.L0StopWritesThreshold = math.MaxInt // pace stops writes, which the failure of the store ends
	for i := range o.Levels {
		o.TargetFileSizes[i] = opt.tableBytes
		o.Levels[i].BlockSize = 16 << 10
		// Stronger compression saves a seventh of the disk, and costs the fetch cycle a quarter of its time.
		o.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.FastestCompression }
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	// What is in L0 is soon written again: a twentieth of what a discovered URL costs would go into compressing it.
	o.Levels[0].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
	o.Levels[len(o.Levels)-1].FilterPolicy = pebble.NoFilterPolicy // most looked-up keys exist
	return o
}

// tableOwner marks each table, in its properties, as the store's: Pebble would take a table of another store for its own if number
// and length match. Tables that Open writes before it knows the store, and tables of earlier versions, have no mark.
type tableOwner struct{ h *health }

const ownerName = "firstseen.store"

func (tableOwner) Name() string                                                   { return ownerName }
func (tableOwner) AddPointKey(pebble.InternalKey, []byte) error                   { return nil }
func (tableOwner) AddRangeKeys(sstable.Span) error                                { return nil }
func (tableOwner) AddCollectedWithSuffixReplacement([]byte, []byte, []byte) error { return nil }
func (tableOwner) SupportsSuffixReplacement() bool                                { return false }
func (tableOwner) FinishDataBlock(none []byte) ([]byte, error)                    { return none, nil }
func (tableOwner) AddPrevDataBlockToIndexBlock()                                  {}
func (tableOwner) FinishIndexBlock(none []byte) ([]byte, error)                   { return none, nil }

func (m tableOwner) FinishTable(buf []byte) ([]byte, error) {
	if mark := m.h.owner.Load(); mark != nil {
		buf = append(buf, mark[:]...)
	}
	return buf, nil
}

// setOwner has new tables marked as the store's, by its secret.
func (h *health) setOwner(secret []byte) {
	mark := sha256.Sum256(append([]byte(ownerName), secret...))
	h.owner.Store(&mark)
}

// checkTables returns an error if a table is marked as another store's. Open does not call it: a large store has tens of thousands
// of files to read.
func (s *Store) checkTables() error {
	levels, err := s.db.SSTables(pebble.WithProperties())
	if err != nil {
		return err
	}
	for _, t := range slices.Concat(levels...) {
		if has := t.Properties.UserProperties[ownerName]; len(has) > 1 && has[1:] != string(s.owner.Load()[:]) { // the first is Pebble's
			return fault.As(store.ErrCorrupt, "table %s is of another store than the table with the secret of this one; put the own table back, or restore a copy of the directory", s.opt.FS.PathJoin(s.dir, fmt.Sprintf("%06d.sst", t.FileNum)))
		}
	}
	return nil
}

// tableOf finds the number of the table in an error of Pebble about one that is missing or has another size.
var tableOf = regexp.MustCompile(`^L[0-9]: ([0-9]{6,}): `)

// openError converts an error of pebble.Open to one of this package.
func openError(dir string, fs vfs.FS, err error) error {
	failed := (*os.PathError)(nil)
	errors.As(err, &failed)
	switch {
	case errors.Is(err, pebble.ErrDBDoesNotExist):
		err = fault.As(errors.Join(store.ErrNotFound, err), "the directory has no store")
	case failed == nil && (errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES)), err.Error() == "lock held by current process":
		err = fault.As(err, "%w", store.ErrLocked)
	case foreignFormat(dir, fs):
		err = fault.As(store.ErrFormat, "it has another format: %w", err)
	case tableOf.MatchString(err.Error()) && (errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), "size mismatch")):
		path := fs.PathJoin(dir, tableOf.FindStringSubmatch(err.Error())[1]+".sst")
		err = fault.As(errors.Join(store.ErrCorrupt, err), "table %s is missing or was cut (%s); put it back, restore a copy of the directory or import an export", path, firstLine(err))
	default:
		err = corruption(err)
		if failed != nil && !errors.Is(err, store.ErrCorrupt) {
			err = fault.As(err, "%w", failed) // without what Pebble says around it
		}
	}
	return fmt.Errorf("cannot open store %s: %w", dir, err)
}

// corruption turns Pebble's error about a damaged file into one with the file's name and advice.
func corruption(err error) error {
	if err == nil || !pebble.IsCorruptionError(err) || errors.Is(err, store.ErrCorrupt) {
		return err
	}
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		return fault.As(err, "%w", corruptionOf(info))
	}
	return fault.As(errors.Join(store.ErrCorrupt, err), "%s; %s", firstLine(err), adviceDamaged)
}

const adviceDamaged = "the disk returned other bytes than were written: check it, then restore a copy of the directory or import an export"

func corruptionOf(info *pebble.DataCorruptionInfo) error {
	return fault.As(store.ErrCorrupt, "file %s is damaged (%s); %s", info.Path, firstLine(info.Details), adviceDamaged)
}

// pathOf returns the file that an error of damage is about, "" if it names none.
func pathOf(err error) string {
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		return info.Path
	}
	return ""
}

// firstLine returns the first line of Pebble's error, which the others repeat.
func firstLine(err error) string {
	text, _, _ := strings.Cut(fmt.Sprint(err), "\n")
	return strings.TrimPrefix(text, "pebble: ")
}

// foreignFormat reports whether the database in dir is in a version of Pebble's own format that this
// program can't read, newer or too old. Pebble's error for one has nothing but a text to know it by.
func foreignFormat(dir string, fs vfs.FS) bool {
	text, err := atomicfs.ReadMarker(fs, dir, "format-version")
	version, bad := strconv.ParseUint(text, 10, 64)
	return err == nil && bad == nil && (version > uint64(pebble.FormatNewest) || version < uint64(pebble.FormatMinSupported))
}

func openPebble(dir string, opt Options, h *health, n *noteKeeper) (db *pebble.DB, err error) {
	err = guard(func() (err error) {
		db, err = pebble.Open(dir, pebbleOptions(dir, opt, h, n))
		return err
	})
	if failed := h.failure(); failed != nil {
		if err == nil {
			close(h.closing)
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

// health records whether the store has failed: then every call returns ErrFailed. It fails if the log, the
// manifest (see watchFS) or the note (on a full disk often the first) cannot be written, or tables, maxMisses times in
// a row: Pebble would retry these without end, while writers wait for room.
type health struct {
	once, onceStuck, onceParked sync.Once
	err                         error         // why the store has failed
	dead                        chan struct{} // closed once err is set
	stuck                       chan struct{} // closed if a goroutine of Pebble will never continue, nor release its locks
	parked                      chan struct{} // closed if a compaction met damage, and never ends
	closing                     chan struct{} // closed by Close
	misses                      atomic.Int64  // background failures in a row

	owner atomic.Pointer[[sha256.Size]byte] // of the store's tables, once Open knows its secret

	// compactions is how many Pebble may run: none while Open loads.
	compactions atomic.Int32

	stalls stalls
	damage runDamage // that was met
}

// maxMisses is the number of background failures in a row at which the store fails.
const maxMisses = 20

// retryPause is the time after which Pebble tries again what failed in the background. Left
// alone, it tries without a pause. A failed flush holds Pebble's lock in the meantime, so the
// pause is short. Statistics of a damaged table, and compactions of a store that has failed, are tried without end: these
// pauses are long, and Close ends them. The lock does not matter then: in a dead store, only calls that were in Pebble when it died wait for it.
const retryPause, idlePause = 5 * time.Millisecond, time.Second

func newHealth() *health {
	return &health{dead: make(chan struct{}), stuck: make(chan struct{}), parked: make(chan struct{}), closing: make(chan struct{})}
}

// failure returns the first error that die got, or nil.
func (h *health) failure() error {
	if h.isDead() {
		return h.err
	}
	return nil
}

// die makes err the answer to every call, from before it returns.
func (h *health) die(err error) {
	h.once.Do(func() {
		text := "the store failed; open it again when the disk can be written: %w"
		if err = corruption(err); errors.Is(err, store.ErrCorrupt) {
			text = "the store failed: %w"
		}
		h.err = fault.As(store.ErrFailed, text, err)
		close(h.dead)
	})
}

func (h *health) isDead() bool { return async.Closed(h.dead) }

// pebbleLog is the pebble.Logger.
type pebbleLog struct{ h *health }

// Infof and Errorf drop Pebble's talk.
func (pebbleLog) Infof(string, ...any)  {}
func (pebbleLog) Errorf(string, ...any) {}

// Fatalf must not return. Pebble calls it if it cannot continue, as with a table that was cut since Open (watchFS
// hides the write errors for which it would). A panic would end the user's process, from a
// goroutine that nothing can guard. So the store fails, and the goroutine blocks here with the locks that it
// holds: Close does not wait for it, and does not close Pebble.
func (l pebbleLog) Fatalf(format string, args ...any) {
	l.h.die(fmt.Errorf(format, args...))
	l.h.stick()
	select {}
}

func (h *health) stick() { h.onceStuck.Do(func() { close(h.stuck) }) }

// isStuck reports whether the committer may never return from a step, and may still use its data.
func (h *health) isStuck() bool { return async.Closed(h.stuck) }

// unlessStuck calls f, and returns its result, or the store's failure if f may never return because of a stuck goroutine of Pebble. f may
// then still run.
func (h *health) unlessStuck(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-h.stuck:
		return h.failure()
	}
}

// wait takes a lock, unless a goroutine that will never continue may hold it.
func (h *health) wait(try func() bool, mu sync.Locker) error {
	if try() {
		return nil
	}
	return h.unlessStuck(func() error { mu.Lock(); return nil })
}

// met is called by a goroutine of Pebble that has met damage, before it gets the error. A compaction would panic on it
// if the damaged block has rows below a single delete. So it is blocked here forever: its tables are not compacted again,
// and the others are. It holds no lock; Close does not wait for it, and does not close Pebble.
func (h *health) met(i pebble.DataCorruptionInfo) {
	h.damage.note(i.Path, corruptionOf(&i))
	if calledBy("/internal/compact.(*") {
		h.onceParked.Do(func() { close(h.parked) })
		select {}
	}
}

// calledBy reports whether a function with such a name is among the callers.
func calledBy(name string) bool {
	var callers [64]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for {
		f, more := frames.Next()
		if strings.Contains(f.Function, name) {
			return true
		}
		if !more {
			return false
		}
	}
}

// emptyTable is Pebble's error for a flush with nothing left to write, as when all rows were deleted again. It is no
// failure, and Pebble exports no error to compare with.
const emptyTable = "pebble: empty table"

func (h *health) listener() *pebble.EventListener {
	wrote := func(err error) {
		switch {
		case err == nil:
			h.misses.Store(0)
		case pebble.IsCorruptionError(err): // other tables can be compacted
			h.damage.note(pathOf(err), corruption(err))
		case !errors.Is(err, pebble.ErrCancelledCompaction) && h.misses.Add(1) >= maxMisses:
			h.die(fmt.Errorf("cannot write tables, tried %d times: %w", maxMisses, err))
		}
	}
	return &pebble.EventListener{
		BackgroundError: func(error) {
			pause := retryPause
			if h.isDead() || calledBy(".collectTableStats") {
				pause = idlePause
			}
			select {
			case <-time.After(pause):
			case <-h.closing:
			}
		},
		WriteStallBegin: func(pebble.WriteStallBeginInfo) { h.stalls.begin() },
		WriteStallEnd:   h.stalls.end,
		DataCorruption:  h.met,
		FlushEnd: func(i pebble.FlushInfo) {
			if i.Err != nil && i.Err.Error() == emptyTable {
				i.Err = nil
			}
			wrote(i.Err)
		},
		CompactionEnd: func(i pebble.CompactionInfo) { wrote(i.Err) },
	}
}

// stalls counts how long Pebble has stopped writes.
type stalls struct {
	mu    sync.Mutex
	began time.Time // zero: writes are not stopped
	ended time.Duration
}

func (s *stalls) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = time.Now()
}

func (s *stalls) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended += time.Since(s.began)
	s.began = time.Time{}
}

// all returns the total time, including a stall in progress.
func (s *stalls) all() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.began.IsZero() {
		return s.ended
	}
	return s.ended + time.Since(s.began)
}

// runDamage is the damage to run files and Pebble's tables found since Open. A look-up that meets damage refuses only the keys
// that it cannot look up; the rest of the store works on, so the damage is reported here.
type runDamage struct {
	tell func(error) // Options.OnDamage

	mu   sync.Mutex
	err  error // the first
	told map[string]bool
}

// mostDamage bounds how many files are reported.
const mostDamage = 100

// note notes damage of a file.
func (d *runDamage) note(path string, err error) {
	d.mu.Lock()
	if d.err == nil {
		d.err = err
	}
	isNew := !d.told[path] && len(d.told) < mostDamage
	if isNew {
		if d.told == nil {
			d.told = map[string]bool{}
		}
		d.told[path] = true
	}
	d.mu.Unlock()
	if isNew && d.tell != nil {
		d.tell(err)
	}
}

// first returns the first damage, nil if there was none.
func (d *runDamage) first() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// watchFS is the file system under Pebble, which ends the process if it cannot write a log or
// manifest, or sync a directory. watchFS does not return such an error: it makes the store fail.
// After that it drops all writes and returns no errors, except to compactions, which end with one.
// So no goroutine of Pebble waits for the disk, and Close closes Pebble as usual. The answerer
// checks after each sync whether the store has failed, so no caller takes a dropped write for a
// durable one.
//
// It keeps the note: no log has a record before the note names it, and none is removed before the note has
// the manifest without it.
type watchFS struct {
	vfs.FS
	h        *health
	note     *noteKeeper // nil for none
	dir      string      // of the store: it can do without files elsewhere, such as a backup's
	readOnly bool
	locked   bool // the directory
}

// need is how much Pebble needs a file or a change of a directory.
type need int

const (
	optional need = iota // an error is returned, also after the store has failed
	retried              // an error is returned, and Pebble tries again
	vital                // the store fails
)

// newWatchFS returns the file system for the store in a directory.
func newWatchFS(dir string, opt Options, h *health, n *noteKeeper) *watchFS {
	return &watchFS{FS: opt.FS, h: h, note: n, dir: dir, readOnly: opt.Mode == OpenReadOnly, locked: opt.locked}
}

// change makes a change of a file or directory, unless the store has failed or is only read.
func (fs *watchFS) change(n need, path string, f func() error) error {
	if fs.readOnly {
		return errReadOnly
	}
	if fs.h.isDead() {
		if n == optional {
			return fs.h.err
		}
		return nil
	}
	err := f()
	if err != nil && n == vital {
		fs.h.die(onFile(path, err))
		return nil
	}
	return err
}

// onFile adds the file's name to an error. Errors of system calls lack it.
func onFile(path string, err error) error {
	if err == nil || strings.Contains(err.Error(), path) {
		return err
	}
	return fmt.Errorf("cannot write %s: %w", path, err)
}

var errReadOnly = errors.New("the store is open for reading only")

// logOf returns the number of a log of the store whose changes are noted, 0 for any other file.
func (fs *watchFS) logOf(name string) uint64 {
	if fs.note == nil || fs.PathDir(name) != fs.PathDir(fs.PathJoin(fs.dir, "x")) {
		return 0
	}
	return logNumber(fs.PathBase(name))
}

// need returns how much Pebble needs a directory, or a file that it writes for a purpose.
func (fs *watchFS) need(dir string, c vfs.DiskWriteCategory) need {
	switch {
	case fs.PathJoin(dir, "x") != fs.PathJoin(fs.dir, "x"), c == "pebble-compaction", c == "pebble-blob-file-rewrite":
		return optional
	case c == "pebble-memtable-flush":
		return retried
	}
	return vital
}

// create makes a file by f. If the store has failed, the file is in memory.
func (fs *watchFS) create(name string, c vfs.DiskWriteCategory, f func() (vfs.File, error)) (vfs.File, error) {
	w := &watchFile{File: vfs.NewMemFile(nil), fs: fs, path: name, need: fs.need(fs.PathDir(name), c)}
	err := fs.change(w.need, name, func() error {
		file, err := f()
		if err != nil {
			return err
		}
		w.File = file
		if num := fs.logOf(name); num > 0 {
			return fs.note.began(num)
		}
		return nil
	})
	if err != nil {
		return nil, onFile(name, err)
	}
	return w, nil
}

// Create implements vfs.FS. Pebble makes the manifest and then the marker that
// names it, and syncs the directory once, after both. A file system that keeps
// its directories in order, as journals do, never has the marker alone after a
// power cut, but POSIX allows it: so the directory is synced before a marker is made.
func (fs *watchFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(fs.PathBase(name), "marker.") {
		dir := fs.PathDir(name)
		if err := fs.change(fs.need(dir, c), dir, func() error { return syncDir(fs.FS, dir) }); err != nil {
			return nil, err
		}
	}
	f, err := fs.create(name, c, func() (vfs.File, error) { return fs.FS.Create(name, c) })
	if c == "pebble-manifest" && err == nil && fs.note != nil {
		f = &manifestFile{watchFile: f.(*watchFile), manifestNote: manifestOf(fs.PathBase(name))}
	}
	return f, err
}

// ReuseForWrite implements vfs.FS.
func (fs *watchFS) ReuseForWrite(oldName, newName string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return fs.create(newName, c, func() (vfs.File, error) {
		if err := fs.removing(oldName); err != nil {
			return nil, err
		}
		return fs.FS.ReuseForWrite(oldName, newName, c)
	})
}

// removing notes that a file will be removed.
func (fs *watchFS) removing(name string) error {
	if num := fs.logOf(name); num > 0 {
		return fs.note.removing(num)
	}
	return nil
}

// OpenDir implements vfs.FS.
func (fs *watchFS) OpenDir(name string) (vfs.File, error) {
	f, err := fs.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &watchFile{File: f, fs: fs, path: name, need: fs.need(name, vfs.WriteCategoryUnspecified)}, nil
}

// Remove implements vfs.FS.
func (fs *watchFS) Remove(name string) error {
	return fs.change(retried, name, func() error {
		if err := fs.removing(name); err != nil {
			return err
		}
		return fs.FS.Remove(name)
	})
}

// Rename implements vfs.FS. Pebble renames its options during Open, and if it can't leaves goroutines behind that
// end the process.
func (fs *watchFS) Rename(oldName, newName string) error {
	return fs.change(fs.need(fs.PathDir(newName), vfs.WriteCategoryUnspecified), newName, func() error { return fs.FS.Rename(oldName, newName) })
}

// Lock implements vfs.FS. The directory is locked already, if that is possible (see lockDir): the file
// LOCK is for programs of earlier versions, and a reader leaves it alone.
func (fs *watchFS) Lock(name string) (io.Closer, error) {
	if fs.locked && fs.readOnly {
		return io.NopCloser(nil), nil
	}
	c, err := fs.FS.Lock(name)
	if err != nil && fs.readOnly && errors.Is(err, syscall.EROFS) {
		return io.NopCloser(nil), nil
	}
	return c, err
}

// Unwrap implements vfs.FS.
func (fs *watchFS) Unwrap() vfs.FS { return fs.FS }

// watchFile is a file or directory that is written through its watchFS.
//
// Its writers yield. A flush would keep its processor for ten milliseconds at a time,
// and callers wait for less than one: it yields after each block. The log's goroutine
// yields before its sync, which would hold the processor until the runtime notices.
//
// It allocates disk space as it grows. Pebble asks for a whole log's before the first write, 70 MB with the
// default write buffers, and a store keeps two logs: one with a single URL would take 140 MB.
type watchFile struct {
	vfs.File
	fs      *watchFS
	path    string
	need    need
	wanted  int64 // bytes that Pebble asked the disk for
	room    int64 // those that the disk was asked for
	written int64
}

func (f *watchFile) change(do func() error) error {
	return onFile(f.path, f.fs.change(f.need, f.path, do))
}

// Preallocate implements vfs.File.
func (f *watchFile) Preallocate(offset, length int64) error {
	f.wanted = offset + length
	return nil
}

// grow asks the disk for room for n more bytes, each time as much as the file has, from a quarter to 8 MiB. If the disk
// has no room, the write returns the error.
func (f *watchFile) grow(n int64) {
	f.written += n
	if f.written <= f.room || f.written > f.wanted {
		return
	}
	end := min(max(f.written, f.room+min(max(f.room, 256<<10), 8<<20)), f.wanted)
	_ = f.File.Preallocate(f.room, end-f.room)
	f.room = end
}

// Write implements vfs.File.
func (f *watchFile) Write(p []byte) (int, error) {
	err := f.change(func() error {
		f.grow(int64(len(p)))
		_, err := f.File.Write(p)
		return err
	})
	if f.need != vital {
		runtime.Gosched()
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// Stat implements vfs.File. Pebble asks a log that it reuses for its size, and panics on an error.
func (f *watchFile) Stat() (vfs.FileInfo, error) {
	var info vfs.FileInfo
	err := f.change(func() (err error) {
		info, err = f.File.Stat()
		return err
	})
	if err == nil && info == nil { // the store has failed
		return vfs.NewMemFile(nil).Stat()
	}
	return info, err
}

// Close implements vfs.File. Pebble panics if it cannot close a log.
func (f *watchFile) Close() error {
	err := f.File.Close()
	if err != nil && f.need == vital {
		f.fs.h.die(onFile(f.path, err))
		return nil
	}
	return err
}

// Sync implements vfs.File.
func (f *watchFile) Sync() error { return f.change(f.File.Sync) }

// SyncData implements vfs.File.
func (f *watchFile) SyncData() error {
	runtime.Gosched()
	return f.change(f.File.SyncData)
}

// SyncTo implements vfs.File.
func (f *watchFile) SyncTo(length int64) (full bool, err error) {
	err = f.change(func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}

// manifestFile is a manifest, whose synced part is noted.
type manifestFile struct {
	*watchFile
	manifestNote
}

func manifestOf(name string) (m manifestNote) {
	_, _ = fmt.Sscanf(name, "MANIFEST-%d", &m.num) // or it stays 0, which is never noted
	return m
}

// Write implements vfs.File. A file system may change p, and one of Pebble's does under the race detector. Nothing is noted
// after a failed write.
func (f *manifestFile) Write(p []byte) (int, error) {
	sum := crc32.Update(f.sum, castagnoli, p)
	n, err := f.watchFile.Write(p)
	if err == nil {
		f.length, f.sum = f.length+int64(n), sum
	}
	return n, err
}

// Sync implements vfs.File.
func (f *manifestFile) Sync() error {
	err := f.watchFile.Sync()
	if err == nil && !f.fs.h.isDead() {
		f.fs.note.synced(f.manifestNote)
	}
	return err
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
