//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package flock

import "errors"

func lock(uintptr) error { return errors.ErrUnsupported }

func unlock(uintptr) error { return nil }
