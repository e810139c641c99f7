package storebench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firstseen/firstseen/hashkey"
)

// Stream is the keys of a run: the first Known are recorded.
type Stream struct{ Known int }

// Next returns the next n keys in ascending order. The caller records them.
func (s *Stream) Next(n int) []hashkey.UrlShortHash {
	keys := make([]hashkey.UrlShortHash, n)
	for i := range keys {
		keys[i] = Key(uint64(s.Known + i))
	}
	slices.SortFunc(keys, hashkey.UrlShortHash.Compare)
	s.Known += n
	return keys
}

// Preload records the next n keys in large batches, by three callers.
func (s *Stream) Preload(e Engine, n int) error {
	r, err := s.Run(e, Load{Batch: 50_000, Callers: 3, Length: 100 * time.Hour, MaxNew: n})
	if err == nil && r.Wrong() > 0 {
		err = fmt.Errorf("%d new keys were called known while loading", r.Wrong())
	}
	return err
}

// PreloadSorted is Preload by one caller, in ascending order of the keys.
func (s *Stream) PreloadSorted(e Engine, n int) error {
	fresh := make([]bool, 50_000)
	for part := range slices.Chunk(s.Next(n), len(fresh)) {
		if err := e.See(part, fresh[:len(part)]); err != nil {
			return err
		}
		if slices.Contains(fresh[:len(part)], false) {
			return fmt.Errorf("a new key was called known while loading")
		}
	}
	return nil
}

// Run drives e with callers, each of which waits for its answer before it calls
// again. Duplicates are drawn from the keys that were known at the start. New keys that
// were not asked for are recorded at the end, outside of the times.
func (s *Stream) Run(e Engine, l Load) (Result, error) {
	d := &dealer{next: s.Known, end: math.MaxInt, hand: max(handKeys, l.Batch)}
	if l.MaxNew > 0 {
		d.end = s.Known + l.MaxNew
	}
	making := newCaller(nil, l, s.Known, &dealer{end: math.MaxInt, hand: d.hand}, 0).cost()
	all := make([]*caller, max(1, l.Callers))
	var stop atomic.Bool
	timer := time.AfterFunc(l.Length, func() { stop.Store(true) })
	defer timer.Stop()
	cpu, start := ProcessCPU()+e.CPU(), time.Now()
	var wg sync.WaitGroup
	for i := range all {
		c := newCaller(e, l, s.Known, d, uint64(i))
		all[i] = c
		wg.Go(func() {
			for !stop.Load() && c.err == nil && c.draw() {
				c.call()
			}
		})
	}
	wg.Wait()
	r := Result{Wall: time.Since(start), CPU: ProcessCPU() + e.CPU() - cpu}
	s.Known = d.next
	var calls []call
	for _, c := range all {
		if c.err != nil {
			return r, c.err
		}
		r.add(&c.result)
		calls = append(calls, c.calls...)
		if left := c.left(); len(left) > 0 {
			if err := e.See(left, make([]bool, len(left))); err != nil {
				return r, err
			}
		}
	}
	r.CPU -= time.Duration(float64(making) * float64(r.Keys) / costKeys)
	r.percentiles(calls)
	return r, nil
}

// handKeys is how many new keys a caller gets at a time.
const handKeys = 1024

// dealer deals out new keys.
type dealer struct {
	mu   sync.Mutex
	next int
	end  int
	hand int
}

// deal returns the next hand; it is empty when there are no more.
func (d *dealer) deal() (lo, hi int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	lo = d.next
	d.next = min(d.next+d.hand, d.end)
	return lo, d.next
}

// caller is one of those who call at the same time.
type caller struct {
	e       Engine
	l       Load
	known   int
	dealer  *dealer
	own, to int // new keys that it was dealt and did not draw
	rng     *rand.Rand
	result  Result
	calls   []call
	err     error

	keys []hashkey.UrlShortHash // of some calls
	want []bool                 // which of them are new
	next int                    // the first that was not asked for
	got  []bool
}

// drawKeys is how many keys a caller draws at a time, at least.
const drawKeys = 128

func newCaller(e Engine, l Load, known int, d *dealer, seed uint64) *caller {
	n := l.Batch * max(1, drawKeys/l.Batch)
	return &caller{
		e: e, l: l, known: known, dealer: d, rng: rand.New(rand.NewPCG(2, seed)), next: n,
		keys: make([]hashkey.UrlShortHash, n), want: make([]bool, n), got: make([]bool, l.Batch),
	}
}

// costKeys is how many keys are drawn to know the cost of that.
const costKeys = 1 << 20

// cost returns the processor time of drawing and checking costKeys keys.
func (c *caller) cost() time.Duration {
	start := ProcessCPU()
	for n := 0; n < costKeys; n += c.l.Batch {
		c.draw()
		copy(c.got, c.want[c.next:])
		c.result.judge(c.want[c.next:c.next+c.l.Batch], c.got)
		c.next += c.l.Batch
	}
	return ProcessCPU() - start
}

// draw makes the keys of the next calls when there are none. It returns false when
// there are no new ones.
func (c *caller) draw() bool {
	if c.next < len(c.keys) {
		return true
	}
	for i := range c.keys {
		if c.want[i] = c.known == 0 || c.rng.Float64() >= c.l.Dup; !c.want[i] {
			c.keys[i] = Key(uint64(c.drawKnown()))
			continue
		}
		if c.own == c.to {
			if c.own, c.to = c.dealer.deal(); c.own == c.to {
				c.keys, c.next = c.keys[:i], 0
				return false
			}
		}
		c.keys[i] = Key(uint64(c.own))
		c.own++
	}
	c.next = 0
	return true
}

// drawKnown draws a key that was known at the start.
func (c *caller) drawKnown() int {
	if !c.l.Skew {
		return c.rng.IntN(c.known)
	}
	return int(math.Pow(float64(c.known), c.rng.Float64())) - 1
}

func (c *caller) call() {
	keys, want := c.keys[c.next:c.next+c.l.Batch], c.want[c.next:c.next+c.l.Batch]
	c.next += c.l.Batch
	start := time.Now()
	c.err = c.e.See(keys, c.got)
	end := time.Now()
	took := call{all: end.Sub(start)}
	if c.l.Syncs != nil {
		took.sync = c.l.Syncs.of(start, end)
	}
	c.calls = append(c.calls, took)
	c.result.judge(want, c.got)
}

// left returns the new keys that the caller has and did not ask for.
func (c *caller) left() (left []hashkey.UrlShortHash) {
	for i := c.next; i < len(c.keys); i++ {
		if c.want[i] {
			left = append(left, c.keys[i])
		}
	}
	for ; c.own < c.to; c.own++ {
		left = append(left, Key(uint64(c.own)))
	}
	return left
}
