package storebench

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firstseen/firstseen/hashkey"
)

// RunCallers drives e with many callers at once, each waiting for its answer
// before it asks again. New keys are dealt to them in hands; duplicates are
// drawn from what was known at the start. The making of the stream is in the
// times. New keys that were not asked for are recorded at the end, outside of
// them.
func (s *Stream) RunCallers(e Engine, callers int, l Load) (Result, error) {
	known := s.All[:s.Known]
	d := &dealer{rest: s.All[s.Known:], hand: max(handKeys, l.Batch)}
	all := make([]*caller, callers)
	var stop atomic.Bool
	timer := time.AfterFunc(l.Length, func() { stop.Store(true) })
	defer timer.Stop()
	cpu, start := ProcessCPU()+e.CPU(), time.Now()
	var wg sync.WaitGroup
	for i := range all {
		c := &caller{e: e, l: l, known: known, dealer: d, rng: rand.New(rand.NewPCG(2, uint64(i)))}
		all[i] = c
		wg.Go(func() {
			for !stop.Load() && c.err == nil && c.draw() {
				c.call()
			}
		})
	}
	wg.Wait()
	r := Result{Wall: time.Since(start), CPU: ProcessCPU() + e.CPU() - cpu}
	s.Known = len(s.All) - len(d.rest)
	var calls []time.Duration
	for _, c := range all {
		if c.err != nil {
			return r, c.err
		}
		r.add(&c.result)
		calls = append(calls, c.calls...)
	}
	r.percentiles(calls)
	for _, c := range all {
		left := c.left()
		if err := e.See(left, make([]bool, len(left))); err != nil {
			return r, err
		}
	}
	return r, nil
}

// add adds the counts of a caller.
func (r *Result) add(p *Result) {
	r.Keys += p.Keys
	r.New += p.New
	r.WrongNew += p.WrongNew
	r.WrongKnown += p.WrongKnown
}

// handKeys is how many new keys a caller gets at a time.
const handKeys = 1024

// dealer deals out new keys.
type dealer struct {
	mu   sync.Mutex
	rest []hashkey.UrlShortHash
	hand int
}

// deal returns the next hand, nil when there are no more.
func (d *dealer) deal() []hashkey.UrlShortHash {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.rest) < d.hand {
		return nil
	}
	hand := d.rest[:d.hand:d.hand]
	d.rest = d.rest[d.hand:]
	return hand
}

// caller is one of those who call at once.
type caller struct {
	e      Engine
	l      Load
	known  []hashkey.UrlShortHash
	dealer *dealer
	own    []hashkey.UrlShortHash // dealt and not yet drawn
	rng    *rand.Rand
	result Result
	calls  []time.Duration
	err    error

	keys []hashkey.UrlShortHash // of some calls
	want []bool                 // which of them are new
	next int                    // the first that was not asked for
	got  []bool
}

// drawKeys is how many keys a caller draws at a time. Known keys are far from the
// processor, which fetches many at once in the time of one.
const drawKeys = 128

// draw makes the keys of the next calls when there are none. It returns false when
// there are no new ones.
func (c *caller) draw() bool {
	if c.next < len(c.keys) {
		return true
	}
	if c.keys == nil {
		n := c.l.Batch * max(1, drawKeys/c.l.Batch)
		c.keys, c.want, c.got = make([]hashkey.UrlShortHash, n), make([]bool, n), make([]bool, c.l.Batch)
	}
	for len(c.own) < len(c.keys) {
		hand := c.dealer.deal()
		if hand == nil {
			return false
		}
		c.own = append(c.own, hand...)
	}
	for i := range c.keys {
		if c.want[i] = c.rng.Float64() >= c.l.Dup; c.want[i] {
			c.keys[i], c.own = c.own[0], c.own[1:]
		} else {
			c.keys[i] = c.known[c.rng.IntN(len(c.known))]
		}
	}
	c.next = 0
	return true
}

func (c *caller) call() {
	keys, want := c.keys[c.next:c.next+c.l.Batch], c.want[c.next:c.next+c.l.Batch]
	c.next += c.l.Batch
	start := time.Now()
	c.err = c.e.See(keys, c.got)
	c.calls = append(c.calls, time.Since(start))
	c.result.judge(want, c.got)
}

// left are the new keys that the caller has and didn't ask for.
func (c *caller) left() []hashkey.UrlShortHash {
	for i := c.next; i < len(c.keys); i++ {
		if c.want[i] {
			c.own = append(c.own, c.keys[i])
		}
	}
	return c.own
}
