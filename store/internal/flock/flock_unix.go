//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

// Package flock locks directories.
package flock

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/firstseen/firstseen/store"
)

// Lock locks an open directory, or file, until it is closed or the process ends. The lock is that of the
// directory itself, not of a name in it: nobody can take it away by removing a file. The error is
// store.ErrLocked if it is locked already, also by this process, and errors.ErrUnsupported where the system cannot
// lock directories.
func Lock(fd uintptr) error {
	err := unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return store.ErrLocked
	case errors.Is(err, unix.EBADF), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOLCK):
		return errors.ErrUnsupported // as on NFS, which locks only files that are open for writing
	}
	return err
}

// Unlock releases the lock of Lock. To close the file is not enough: a process that was forked at that moment, to run
// another program, has the file as well until it does.
func Unlock(fd uintptr) error { return unix.Flock(int(fd), unix.LOCK_UN) }

// lockedDir is a directory that is unlocked when it is closed.
type lockedDir struct{ *os.File }

func (d lockedDir) Close() error { return errors.Join(Unlock(d.Fd()), d.File.Close()) }

// Dir opens and locks a directory until it is closed. Where that is not supported, it is open and not locked.
func Dir(name string) (io.Closer, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if err := Lock(f.Fd()); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, errors.Join(fmt.Errorf("cannot lock %s: %w", name, err), f.Close())
	}
	return lockedDir{f}, nil
}
