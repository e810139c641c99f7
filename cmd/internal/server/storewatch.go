package server

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/firstseen/firstseen/store"
)

// storeWatch notices that the store failed: then each of its calls, reads too, returns
// store.ErrFailed until it is opened again, which takes another process.
type storeWatch struct {
	look   chan struct{} // has room for one: a call failed, and so may the store
	failed chan struct{} // closed once err is set
	err    atomic.Pointer[error]
	last   atomic.Pointer[error] // what the last look found
}

func newStoreWatch() *storeWatch {
	return &storeWatch{look: make(chan struct{}, 1), failed: make(chan struct{})}
}

// noticed has the watch look now, if the error may be that of a store that failed.
func (w *storeWatch) noticed(err error) {
	if !errors.Is(err, store.ErrFailed) {
		return
	}
	select {
	case w.look <- struct{}{}:
	default:
	}
}

// failure returns why the store failed, or nil.
func (w *storeWatch) failure() error {
	if p := w.err.Load(); p != nil {
		return *p
	}
	return nil
}

// lastLook returns the error of the last look at the store, nil before the first: probes of
// readiness take it, since each look takes the store's lock and anybody may probe.
func (w *storeWatch) lastLook() error {
	if p := w.last.Load(); p != nil {
		return *p
	}
	return nil
}

// lookEvery is how often an idle server looks whether its store failed.
const lookEvery = time.Second

// lookTimeout is how long the store has to answer a look.
const lookTimeout = 5 * time.Second

// watchStore looks until ctx ends or the store failed.
func (s *service) watchStore(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.store.look:
		}
		err := s.look(ctx)
		s.store.last.Store(&err)
		if errors.Is(err, store.ErrFailed) {
			err = fmt.Errorf("cannot serve any longer; what was acknowledged is safe; repair the disk or free space on it, and start the daemon again: %w", err)
			s.store.err.Store(&err)
			close(s.store.failed)
			return
		}
	}
}

func (s *service) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	done := make(chan error, 1)
	go func() { // a store that fails may hold it up; the next look is answered
		_, err := s.f.own.Stats(ctx, "*")
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
