package pebblestore

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// watchFS is the file system under Pebble, which ends the process if it cannot write a log or
// manifest, or sync a directory. watchFS does not return such an error: it makes the store fail.
// After that it drops all writes and returns no errors, except to compactions, which end with one.
// So no goroutine of Pebble waits for the disk, and Close closes Pebble as usual. The answerer
// checks after each sync whether the store has failed, so no caller takes a dropped write for a
// durable one.
type watchFS struct {
	vfs.FS
	h        *health
	dir      string // of the store: files elsewhere, as of a backup, it can do without
	readOnly bool
}

// need is how much Pebble needs a file or a change of a directory.
type need int

const (
	optional need = iota // an error is returned, also after the store has failed
	retried              // an error is returned, and Pebble tries again
	vital                // the store fails
)

// newWatchFS returns the file system for the store in a directory.
func newWatchFS(dir string, opt Options, h *health) *watchFS {
	return &watchFS{FS: opt.FS, h: h, dir: dir, readOnly: opt.Mode == OpenReadOnly}
}

// change makes a change of the disk, unless the store has failed.
func (fs *watchFS) change(n need, f func() error) error {
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
		if err == nil {
			w.File = file
		}
		return err
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
	return fs.create(name, c, func() (vfs.File, error) { return fs.FS.Create(name, c) })
}

// ReuseForWrite implements vfs.FS.
func (fs *watchFS) ReuseForWrite(oldName, newName string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return fs.create(newName, c, func() (vfs.File, error) { return fs.FS.ReuseForWrite(oldName, newName, c) })
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
	return fs.change(retried, func() error { return fs.FS.Remove(name) })
}

// Rename implements vfs.FS.
func (fs *watchFS) Rename(oldName, newName string) error {
	return fs.change(retried, func() error { return fs.FS.Rename(oldName, newName) })
}

// Lock implements vfs.FS. Where nothing can be written, reading needs no lock.
func (fs *watchFS) Lock(name string) (io.Closer, error) {
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
