package pebblestore

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store/internal/flock"
)

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
	dir      string      // of the store: files elsewhere, as of a backup, it can do without
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

// change makes a change of the disk, unless the store has failed or is only read.
func (fs *watchFS) change(n need, f func() error) error {
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
		fs.h.die(fmt.Errorf("cannot write the log or sync a directory: %w", err))
		return nil
	}
	return err
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
	w := &watchFile{File: vfs.NewMemFile(nil), fs: fs, need: fs.need(fs.PathDir(name), c)}
	err := fs.change(w.need, func() error {
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
		return nil, err
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
		if err := fs.change(fs.need(dir, c), func() error { return syncDir(fs.FS, dir) }); err != nil {
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
	return &watchFile{File: f, fs: fs, need: fs.need(name, vfs.WriteCategoryUnspecified)}, nil
}

// Remove implements vfs.FS.
func (fs *watchFS) Remove(name string) error {
	return fs.change(retried, func() error {
		if err := fs.removing(name); err != nil {
			return err
		}
		return fs.FS.Remove(name)
	})
}

// Rename implements vfs.FS. Pebble renames its options during Open, and if it can't leaves goroutines behind that
// end the process.
func (fs *watchFS) Rename(oldName, newName string) error {
	return fs.change(fs.need(fs.PathDir(newName), vfs.WriteCategoryUnspecified), func() error { return fs.FS.Rename(oldName, newName) })
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
	lock, err := flock.Hold(f)
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return lock, err
}

// Unwrap implements vfs.FS.
func (fs *watchFS) Unwrap() vfs.FS { return fs.FS }

// watchFile is a file or directory that is written through its watchFS.
//
// Its writers yield. A flush would keep its processor for ten milliseconds at a time,
// and callers wait for less than one: it yields after each block. The log's goroutine
// yields before its sync, which would hold the processor until the runtime notices.
type watchFile struct {
	vfs.File
	fs   *watchFS
	need need
}

// Write implements vfs.File.
func (f *watchFile) Write(p []byte) (int, error) {
	err := f.fs.change(f.need, func() error {
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

// Stat implements vfs.File. Pebble asks a log that it uses again for its size, and panics if it does not learn it.
func (f *watchFile) Stat() (vfs.FileInfo, error) {
	var info vfs.FileInfo
	err := f.fs.change(f.need, func() (err error) {
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
		f.fs.h.die(fmt.Errorf("cannot close a file: %w", err))
		return nil
	}
	return err
}

// Sync implements vfs.File.
func (f *watchFile) Sync() error { return f.fs.change(f.need, f.File.Sync) }

// SyncData implements vfs.File.
func (f *watchFile) SyncData() error {
	runtime.Gosched()
	return f.fs.change(f.need, f.File.SyncData)
}

// SyncTo implements vfs.File.
func (f *watchFile) SyncTo(length int64) (full bool, err error) {
	err = f.fs.change(f.need, func() (err error) {
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

// Write implements vfs.File. A file system may change p, and one of Pebble does under the race detector. What follows a
// write that failed is not noted.
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
