package osfile

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Lock locks an open directory, or file, until the closer that it returns is called, which closes it as well, or the process
// ends. It locks the directory itself, not a file in it, so removing a file does not release it.
//
// The error is store.ErrLocked if it is locked already, also by this process, and errors.ErrUnsupported where the system
// cannot lock directories. After an error f is closed.
func Lock(f interface {
	io.Closer
	Fd() uintptr
}) (io.Closer, error) {
	if err := lock(f.Fd()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	// To close the file is not enough: a process that was forked at that moment, to run another program, has the file as well
	// until it does.
	return closer(func() error { return errors.Join(unlock(f.Fd()), f.Close()) }), nil
}

type closer func() error

func (c closer) Close() error { return c() }

// LockDir opens and locks a directory until it is closed. Where that is not supported, it is not locked.
func LockDir(name string) (io.Closer, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	held, err := Lock(f)
	if errors.Is(err, errors.ErrUnsupported) {
		return io.NopCloser(nil), nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot lock %s: %w", name, err)
	}
	return held, nil
}
