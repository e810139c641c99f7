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
	if err := s.guard.failure(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addAll(batch)
}

// guard is Pebble's logger. It drops its talk, and when Pebble can't go on keeps the reason
// and the goroutine: whoever asks later is told, nobody else is hurt.
type guard struct{ failed atomic.Pointer[error] }

func (g *guard) Infof(string, ...any)  {}
func (g *guard) Errorf(string, ...any) {}

// Fatalf implements pebble.Logger: it doesn't return.
func (g *guard) Fatalf(format string, args ...any) {
	err := fmt.Errorf("cannot go on: "+format, args...)
	g.failed.CompareAndSwap(nil, &err)
	select {}
}

// failure returns why Pebble can't go on, or nil.
func (g *guard) failure() error {
	if p := g.failed.Load(); p != nil {
		return *p
	}
	return nil
}
