//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package flock

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/firstseen/firstseen/store"
)

func lock(fd uintptr) error {
	err := unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return store.ErrLocked
	case errors.Is(err, unix.EBADF), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOLCK):
		return errors.ErrUnsupported // as on NFS, which locks only files that are open for writing
	}
	return err
}

func unlock(fd uintptr) error { return unix.Flock(int(fd), unix.LOCK_UN) }
