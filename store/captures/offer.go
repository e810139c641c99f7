package captures

import (
	"fmt"
	"sync/atomic"
)

// waiting is how many offers wait for the disk.
const waiting = 4096

// Offer is Add for those who may not wait: it never does. A capture that finds no room, or
// a disk that failed, is dropped and counted ([Stats]). The sample must not be closed.
func (s *Sample) Offer(all ...Capture) {
	for _, c := range all {
		select {
		case s.offers <- c:
		default:
			s.dropped.Add(1)
		}
	}
}

func (s *Sample) takeOffers() {
	defer close(s.stopped)
	for c := range s.offers {
		batch := append(make([]Capture, 0, len(s.offers)+1), c)
		for range len(s.offers) {
			if c, ok := <-s.offers; ok {
				batch = append(batch, c)
			}
		}
		if err := s.takeBatch(batch); err != nil {
			s.dropped.Add(int64(len(batch)))
		}
	}
}

func (s *Sample) takeBatch(batch []Capture) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	return s.addAll(batch)
}

// enter takes the lock; with a nil error, leave gives it back. Whoever has it when Pebble can't go
// on never does, so the others aren't left waiting for it.
func (s *Sample) enter() error {
	select {
	case s.lock <- struct{}{}:
	case <-s.guard.down:
		return s.guard.failure()
	}
	if err := s.guard.failure(); err != nil {
		s.leave()
		return err
	}
	return nil
}

func (s *Sample) leave() { <-s.lock }

// guard is Pebble's logger. It drops its talk, and when Pebble can't go on keeps the reason
// and the goroutine: whoever asks later is told, nobody else is hurt.
type guard struct {
	failed atomic.Pointer[error]
	down   chan struct{} // closed once failed is set
}

func newGuard() *guard { return &guard{down: make(chan struct{})} }

func (g *guard) Infof(string, ...any)  {}
func (g *guard) Errorf(string, ...any) {}

// Fatalf implements pebble.Logger: it doesn't return.
func (g *guard) Fatalf(format string, args ...any) {
	err := fmt.Errorf("cannot go on: "+format, args...)
	if g.failed.CompareAndSwap(nil, &err) {
		close(g.down)
	}
	select {}
}

// failure returns why Pebble can't go on, or nil.
func (g *guard) failure() error {
	if p := g.failed.Load(); p != nil {
		return *p
	}
	return nil
}
