//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package seenindex

func mapMemory(n int) []byte { return make([]byte, n) }

func unmapMemory([]byte) {}
