//go:build unix

package admit

import (
	"errors"
	"syscall"
)

func setSendBuffer(c syscall.RawConn, n int) error {
	var set error
	err := c.Control(func(fd uintptr) {
		set = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, n)
	})
	return errors.Join(err, set)
}
