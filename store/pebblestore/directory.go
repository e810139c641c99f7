package pebblestore

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
)

// Open decides, only by reading, what a directory is. Only file names that a store uses count; other
// files are left alone.
//
//	no such name                            nothing: a store can be made here
//	a note that says "creating"             the making of a store was interrupted, and goes on
//	a note, and all that it names           a whole store
//	no note, and Pebble's own files         a store of format 3 or earlier, or a database of another program
//	anything else                           damage: ErrCorrupt, which names what is missing

var (
	// storeNames are the files of a store that decide.
	storeNames = regexp.MustCompile(`^(marker\.(manifest|format-version)\.[0-9]+\..+|(MANIFEST|OPTIONS)-[0-9]+|[0-9]{6,}\.(log|sst|blob)|CURRENT)$`)
	runName    = regexp.MustCompile(`^[0-9a-f]{32}\.run$`)
)

// contents are what a directory has.
type contents struct {
	fs       vfs.FS
	dir      string
	names    []string // of a store, without the note
	runs     []string // in runs
	manifest string   // that the marker names, "" without one
	format   bool     // there is a marker of Pebble's format
}

func isMissing(err error) bool { return errors.Is(err, os.ErrNotExist) }

// list lists what a store has in a directory. There may be no directory.
func list(fs vfs.FS, dir string) (c *contents, err error) {
	c = &contents{fs: fs, dir: dir}
	all, err := fs.List(dir)
	if err != nil && !isMissing(err) {
		return nil, err
	}
	for _, name := range all {
		if storeNames.MatchString(name) {
			c.names = append(c.names, name)
			c.format = c.format || strings.HasPrefix(name, "marker.format-version.")
		}
	}
	if slices.ContainsFunc(all, func(name string) bool { return strings.HasPrefix(name, "marker.manifest.") }) {
		if c.manifest, err = atomicfs.ReadMarker(fs, dir, "manifest"); err != nil {
			return nil, err
		}
	}
	runs := fs.PathJoin(dir, "runs")
	if _, err := fs.Stat(runs); err == nil {
		if all, err = fs.List(runs); err != nil {
			return nil, err
		}
		c.runs = slices.DeleteFunc(all, func(name string) bool { return !runName.MatchString(name) })
	}
	slices.Sort(c.names)
	return c, nil
}

func (c *contents) has(name string) bool { return slices.Contains(c.names, name) }

// tables reports whether there is anything that holds rows or keys, other than logs.
func (c *contents) tables() bool {
	return len(c.runs) > 0 || slices.ContainsFunc(c.names, func(name string) bool {
		return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
	})
}

// missing returns an error that names what a store needs and the directory lacks.
func (c *contents) missing(what ...string) error {
	return fmt.Errorf("%w: the directory has files of a store and lacks %s; nothing was changed: "+
		"put back what is missing, restore a copy of the directory, or import an export", store.ErrCorrupt, strings.Join(what, " and "))
}

// lacks returns what Pebble needs to find its tables.
func (c *contents) lacks() (what []string) {
	if c.manifest == "" {
		what = append(what, "marker.manifest.* (an empty file)")
	} else if !c.has(c.manifest) {
		what = append(what, c.manifest)
	}
	if !c.format {
		what = append(what, "marker.format-version.* (an empty file)")
	}
	return what
}

// examine returns the note of the store in a directory, nil if there is nothing. The note of a store that has
// none is its format alone. It changes nothing.
func examine(dir string, opt *Options) (*note, error) {
	c, err := list(opt.FS, dir)
	if err != nil {
		return nil, err
	}
	n, err := readNote(opt.FS, dir)
	switch {
	case err != nil:
		return nil, err
	case n == nil && len(c.names) == 0 && len(c.runs) == 0:
		return nil, nil
	case n == nil:
		return c.unnoted(opt)
	case n.creating && (c.manifest != "" || !c.tables()), n.format > opt.format:
		return n, nil
	}
	if what := c.lacks(); len(what) > 0 {
		return nil, c.missing(what...)
	}
	if foreignFormat(dir, opt.FS) { // which Pebble refuses
		return n, nil
	}
	return n, c.check(n)
}

// unnoted judges the files of a store that has no note.
func (c *contents) unnoted(opt *Options) (*note, error) {
	if c.has("CURRENT") {
		return nil, fault.As(store.ErrFormat, "the directory has a database of another program")
	}
	what := c.lacks()
	if c.manifest == "" || !c.has(c.manifest) {
		return nil, c.missing(append(what, noteName)...)
	}
	look := *opt
	look.Mode = OpenReadOnly
	db, err := openPebble(c.dir, look, newHealth(), nil)
	if err != nil {
		return nil, err
	}
	format, err := formatOf(db)
	if err = errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	if format == 0 || format > unnotedFormat {
		return nil, fmt.Errorf("%w: %w", c.missing(append(what, noteName)...), errNote)
	}
	return &note{format: format}, nil
}

// unnotedFormat is the last format without a note.
const unnotedFormat = 3

// errNote is the advice if only the note is damaged.
var errNote = fault.As(store.ErrCorrupt, "or open the store with OpenRepair (firstseen verify --repair), which makes the file again")

// otherNames are the other files that this package makes, temporarily or for people to look at.
var otherNames = regexp.MustCompile(`^(LOCK|repair\.tmp|damaged-[0-9]+\.log|[0-9]+\.dbtmp|temporary\..+)$`)

// IsFile reports whether a path in the directory of a store names a file of the store.
func IsFile(path string) bool {
	if run, ok := strings.CutPrefix(path, "runs/"); ok {
		return runName.MatchString(run)
	}
	return storeNames.MatchString(path) || otherNames.MatchString(path) || path == noteName || path == noteTemp || path == "probe"
}

// Remove removes a directory that was to become a store, with the files of a store and others whose paths in
// it are given. If it contains anything else, it is left as it is, and the error names that file. It may be missing.
func Remove(dir string, besides ...string) error { return removeStore(vfs.Default, dir, besides...) }

func removeStore(fs vfs.FS, dir string, besides ...string) error {
	info, err := fs.Stat(dir)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if foreign, err := foreignIn(fs, dir, "", info, besides); err != nil || foreign != "" {
		return cmp.Or(err, fault.As(store.ErrInvalid, "cannot remove %s: firstseen did not make %s; move it away", dir, foreign))
	}
	return fs.RemoveAll(dir)
}

// foreignIn returns the path of something in a directory that no store has, "" if there is nothing.
func foreignIn(fs vfs.FS, dir, below string, info vfs.FileInfo, besides []string) (string, error) {
	if !info.IsDir() {
		return dir, nil
	}
	names, err := fs.List(dir)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		path := fs.PathJoin(dir, name)
		info, err := fs.Stat(path)
		switch {
		case isMissing(err):
			return path, nil // a link to nothing
		case err != nil:
			return "", err
		case info.IsDir() && below == "" && (name == "runs" || slices.ContainsFunc(besides, func(b string) bool { return fs.PathDir(b) == name })):
			if foreign, err := foreignIn(fs, path, name, info, besides); err != nil || foreign != "" {
				return foreign, err
			}
		case info.IsDir():
			return path, nil
		case !IsFile(fs.PathJoin(below, name)) && !slices.Contains(besides, fs.PathJoin(below, name)):
			return path, nil
		}
	}
	return "", nil
}

// noteOf makes a note for a directory without one, from its files.
func noteOf(c *contents, format uint32) (*note, error) {
	if what := c.lacks(); len(what) > 0 {
		return nil, c.missing(what...)
	}
	n := &note{format: format}
	m, err := readManifest(c.fs, c.dir, c.manifest)
	if err != nil {
		return nil, err
	}
	n.manifest = m.manifestNote
	for _, name := range c.names {
		num := logNumber(name)
		if num == 0 || num < m.minLog {
			continue
		}
		s, err := scanLog(c.fs, c.dir, num)
		if err != nil {
			return nil, err
		}
		n.logs = append(n.logs, logNote{num, max(s.first, n.acked+1)})
		n.acked = max(n.acked, s.last)
	}
	return n, nil
}

// manifest holds the parts of a manifest that are used.
type manifest struct {
	manifestNote        // all of it that is whole
	minLog       uint64 // the first log that is needed
	text         []byte
}

// Tags of the fields that come first in an edit of a manifest.
const (
	tagComparer = 1
	tagMinLog   = 2
)

// readManifest reads a manifest up to its end or the first damage.
func readManifest(fs vfs.FS, dir, name string) (m manifest, err error) {
	if m.manifestNote = manifestOf(name); m.num == 0 {
		return m, fmt.Errorf("the marker names no manifest, but %q: %w", name, store.ErrCorrupt)
	}
	if m.text, err = readFile(fs, fs.PathJoin(dir, name)); err != nil {
		return m, err
	}
	r := record.NewReader(bytes.NewReader(m.text), 0)
	for {
		next, err := r.Next()
		if err != nil {
			break // as Pebble does
		}
		edit, err := io.ReadAll(next)
		if err != nil {
			break
		}
		m.length = r.Offset()
		tag, k := binary.Uvarint(edit)
		if tag == tagComparer && k > 0 {
			length, k2 := binary.Uvarint(edit[k:])
			edit = edit[min(uint64(len(edit)), uint64(k+max(0, k2))+min(length, uint64(len(edit)))):]
			tag, k = binary.Uvarint(edit)
		}
		if tag == tagMinLog && k > 0 {
			m.minLog, _ = binary.Uvarint(edit[k:])
		}
	}
	m.sum = crc32.Checksum(m.text[:m.length], castagnoli)
	return m, nil
}

// check compares the directory with the note.
func (c *contents) check(n *note) error {
	m, err := readManifest(c.fs, c.dir, c.manifest)
	if err != nil {
		return err
	}
	switch was := &n.manifest; {
	case m.num < was.num:
		return c.missing(fmt.Sprintf("MANIFEST-%06d, which was in use: the marker names an older one", was.num))
	case m.num > was.num: // begun since the note was written
	case m.length < was.length || crc32.Checksum(m.text[:was.length], castagnoli) != was.sum:
		return fmt.Errorf("%w: %s is damaged or an older copy: %d of its bytes are whole, and %d were synced; nothing was changed: "+
			"restore a copy of the directory or import an export", store.ErrCorrupt, c.fs.PathJoin(c.dir, c.manifest), m.length, was.length)
	}
	for _, r := range n.runs {
		if err := c.checkRun(r); err != nil {
			return err
		}
	}
	d, err := c.checkLogs(n, m.minLog)
	if err == nil && d != nil {
		err = fault.As(store.ErrCorrupt, "%w", d)
	}
	return err
}

// checkRun looks whether a run file is there, and is that file.
func (c *contents) checkRun(r runNote) error {
	if !slices.Contains(c.runs, r.name) {
		return c.missing(c.fs.PathJoin("runs", r.name))
	}
	id, err := runfile.ParseName(r.name)
	if err != nil {
		return err
	}
	f, err := runfile.Open(c.fs, c.fs.PathJoin(c.dir, "runs"), id)
	if err != nil {
		return err
	}
	defer f.Release()
	if f.Bytes() != r.bytes {
		return fmt.Errorf("file %s has %d bytes, and had %d: %w", f.Path(), f.Bytes(), r.bytes, runfile.ErrDamaged)
	}
	return nil
}

// The note lists what the directory must have. Pebble cannot tell a whole store from a part of one: without the
// empty file that names its manifest it makes a new database, and removes the files of the old one; without its
// last log it opens the state in the tables. The note is a file of its own, with a checksum, and it is
// replaced by a rename:
//
//	firstseen store, format 4
//	creating                             until the store is complete for the first time
//	manifest 000005 1234 0a1b2c3d        its number, and the length and CRC-32C of what was synced
//	log 000004 from 1                    each log, with the first change that it can have
//	log 000009 from 5120
//	run 5fa7…a014.run 8896               each run file that a row named, until it is removed, and its length
//	acknowledged 6000                    the number of a change that was acknowledged
//	crc32c 9f8e7d6c                      of the lines before
//
// It is written, durably, before anything else in a new directory; when a log is begun, before its first
// record; before a log or a run file is removed; and within a second of an acknowledged change. So an idle
// store has nothing that could be lost unnoticed.
const (
	noteName = "firstseen.store"
	noteTemp = "firstseen.store.tmp"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// note is the content of the note.
type note struct {
	format   uint32
	creating bool
	manifest manifestNote
	logs     []logNote // ascending
	runs     []runNote // in order of name
	acked    uint64
}

// manifestNote is the part of a manifest that is known to be on the disk.
type manifestNote struct {
	num    uint64
	length int64
	sum    uint32
}

// logNote is a log.
type logNote struct{ num, from uint64 }

// runNote is a run file.
type runNote struct {
	name  string
	bytes int64
}

func noteOfRun(f *runfile.File) runNote { return runNote{f.ID().Name(), f.Bytes()} }

func (r runNote) compare(o runNote) int { return strings.Compare(r.name, o.name) }

func (n *note) append(dst []byte) []byte {
	dst = fmt.Appendf(dst, "firstseen store, format %d\n", n.format)
	if n.creating {
		dst = append(dst, "creating\n"...)
	}
	if n.manifest.num > 0 {
		dst = fmt.Appendf(dst, "manifest %06d %d %08x\n", n.manifest.num, n.manifest.length, n.manifest.sum)
	}
	for _, l := range n.logs {
		dst = fmt.Appendf(dst, "log %06d from %d\n", l.num, l.from)
	}
	for _, r := range n.runs {
		dst = fmt.Appendf(dst, "run %s %d\n", r.name, r.bytes)
	}
	dst = fmt.Appendf(dst, "acknowledged %d\n", n.acked)
	return fmt.Appendf(dst, "crc32c %08x\n", crc32.Checksum(dst, castagnoli))
}

// parseNote is the inverse. Only what append returns is a note.
func parseNote(text []byte) (*note, error) {
	n := &note{}
	for line := range bytes.Lines(text) {
		s := string(line)
		var l logNote
		var run runNote
		switch m := &n.manifest; {
		case scans(s, "firstseen store, format %d\n", &n.format), scans(s, "acknowledged %d\n", &n.acked):
		case scans(s, "manifest %d %d %x\n", &m.num, &m.length, &m.sum):
		case scans(s, "log %d from %d\n", &l.num, &l.from):
			n.logs = append(n.logs, l)
		case scans(s, "run %s %d\n", &run.name, &run.bytes):
			n.runs = append(n.runs, run)
		case s == "creating\n":
			n.creating = true
		}
	}
	if !bytes.Equal(n.append(nil), text) {
		return nil, errors.New("its checksum or its form is wrong")
	}
	return n, nil
}

func scans(line, format string, to ...any) bool {
	n, err := fmt.Sscanf(line, format, to...)
	return err == nil && n == len(to)
}

// readNote reads the note of a directory; nil if it has none.
func readNote(fs vfs.FS, dir string) (*note, error) {
	path := fs.PathJoin(dir, noteName)
	text, err := readFile(fs, path)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n, err := parseNote(text)
	if err != nil {
		return nil, fmt.Errorf("%s is damaged (%w); nothing was changed: put it back, %w", path, err, errNote)
	}
	return n, nil
}

func readFile(fs vfs.FS, path string) (text []byte, err error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(f)
}

// writeNote replaces the note of a directory, durably.
func writeNote(fs vfs.FS, dir string, text []byte) error {
	temp := fs.PathJoin(dir, noteTemp)
	f, err := fs.Create(temp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := fs.Rename(temp, fs.PathJoin(dir, noteName)); err != nil {
		return err
	}
	return syncDir(fs, dir)
}

// noteKeeper keeps the note of an open store. watchFS reports logs and manifests to it, the committer and the
// answerer report changes.
type noteKeeper struct {
	fs  vfs.FS
	dir string
	// written is the last change that has a number, acked the last that is durable, and newest the number of
	// the log that Pebble writes to.
	written, acked, newest atomic.Uint64

	mu  sync.Mutex // held while the note is written; guards what follows
	now note
	on  []byte // the disk
}

// newNoteKeeper returns the keeper of a note that is on the disk.
func newNoteKeeper(fs vfs.FS, dir string, n *note) *noteKeeper {
	k := &noteKeeper{fs: fs, dir: dir, now: *n, on: n.append(nil)}
	k.written.Store(n.acked)
	k.acked.Store(n.acked)
	return k
}

// write writes the note if it has changed.
func (k *noteKeeper) write() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.writeLocked()
}

func (k *noteKeeper) writeLocked() error {
	k.now.acked = k.acked.Load()
	text := k.now.append(nil)
	if bytes.Equal(text, k.on) {
		return nil
	}
	if err := writeNote(k.fs, k.dir, text); err != nil {
		return fmt.Errorf("cannot write %s: %w", k.fs.PathJoin(k.dir, noteName), err)
	}
	k.on = text
	return nil
}

// complete notes that the store is whole, with these run files.
func (k *noteKeeper) complete(runs []runNote) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now.creating, k.now.runs = false, runs
	return k.writeLocked()
}

// hasRun notes a run file that a row names, durably.
func (k *noteKeeper) hasRun(f *runfile.File) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := noteOfRun(f)
	if i, found := slices.BinarySearchFunc(k.now.runs, r, runNote.compare); !found {
		k.now.runs = slices.Insert(k.now.runs, i, r)
	}
}

// removingRuns notes that run files will be removed.
func (k *noteKeeper) removingRuns(gone func(name string) bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now.runs = slices.DeleteFunc(k.now.runs, func(r runNote) bool { return gone(r.name) })
	return k.writeLocked()
}

// began notes that a log was begun. Its name is made durable first: a note must not name a log that a
// power cut took away.
func (k *noteKeeper) began(num uint64) error {
	if err := syncDir(k.fs, k.dir); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now.logs = append(k.now.logs, logNote{num, k.written.Load() + 1})
	k.newest.Store(num)
	return k.writeLocked()
}

// removing notes that a log will be removed: by its manifest, Pebble no longer needs it, and the note must
// have that manifest first.
func (k *noteKeeper) removing(num uint64) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.writeLocked(); err != nil {
		return err
	}
	k.now.logs = slices.DeleteFunc(k.now.logs, func(l logNote) bool { return l.num == num })
	return nil
}

// synced notes how much of a manifest is on the disk.
func (k *noteKeeper) synced(m manifestNote) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if m.num >= k.now.manifest.num {
		k.now.manifest = m
	}
}

// begins corrects the first change that the logs after one can have.
func (k *noteKeeper) begins(after, from uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.now.logs {
		if l := &k.now.logs[i]; l.num > after {
			l.from = from
		}
	}
}

// logName returns the name of a log, and logNumber its number, 0 if the name is of another file.
func logName(num uint64) string { return fmt.Sprintf("%06d.log", num) }

func logNumber(name string) uint64 {
	digits, ok := strings.CutSuffix(name, ".log")
	num, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil || logName(num) != name {
		return 0
	}
	return num
}

// noteEvery is how old the note gets, at most, while changes are acknowledged.
const noteEvery = time.Second

// keepNote writes the note whenever something changed.
func (s *Store) keepNote() {
	tick := time.NewTicker(noteEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.closing:
			return
		case <-s.dead:
			return
		case <-tick.C:
		}
		if err := s.note.write(); err != nil {
			s.die(err)
		}
	}
}
