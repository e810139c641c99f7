package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// isTerminal tells whether a person looks at what is written. /dev/null is a
// character device, too, so the kernel is asked for terminal settings.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
