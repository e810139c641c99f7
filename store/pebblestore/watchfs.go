package pebblestore

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// watchFS is the file system under Pebble. It does two things:
//
// When a log can't be written or a directory not be synced, Pebble may panic
// with its locks in disorder, which ends the process. Here such an error ends
// the store: it is dead, and the goroutine that met it is parked.
//
// A dead store can't be closed in Pebble, whose goroutines may still run. The
// fence parks each of them at its next change of the disk and closes their files, so
// that the directory can be opened again.
type watchFS struct {
	vfs.FS
	h *health

	mu     sync.RWMutex // held for reading during each change
	fenced bool

	files sync.Mutex // guards open
	open  map[*watchFile]struct{}

	dir      string // of the store: files elsewhere, as of a backup, it can do without
	readOnly bool
	lock     io.Closer
}

// newWatchFS returns the file system for the store in a directory.
func newWatchFS(dir string, opt Options) *watchFS {
	return &watchFS{FS: opt.FS, h: newHealth(), dir: dir, readOnly: opt.Mode == OpenReadOnly, open: map[*watchFile]struct{}{}}
}

// fence waits for the changes in progress, closes all files and releases the lock; later
// changes never return.
func (fs *watchFS) fence() error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.fenced = true
	fs.files.Lock()
	defer fs.files.Unlock()
	for f := range fs.open {
		if f.Fd() != vfs.InvalidFd { // a file without a descriptor must not be read after that
			_ = f.File.Close() // unsynced writes are lost anyway
		}
	}
	clear(fs.open)
	if fs.lock == nil {
		return nil
	}
	return fs.lock.Close()
}

// watched returns the file of f, to be closed by the fence at the latest.
func (fs *watchFS) watched(f *watchFile) *watchFile {
	f.fs = fs
	fs.files.Lock()
	defer fs.files.Unlock()
	fs.open[f] = struct{}{}
	return f
}

// Open implements vfs.FS.
func (fs *watchFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := fs.FS.Open(name)
	if err != nil {
		return nil, err
	}
	w := fs.watched(&watchFile{File: f, do: fs.change})
	for _, o := range opts {
		o.Apply(w)
	}
	return w, nil
}

// change makes a change of the disk.
func (fs *watchFS) change(f func() error) error {
	fs.mu.RLock()
	if fs.fenced {
		fs.mu.RUnlock()
		select {}
	}
	defer fs.mu.RUnlock()
	return f()
}

// vital is change for what Pebble can't do without. During Open, attempt returns the error.
func (fs *watchFS) vital(f func() error) error {
	err := fs.change(f)
	if err != nil {
		fs.h.die(fmt.Errorf("cannot write the log or sync a directory: %w", err))
		select {}
	}
	return err
}

func isLog(name string) bool { return strings.HasSuffix(name, ".log") }

// isOurs reports whether a directory is that of the store.
func (fs *watchFS) isOurs(dir string) bool { return fs.PathJoin(dir, "x") == fs.PathJoin(fs.dir, "x") }

// create makes a file by f, watched.
func (fs *watchFS) create(name string, f func() (vfs.File, error)) (file vfs.File, err error) {
	do, log := fs.change, isLog(name) && fs.isOurs(fs.PathDir(name))
	if log {
		do = fs.vital
	}
	err = do(func() (err error) {
		file, err = f()
		return err
	})
	if err != nil {
		return nil, err
	}
	return fs.watched(&watchFile{File: file, do: do, log: log}), nil
}

// Create implements vfs.FS. Pebble makes the manifest and then the marker that
// names it, and syncs the directory once, after both. A file system that keeps
// its directories in order, as journals do, never has the marker alone after a
// power cut, but POSIX allows it: so the directory is synced before a marker is made.
func (fs *watchFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(fs.PathBase(name), "marker.") {
		if err := syncDir(fs, fs.PathDir(name)); err != nil {
			return nil, err
		}
	}
	return fs.create(name, func() (vfs.File, error) { return fs.FS.Create(name, c) })
}

// ReuseForWrite implements vfs.FS.
func (fs *watchFS) ReuseForWrite(oldName, newName string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return fs.create(newName, func() (vfs.File, error) { return fs.FS.ReuseForWrite(oldName, newName, c) })
}

// OpenReadWrite implements vfs.FS.
func (fs *watchFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return fs.create(name, func() (vfs.File, error) { return fs.FS.OpenReadWrite(name, c, opts...) })
}

// OpenDir implements vfs.FS.
func (fs *watchFS) OpenDir(name string) (vfs.File, error) {
	f, err := fs.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	do := fs.change
	if fs.isOurs(name) {
		do = fs.vital
	}
	return fs.watched(&watchFile{File: f, do: do}), nil
}

// Link implements vfs.FS.
func (fs *watchFS) Link(oldName, newName string) error {
	return fs.change(func() error { return fs.FS.Link(oldName, newName) })
}

// Remove implements vfs.FS.
func (fs *watchFS) Remove(name string) error {
	return fs.change(func() error { return fs.FS.Remove(name) })
}

// RemoveAll implements vfs.FS.
func (fs *watchFS) RemoveAll(name string) error {
	return fs.change(func() error { return fs.FS.RemoveAll(name) })
}

// Rename implements vfs.FS.
func (fs *watchFS) Rename(oldName, newName string) error {
	return fs.change(func() error { return fs.FS.Rename(oldName, newName) })
}

// Lock implements vfs.FS. Where nothing can be written, reading needs no lock.
func (fs *watchFS) Lock(name string) (io.Closer, error) {
	c, err := fs.FS.Lock(name)
	if err != nil && fs.readOnly && errors.Is(err, syscall.EROFS) {
		return noLock{}, nil
	}
	if err != nil {
		return nil, err
	}
	fs.lock = &dirLock{Closer: c}
	return fs.lock, nil
}

// dirLock is given back once: Pebble and the fence may both do so, and by the second
// time another may have it.
type dirLock struct {
	io.Closer
	once sync.Once
	err  error
}

func (l *dirLock) Close() error {
	l.once.Do(func() { l.err = l.Closer.Close() })
	return l.err
}

type noLock struct{}

func (noLock) Close() error { return nil }

// Unwrap implements vfs.FS.
func (fs *watchFS) Unwrap() vfs.FS { return fs.FS }

// watchFile is a file or directory that is written through its watchFS.
//
// Its writers yield. A flush would keep its processor for ten milliseconds at a time,
// and callers wait for less than one: it yields after each block. The log's goroutine
// yields before its sync, which would hold the processor until the runtime notices.
type watchFile struct {
	vfs.File
	fs  *watchFS
	do  func(func() error) error
	log bool
}

// Close implements vfs.File. The fence may have closed the file.
func (f *watchFile) Close() error {
	f.fs.files.Lock()
	_, open := f.fs.open[f]
	delete(f.fs.open, f)
	f.fs.files.Unlock()
	if !open {
		return nil
	}
	return f.File.Close()
}

// Preallocate implements vfs.File.
func (f *watchFile) Preallocate(offset, length int64) error {
	return f.fs.change(func() error { return f.File.Preallocate(offset, length) })
}

// Write implements vfs.File.
func (f *watchFile) Write(p []byte) (n int, err error) {
	err = f.do(func() (err error) {
		n, err = f.File.Write(p)
		return err
	})
	if !f.log {
		runtime.Gosched()
	}
	return n, err
}

// WriteAt implements vfs.File.
func (f *watchFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.do(func() (err error) {
		n, err = f.File.WriteAt(p, off)
		return err
	})
	return n, err
}

// Sync implements vfs.File.
func (f *watchFile) Sync() error { return f.do(f.File.Sync) }

// SyncData implements vfs.File.
func (f *watchFile) SyncData() error {
	runtime.Gosched()
	return f.do(f.File.SyncData)
}

// SyncTo implements vfs.File.
func (f *watchFile) SyncTo(length int64) (full bool, err error) {
	err = f.do(func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}
