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

// lookEvery is how often an idle server looks whether its store failed.
const lookEvery = time.Second

// watchStore looks until ctx ends or the store failed.
func (s *Server) watchStore(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.store.look:
		}
		if _, err := s.f.Stats(ctx, "*"); errors.Is(err, store.ErrFailed) {
			err = fmt.Errorf("cannot serve any longer; what was acknowledged is safe; mend the disk or free space on it, and start again: %w", err)
			s.store.err.Store(&err)
			close(s.store.failed)
			return
		}
	}
}
