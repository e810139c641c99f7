package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/store"
)

// storeWatch notices that the store failed: then each of its calls, reads too, returns
// store.ErrFailed until it is opened again, which takes another process.
type storeWatch struct {
	failed chan struct{} // closed once err is set
	err    atomic.Pointer[error]
	last   atomic.Pointer[error] // what the last look found
}

func newStoreWatch() *storeWatch {
	return &storeWatch{failed: make(chan struct{})}
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

// lookEvery is how often a server looks whether its store failed.
const lookEvery = time.Second

// lookTimeout is how long the store has to answer a look.
const lookTimeout = 5 * time.Second

// watchStore looks until ctx ends or the store failed.
func (s *service) watchStore(ctx context.Context) {
	for async.Sleep(ctx, lookEvery) == nil {
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

// diskGate refuses writes while the disk has too little room. An engine that
// meets a full disk in the middle of a commit must be opened again; this keeps
// it from getting there, unless another process fills the disk between two looks. Safe for concurrent use.
type diskGate struct {
	free    func() (int64, error)
	minFree int64
	log     *slog.Logger
	low     atomic.Bool
	last    atomic.Int64 // free bytes at the last look
}

// newDiskGate watches the disk of a directory; with none, or without a least
// amount, the gate is always open.
func newDiskGate(dir string, minFree int64, log *slog.Logger) *diskGate {
	g := &diskGate{minFree: minFree, log: log}
	if dir != "" && minFree > 0 {
		g.free = func() (int64, error) { return freeBytes(dir) }
	}
	return g
}

// watch looks every second until ctx ends.
func (g *diskGate) watch(ctx context.Context) {
	if g.free == nil {
		return
	}
	for more := true; more; more = async.Sleep(ctx, time.Second) == nil {
		g.look()
	}
}

// look shuts the gate below the least amount and opens it a tenth above, so
// that it doesn't flutter. A disk that can't be asked changes nothing.
func (g *diskGate) look() {
	free, err := g.free()
	if err != nil {
		g.log.Error("cannot measure the free space of the disk", "error", err)
		return
	}
	g.last.Store(free)
	switch low := g.low.Load(); {
	case !low && free < g.minFree:
		g.low.Store(true)
		g.log.Error("the disk is nearly full: writes, leases and settlements are refused until a tenth more than --min-free is free", "free", free, "min_free", g.minFree)
	case low && free >= g.minFree+g.minFree/10:
		g.low.Store(false)
		g.log.Info("the disk has room again: writes are accepted", "free", free)
	}
}

func (g *diskGate) full() bool { return g.low.Load() }

const diskLow = "writes, leases and results are refused: less of the disk is free than --min-free"

// errDiskLow is what a write gets while the disk has too little room.
var errDiskLow = status.Error(codes.ResourceExhausted, "cannot write; less of the disk is free than --min-free of the daemon requires; free space on it, and send this again")

// room returns errDiskLow when nothing can be written now.
func (s *service) room() error {
	if s.disk.full() {
		return errDiskLow
	}
	return nil
}
