package main

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/firstseen/firstseen/frontier"
)

// manners notes when pages were handed out. Times of arrival would jitter with
// the machine; all leases are equally long, so their ends are exactly as far
// apart as the hand-outs.
type manners struct {
	mu   sync.Mutex
	ends map[string][]time.Time // of leases, by queue, which is a host
}

func (m *manners) note(l *frontier.Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ends == nil {
		m.ends = make(map[string][]time.Time)
	}
	m.ends[l.Queue] = append(m.ends[l.Queue], l.Expires)
}

// closest returns the shortest time between two hand-outs of one host.
func (m *manners) closest() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	closest := time.Duration(math.MaxInt64)
	for _, ends := range m.ends {
		slices.SortFunc(ends, time.Time.Compare) // fetchers note theirs in any order
		for i := 1; i < len(ends); i++ {
			closest = min(closest, ends[i].Sub(ends[i-1]))
		}
	}
	return closest
}
