//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package runfile

const adviceCold = -1 // there is none
