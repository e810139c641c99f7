package server

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// diskGate refuses writes while the disk has too little room. An engine that
// meets a full disk in the middle of a commit must be opened again; this keeps
// it from ever getting there. Safe for concurrent use.
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
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		g.look()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
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

// errDiskLow is what a write gets while the disk has too little room.
var errDiskLow = status.Error(codes.ResourceExhausted, "cannot write; less of the disk is free than --min-free of the daemon requires; free space on it, and send this again")

// roomFor returns errDiskLow when n URLs can't be written now, and counts them.
func (s *service) roomFor(n int) error {
	if n == 0 || !s.disk.full() {
		return nil
	}
	s.count.failed.Add(float64(n))
	return errDiskLow
}
