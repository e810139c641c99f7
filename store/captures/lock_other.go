//go:build !unix

package captures

import (
	"io"
	"os"
)

// lockFile opens a file. On this system it keeps no other process away: do not open a sample
// twice.
func lockFile(name string) (io.Closer, error) { return os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644) }
