//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package mmap

import "errors"

const Random = -1

func File(uintptr, int64) ([]byte, error) { return nil, errors.ErrUnsupported }

func Memory(n int) []byte { return make([]byte, n) }

func Unmap([]byte) {}

func Advise([]byte, int) {}

func WillNeed([]byte, int64, int64) {}
