package server

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/firstseen/firstseen/internal/wire"
)

const (
	sampleEvery = 5 * time.Second
	samples     = 720 // an hour
)

// history keeps the samples of the last hour, oldest first. Safe for
// concurrent use.
type history struct {
	mu   sync.Mutex
	ring []wire.Sample
}

func (h *history) add(s wire.Sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.ring) == samples {
		h.ring = append(h.ring[:0], h.ring[1:]...)
	}
	h.ring = append(h.ring, s)
}

func (h *history) list() []wire.Sample {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]wire.Sample{}, h.ring...)
}

// record takes samples until ctx ends.
func (s *metrics) record(ctx context.Context) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		s.history.add(s.sample(ctx))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *metrics) sample(ctx context.Context) wire.Sample {
	c := s.count
	out := wire.Sample{At: time.Now(), New: value(c.fresh), Duplicate: value(c.duplicate), Refused: value(c.refused),
		Leased: value(c.getURLs), Completed: value(c.putCompleted)}
	if st, err := s.f.own.Stats(ctx, "*"); err == nil {
		out.Held, out.InFlight = st.Held, st.InFlight
	}
	return out
}

func value(c prometheus.Counter) float64 {
	var m dto.Metric
	if c.Write(&m) != nil {
		return 0
	}
	return m.GetCounter().GetValue()
}
