package storebench

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firstseen/firstseen/hashkey"
)

// RunCallers drives e with many callers at once, each waiting for its answer
// before it asks again. New keys are divided among them; duplicates are drawn
// from what was known at the start. The making of the stream, some 20 ns a
// key, is in the times.
func (s *Stream) RunCallers(e Engine, callers int, l Load) (Result, error) {
	known, rest := s.Known, len(s.All)-s.Known
	parts := make([]Result, callers)
	calls := make([][]time.Duration, callers)
	errs := make([]error, callers)
	var stop atomic.Bool
	timer := time.AfterFunc(l.Length, func() { stop.Store(true) })
	defer timer.Stop()
	cpu, start := ProcessCPU()+e.CPU(), time.Now()
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			own := s.All[known+c*rest/callers : known+(c+1)*rest/callers]
			caller := caller{e: e, l: l, known: s.All[:known], own: own, rng: rand.New(rand.NewPCG(2, uint64(c)))}
			for !stop.Load() && errs[c] == nil && len(caller.own) >= l.Batch {
				errs[c] = caller.call(&parts[c], &calls[c])
			}
		})
	}
	wg.Wait()
	r := Result{Wall: time.Since(start), CPU: ProcessCPU() + e.CPU() - cpu}
	var all []time.Duration
	for c, p := range parts {
		if errs[c] != nil {
			return r, errs[c]
		}
		r.Keys += p.Keys
		r.New += p.New
		r.WrongNew += p.WrongNew
		r.WrongKnown += p.WrongKnown
		all = append(all, calls[c]...)
	}
	r.percentiles(all)
	s.Known = len(s.All) // what they left unused is gone
	return r, nil
}

type caller struct {
	e          Engine
	l          Load
	known, own []hashkey.UrlShortHash
	rng        *rand.Rand
	keys       []hashkey.UrlShortHash
	want, got  []bool
}

func (c *caller) call(r *Result, calls *[]time.Duration) error {
	if c.keys == nil {
		c.keys, c.want, c.got = make([]hashkey.UrlShortHash, c.l.Batch), make([]bool, c.l.Batch), make([]bool, c.l.Batch)
	}
	for i := range c.keys {
		if c.want[i] = c.rng.Float64() >= c.l.Dup; c.want[i] {
			c.keys[i], c.own = c.own[0], c.own[1:]
		} else {
			c.keys[i] = c.known[c.rng.IntN(len(c.known))]
		}
	}
	start := time.Now()
	err := c.e.See(c.keys, c.got)
	*calls = append(*calls, time.Since(start))
	r.judge(c.want, c.got)
	return err
}
