//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package osfile

import "errors"

const Random = -1

func mapFile(uintptr, int64) ([]byte, error) { return nil, errors.ErrUnsupported }

func MapMemory(n int) []byte { return make([]byte, n) }

func Unmap([]byte) {}

func Advise([]byte, int) {}

func WillNeed([]byte, int64, int64) {}

func lock(uintptr) error { return errors.ErrUnsupported }

func unlock(uintptr) error { return nil }
