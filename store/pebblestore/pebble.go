package pebblestore

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"github.com/firstseen/firstseen/store"
)

// pebbleOptions are Pebble's options for ours.
func pebbleOptions(opt Options) *pebble.Options {
	o := &pebble.Options{
		FS:                 opt.FS,
		ReadOnly:           opt.ReadOnly,
		ErrorIfNotExists:   opt.MustExist || opt.ReadOnly,
		FormatMajorVersion: pebble.FormatNewest,
		Logger:             logger{},
		MemTableSize:       uint64(opt.MemTableBytes),
		CacheSize:          opt.CacheBytes,
	}
	o.MemTableStopWritesThreshold = 4
	for i := range o.Levels {
		o.TargetFileSizes[i] = opt.TableBytes
		o.Levels[i].BlockSize = 16 << 10
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return o
}

// logger drops Pebble's talk and makes its fatal errors panics, which the
// committer catches.
type logger struct{}

func (logger) Infof(string, ...any)  {}
func (logger) Errorf(string, ...any) {}
func (logger) Fatalf(format string, args ...any) {
	panic(fmt.Errorf(format, args...))
}

// openError says what an error of pebble.Open is in our terms.
func openError(dir string, err error) error {
	switch {
	case errors.Is(err, pebble.ErrDBDoesNotExist):
		return fmt.Errorf("cannot open store %s: %w: %w", dir, store.ErrNotFound, err)
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EACCES), err.Error() == "lock held by current process":
		return fmt.Errorf("cannot open store %s: %w: %w", dir, store.ErrLocked, err)
	case pebble.IsCorruptionError(err):
		return fmt.Errorf("cannot open store %s: %w: %w", dir, store.ErrCorrupt, err)
	}
	return fmt.Errorf("cannot open store %s: %w", dir, err)
}
