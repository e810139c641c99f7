package pebblestore

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store/internal/runfile"
)

// The note says what the directory must have. Pebble cannot tell a store from the rest of one: without the
// empty file that names its manifest it makes a new database, and removes the files of the old one; without its
// last log it opens what the tables have. The note is a file of its own, with a checksum, and it is
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
// It is written, durably, before anything else in a new directory; when a log is begun, before that has a
// record; before a log or a run file is removed; and within a second of a change that was acknowledged. So an idle
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
func writeNote(fs vfs.FS, dir string, n *note) error {
	temp := fs.PathJoin(dir, noteTemp)
	f, err := fs.Create(temp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(n.append(nil))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := fs.Rename(temp, fs.PathJoin(dir, noteName)); err != nil {
		return err
	}
	return syncDir(fs, dir)
}

// noteKeeper keeps the note of an open store. watchFS tells it of logs and manifests, the committer and the
// answerer of changes.
type noteKeeper struct {
	fs  vfs.FS
	dir string
	// written is the last change that has a number, acked the last that is durable, and newest the number of
	// the log that Pebble writes to.
	written, acked, newest atomic.Uint64

	mu  sync.Mutex // held while the note is written; guards what follows
	now note
	on  note // the disk
}

// newNoteKeeper returns the keeper of a note that is on the disk.
func newNoteKeeper(fs vfs.FS, dir string, n *note) *noteKeeper {
	k := &noteKeeper{fs: fs, dir: dir, now: *n, on: *n}
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
	n := k.now
	if n.manifest == k.on.manifest && n.acked == k.on.acked && n.creating == k.on.creating && slices.Equal(n.logs, k.on.logs) && slices.Equal(n.runs, k.on.runs) {
		return nil
	}
	n.logs, n.runs = slices.Clone(n.logs), slices.Clone(n.runs) // others change them
	if err := writeNote(k.fs, k.dir, &n); err != nil {
		return fmt.Errorf("cannot write %s: %w", k.fs.PathJoin(k.dir, noteName), err)
	}
	k.on = n
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

// removing notes that a log will be removed: Pebble needs it no more by its manifest, which the
// note must have before.
func (k *noteKeeper) removing(num uint64) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now.manifest != k.on.manifest {
		if err := k.writeLocked(); err != nil {
			return err
		}
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

// keepNote writes the note while there is something new.
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
