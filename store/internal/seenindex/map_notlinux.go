//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package seenindex

func adviseHuge([]byte) {}
