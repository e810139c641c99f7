//go:build unix

package captures

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/firstseen/firstseen/store"
)

// lockFile locks a file until it is closed or the process ends.
func lockFile(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = store.ErrLocked
		}
		return nil, errors.Join(fmt.Errorf("cannot lock %s: %w", name, err), f.Close())
	}
	return f, nil
}
