package pebblestore

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// health notices that the disk fails, of which Pebble returns no error to callers that
// wait for it:
//
//   - a log that can't be written: see watchFS;
//   - a manifest that can't: Pebble calls Fatalf, whose goroutine may hold Pebble's
//     locks and is parked;
//   - tables that can't: Pebble tries again for ever, while writers wait for
//     room. After some failures in a row it is enough.
//
// The store is dead then: every call returns ErrFailed. The committer may wait in Pebble
// for ever, holding Store.mu: so all others take that lock with rlock or lock. Close puts
// up the fence of watchFS instead of closing Pebble.
type health struct {
	failed atomic.Pointer[error]
	dead   chan struct{} // closed when no goroutine may wait for Pebble any more
	once   sync.Once
	waits  atomic.Int64 // how often a goroutine began to wait until dead; for tests
	misses atomic.Int64 // background failures in a row

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
	if p := h.failed.Load(); p != nil {
		return *p
	}
	return nil
}

// die makes err the answer to every call from now on, and releases the goroutines that
// wait.
func (h *health) die(err error) {
	wrapped := fault.As(store.ErrFailed, "the store failed; open it again when the disk can be written: %w", err)
	h.failed.CompareAndSwap(nil, &wrapped)
	h.once.Do(func() { close(h.dead) })
}

func (h *health) isDead() bool { return async.Closed(h.dead) }

// unlessDead runs f, which may wait for Pebble, in a goroutine of its own. It is left
// to itself when the store dies.
func (h *health) unlessDead(f func() error) error {
	done := make(chan error, 1)
	h.waits.Add(1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-h.dead:
		return h.failure()
	}
}

// closeAll closes iterators that others than the committer read: the last reader of
// what Pebble has replaced waits for its lock.
func (h *health) closeAll(its ...*pebble.Iterator) error {
	if len(its) == 0 {
		return nil
	}
	return h.unlessDead(func() (err error) {
		for _, it := range its {
			err = errors.Join(err, it.Close())
		}
		return err
	})
}

// attempt is unlessDead for what writes while there is no committer. If Pebble
// panics, the store is dead: no other call of Pebble is safe then.
func (h *health) attempt(f func() error) error {
	return h.unlessDead(func() (err error) {
		panicked := guard(func() error {
			err = f()
			return nil
		})
		if panicked != nil {
			h.die(panicked)
			return h.failure()
		}
		return err
	})
}

// acquire takes a lock that a goroutine in Pebble may hold, unless the store dies.
func (h *health) acquire(try func() bool, lock, unlock func()) error {
	if h.isDead() {
		return h.failure()
	}
	if try() {
		return nil
	}
	got := make(chan struct{})
	h.waits.Add(1)
	go func() {
		lock()
		select {
		case got <- struct{}{}:
		case <-h.dead:
			unlock()
		}
	}()
	select {
	case <-got:
		return nil
	case <-h.dead:
		return h.failure()
	}
}

// pebbleLog is the pebble.Logger. Its methods are not those of health, or Store, which
// embeds that, would have them, too.
type pebbleLog struct{ h *health }

// Infof and Errorf drop Pebble's talk.
func (pebbleLog) Infof(string, ...any)  {}
func (pebbleLog) Errorf(string, ...any) {}

// Fatalf doesn't return.
func (l pebbleLog) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	for _, arg := range args {
		if cause, ok := arg.(error); ok {
			err = fmt.Errorf("%s: %w", strings.TrimSuffix(err.Error(), ": "+cause.Error()), cause)
		}
	}
	l.h.die(err)
	select {}
}

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
		BackgroundError: func(error) {
			select {
			case <-time.After(retryPause):
			case <-h.dead:
			}
			if h.isDead() { // its files are closed, or will be: Pebble would try again for ever
				select {}
			}
		},
		WriteStallBegin: func(pebble.WriteStallBeginInfo) { h.stalls.begin() },
		WriteStallEnd:   h.stalls.end,
		DataCorruption:  func(pebble.DataCorruptionInfo) {}, // the read that met it returns it
		FlushEnd:        func(i pebble.FlushInfo) { wrote(i.Err) },
		CompactionEnd:   func(i pebble.CompactionInfo) { wrote(i.Err) },
	}
}
