//go:build !unix

package server

import (
	"errors"
	"fmt"
)

// freeBytes fails: the gate then stays open, and the log says why.
func freeBytes(dir string) (int64, error) {
	return 0, fmt.Errorf("cannot ask for the free space of %s: %w", dir, errors.ErrUnsupported)
}
