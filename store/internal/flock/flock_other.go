//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package flock

import (
	"errors"
	"io"
)

func Lock(uintptr) error { return errors.ErrUnsupported }

func Unlock(uintptr) error { return nil }

func Dir(string) (io.Closer, error) { return io.NopCloser(nil), nil }
