package pebblestore

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// health is whether the store has failed: then every call returns ErrFailed. It fails if Pebble
// cannot write the log or manifest (see watchFS), or tables: Pebble writes these again without
// end, while writers wait for room. After some failures in a row it is enough.
type health struct {
	once   sync.Once
	err    error         // why the store has failed
	dead   chan struct{} // closed once err is set
	misses atomic.Int64  // background failures in a row

	// compactions is how many Pebble may run: none while Open loads.
	compactions atomic.Int32

	stalls stalls
}

// maxMisses is how many background failures in a row are one too many.
const maxMisses = 20

// retryPause is the time after which Pebble tries again what failed in the background. Left
// alone, it tries without a pause. A failed flush holds Pebble's lock in the meantime, so the
// pause is short.
const retryPause = 5 * time.Millisecond

func newHealth() *health { return &health{dead: make(chan struct{})} }

// failure returns the first error that die got, or nil.
func (h *health) failure() error {
	if h.isDead() {
		return h.err
	}
	return nil
}

// die makes err the answer to every call, from before it returns.
func (h *health) die(err error) {
	h.once.Do(func() {
		h.err = fault.As(store.ErrFailed, "the store failed; open it again when the disk can be written: %w", err)
		close(h.dead)
	})
}

func (h *health) isDead() bool { return async.Closed(h.dead) }

// rlock takes s.mu for reading, unless the store is not usable: after a failure, the state may be
// ahead of the disk.
func (s *Store) rlock() error { return s.lockUsable(s.mu.RLocker()) }

// lock is rlock for writing, by others than the committer.
func (s *Store) lock() error { return s.lockUsable(&s.mu) }

func (s *Store) lockUsable(mu sync.Locker) error {
	mu.Lock()
	err := s.usable()
	if err != nil {
		mu.Unlock()
	}
	return err
}

// pebbleLog is the pebble.Logger.
type pebbleLog struct{}

// Infof and Errorf drop Pebble's talk.
func (pebbleLog) Infof(string, ...any)  {}
func (pebbleLog) Errorf(string, ...any) {}

// Fatalf must not return. Pebble calls it if its own state is wrong: watchFS does not return
// the errors of the disk for which it would.
func (pebbleLog) Fatalf(format string, args ...any) { panic(fmt.Errorf(format, args...)) }

func (h *health) listener() *pebble.EventListener {
	wrote := func(err error) {
		switch {
		case err == nil:
			h.misses.Store(0)
		case !errors.Is(err, pebble.ErrCancelledCompaction) && h.misses.Add(1) >= maxMisses:
			h.die(fmt.Errorf("cannot write tables, tried %d times: %w", maxMisses, err))
		}
	}
	return &pebble.EventListener{
		BackgroundError: func(error) { time.Sleep(retryPause) },
		WriteStallBegin: func(pebble.WriteStallBeginInfo) { h.stalls.begin() },
		WriteStallEnd:   h.stalls.end,
		DataCorruption:  func(pebble.DataCorruptionInfo) {}, // the read that met it returns it
		FlushEnd:        func(i pebble.FlushInfo) { wrote(i.Err) },
		CompactionEnd:   func(i pebble.CompactionInfo) { wrote(i.Err) },
	}
}
