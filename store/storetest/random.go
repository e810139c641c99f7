package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/firstseen/firstseen/store"
)

// runModel runs random histories, those of Found and as many as Seeds says: a hundred times as many under
// FIRSTSEEN_TORTURE=1, or as many as FIRSTSEEN_TORTURE_N says.
func runModel(t *testing.T, b Backend) {
	seeds, steps := b.Seeds, b.Steps
	if seeds == 0 {
		seeds = 20
	}
	if steps == 0 {
		steps = 300
	}
	if n, err := strconv.Atoi(os.Getenv("FIRSTSEEN_TORTURE_N")); err == nil {
		seeds = n
	} else if os.Getenv("FIRSTSEEN_TORTURE") == "1" {
		seeds *= 100
	}
	numbers := slices.Clone(b.Found)
	for seed := range seeds {
		numbers = append(numbers, seed)
	}
	slices.Sort(numbers)
	for _, seed := range slices.Compact(numbers) {
		t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, b, seed%2 == 1)
			h := NewHistory(uint64(seed), f.env.KeepURLs, start)
			h.Clock, h.MaxBytes = f.clock.step, b.MaxBytes
			h.m.shards, h.Groups = b.Shards, b.Groups && seed%3 != 0
			other, turns := f.other(), rand.New(rand.NewPCG(uint64(seed), 2))
			for range steps {
				if b.Reopen != nil && h.rand.IntN(60) == 0 {
					h.note("reopen")
					f.reopen()
				}
				s := f.s
				if other != nil && turns.IntN(2) == 0 {
					h.note("the other")
					s = other
				}
				if err := h.Step(f.ctx, s); err != nil {
					t.Fatalf("%v\nhistory:\n%s", err, h.Log())
				}
			}
		})
	}
}

// History is a run of random steps on a store, each judged by the model.
type History struct {
	// Clock steps the store's clock.
	Clock func(time.Duration)
	// MaxBytes has requests bounded in bytes.
	MaxBytes bool
	// Groups puts some queues into groups.
	Groups bool

	rand   *rand.Rand
	m      *model
	log    []string
	recent []store.Entry // some still run, some are settled or ran out
}

// NewHistory begins a history on an empty store whose clock reads now.
func NewHistory(seed uint64, keepURLs bool, now time.Time) *History {
	return &History{rand: rand.New(rand.NewPCG(seed, 1)), m: newModel(keepURLs, now)}
}

// Log returns the last steps as text.
func (h *History) Log() string {
	text := ""
	for _, line := range h.log[max(0, len(h.log)-200):] {
		text += line + "\n"
	}
	return text
}

func (h *History) note(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

// Step does one random step and compares what can be compared cheaply.
func (h *History) Step(ctx context.Context, s store.Store) error {
	steps := []struct {
		weight int
		do     func(context.Context, store.Store) error
	}{
		{25, h.add}, {5, h.see}, {25, h.take}, {20, h.settle}, {8, h.configure}, {2, h.forget}, {10, h.tick}, {3, h.Compare}, {6, h.lookup},
	}
	sum := 0
	for _, st := range steps {
		sum += st.weight
	}
	n := h.rand.IntN(sum)
	for _, st := range steps {
		if n -= st.weight; n < 0 {
			if err := st.do(ctx, s); err != nil {
				return err
			}
			return h.compareStats(ctx, s)
		}
	}
	return nil
}

// Free has the store free the leases of the process before, as pebblestore.Options.FreeLeases says.
func (h *History) Free() {
	h.note("free the leases")
	h.m.free()
}

func (h *History) crawl() string { return []string{"DEFAULT", "DEFAULT", "b", "c*"}[h.rand.IntN(4)] }

func (h *History) queue() string {
	return []string{"q", "r", "a.example", "q\x00", "ü", "z_1", "%5F", "last"}[min(h.rand.IntN(8), h.rand.IntN(8))]
}

func (h *History) key() store.Key { return key(h.rand.IntN(60)) }

func (h *History) coin(oneIn int) bool { return h.rand.IntN(oneIn) == 0 }

// when returns no time or one around now.
func (h *History) when() time.Time {
	if h.coin(2) {
		return time.Time{}
	}
	return h.m.now.Add(time.Duration(h.rand.IntN(9000)-3000) * time.Millisecond)
}

func (h *History) text() string {
	if h.coin(20) {
		return ""
	}
	return fmt.Sprintf("http://%d.example/%d", h.rand.IntN(99), h.rand.IntN(1e6))
}

func (h *History) meta() []byte {
	if h.coin(2) {
		return nil
	}
	return fmt.Appendf(nil, "meta-%d\x00", h.rand.IntN(100))
}

func (h *History) see(ctx context.Context, s store.Store) error {
	crawl, keys := h.crawl(), make([]store.Key, 1+h.rand.IntN(6))
	fresh := make([]bool, len(keys))
	for i := range keys {
		keys[i] = h.key()
	}
	h.note("see %q %x", crawl, keys)
	if err := s.See(ctx, crawl, keys, fresh, store.SeeOptions{}); err != nil {
		return err
	}
	for i, k := range keys {
		c := h.m.crawl(crawl)
		if fresh[i] != (c.urls[k] == nil) {
			return fmt.Errorf("got fresh %v for %x; want %v", fresh[i], k[:4], !fresh[i])
		}
		if fresh[i] {
			h.m.see(c, k)
		}
	}
	return nil
}

func (h *History) add(ctx context.Context, s store.Store) error {
	crawl, items := h.crawl(), make([]store.Item, 1+h.rand.IntN(8))
	for i := range items {
		items[i] = store.Item{Key: h.key(), Queue: h.queue(), URL: h.text(), Meta: h.meta(), Due: h.when(), Force: h.coin(6), Variant: h.coin(2)}
		if h.coin(3) {
			items[i].Priority = uint8(h.rand.IntN(8))
		}
		if h.coin(10) {
			items[i].Queue = ""
		}
		if h.coin(6) {
			items[i].EndedBefore = h.m.now.Add(-time.Duration(h.rand.IntN(4000)) * time.Millisecond)
		}
	}
	opt := store.AddOptions{WantFirst: h.coin(2)}
	if h.coin(6) {
		opt.MaxPerQueue = int64(1 + h.rand.IntN(8))
	}
	if h.coin(6) {
		opt.MaxHeld = int64(1 + h.rand.IntN(30))
	}
	h.note("add %q %s %s", crawl, shown(items), shown(opt))
	got, err := s.Add(ctx, crawl, items, opt)
	if err != nil {
		return err
	}
	want := make([]store.Verdict, len(items))
	for i := range items {
		want[i] = h.m.add(crawl, items[i], opt)
	}
	return sameList(got, want, sameValue)
}

func (h *History) take(ctx context.Context, s store.Store) error {
	req := store.TakeRequest{Crawl: h.crawl(), MaxURLs: h.rand.IntN(12)}
	if h.coin(3) {
		req.Crawl = "*"
	} else if h.coin(4) {
		req.Queue = h.queue()
	}
	if h.coin(3) {
		req.MaxQueues = h.rand.IntN(4)
	}
	if h.coin(2) {
		req.MaxPerQueue = h.rand.IntN(5)
	}
	if h.coin(2) {
		req.MaxInFlight = h.rand.IntN(4)
	}
	if h.coin(2) {
		req.Delay = time.Duration(h.rand.IntN(2000)) * time.Millisecond
	}
	if h.coin(2) {
		req.Lease = time.Duration(1+h.rand.IntN(5000)) * time.Millisecond
	}
	req.Client = []string{"", "", "w7", "a client"}[h.rand.IntN(4)]
	if h.MaxBytes && h.coin(4) {
		req.MaxBytes = int64(1 + h.rand.IntN(200))
	}
	h.note("take %s", shown(req))
	got, err := s.Take(ctx, req)
	if err != nil {
		return err
	}
	for _, l := range got.Leases {
		h.note("  %q %q %x token %d", l.Crawl, l.Queue, l.Key[:4], l.Token)
	}
	h.recent = append(h.recent, got.Leases...)
	h.recent = h.recent[max(0, len(h.recent)-30):]
	return h.m.take(req, got)
}

func (h *History) settle(ctx context.Context, s store.Store) error {
	crawl := h.crawl()
	list := make([]store.Settlement, 1+h.rand.IntN(4))
	for i := range list {
		list[i] = h.settlement(&crawl)
	}
	h.note("settle %q %s", crawl, shown(list))
	got, err := s.Settle(ctx, crawl, list)
	if err != nil {
		return err
	}
	want := make([]store.SettleStatus, len(list))
	for i := range list {
		want[i] = h.m.settle(crawl, list[i])
	}
	return sameList(got, want, sameValue)
}

// settlement makes one of a recent lease, mostly, setting its crawl.
func (h *History) settlement(crawl *string) store.Settlement {
	st := store.Settlement{Key: h.key(), Outcome: store.Outcome(h.rand.IntN(4)), Due: h.when(), NewRound: h.coin(3)}
	switch st.Outcome {
	case store.Complete, store.Requeue:
		st.Fetched = h.coin(2)
		st.Late = (st.Outcome == store.Complete || st.NewRound) && !h.coin(3)
	case store.Drop:
		if st.Failed = h.coin(2); h.coin(2) {
			st.Mark = uint32(1 + h.rand.IntN(3))
		}
	}
	if h.coin(4) {
		st.After = time.Duration(h.rand.IntN(6000)) * time.Millisecond
	}
	if len(h.recent) > 0 && !h.coin(4) {
		l := h.recent[h.rand.IntN(len(h.recent))]
		*crawl, st.Key, st.Token = l.Crawl, l.Key, l.Token
	}
	if h.coin(5) {
		st.Token = 0
		if h.coin(2) {
			st.If = store.State(1 + h.rand.IntN(4))
			return st
		}
		if h.coin(2) && st.Outcome != store.Extend {
			st.Create, st.Queue = true, h.queue()
			st.URL, st.Meta = h.text(), h.meta()
		}
	}
	if h.coin(5) && (st.Outcome == store.Complete || st.Outcome == store.Drop) {
		st.Ended = h.m.now.Add(time.Duration(h.rand.IntN(5000)-4000) * time.Millisecond)
	}
	if h.coin(4) {
		st.URL, st.Meta = h.text(), h.meta()
	}
	if h.coin(5) {
		p := uint8(h.rand.IntN(8))
		st.Priority = &p
	}
	if h.coin(6) {
		ch := h.change()
		if h.Groups {
			ch.MaxInFlight = nil
		}
		st.QueueChange = &ch
	}
	return st
}

// change makes a random change of a queue.
func (h *History) change() (ch store.QueueChange) {
	if h.coin(3) {
		d := time.Duration(h.rand.IntN(3000)-500) * time.Millisecond
		ch.Delay = &d
	}
	if h.coin(4) {
		n := h.rand.IntN(5) - 1
		ch.MaxInFlight = &n
	}
	if h.coin(4) {
		t := h.when()
		ch.BlockedUntil = &t
	}
	if h.coin(6) {
		n := int64(h.rand.IntN(6))
		ch.Limit = &n
	}
	if h.coin(4) {
		w := uint8(h.rand.IntN(5))
		ch.Weight = &w
	}
	if h.coin(4) {
		p := h.coin(3)
		ch.Paused = &p
	}
	if h.coin(4) {
		t := h.when()
		ch.NotBefore = &t
	}
	ch.Later = (ch.BlockedUntil != nil || ch.NotBefore != nil) && h.coin(2)
	return ch
}

func (h *History) configure(ctx context.Context, s store.Store) error {
	crawl, queue, ch := h.crawl(), h.queue(), h.change()
	if h.Groups {
		// In a group all have one bound, since that of the queue whose turn it is holds up the others, and the model knows of no turns.
		if group := map[string]string{"q": "g", "r": "g", "last": "g", "a.example": "h", "ü": "h"}[queue]; group != "" {
			ch.Group, ch.MaxInFlight = &group, nil
		}
	}
	if h.coin(4) {
		queue, ch.NotBefore, ch.Group = "", nil, nil
		if h.coin(2) {
			crawl = "*"
		}
		// What stops everything is undone soon, or there is little to see.
		if ch.Limit != nil {
			*ch.Limit *= 5
		}
		if h.coin(4) {
			n := int64(h.rand.IntN(8))
			ch.QueueLimit = &n
		}
		if crawl != "*" && h.coin(4) {
			d := time.Duration(h.rand.IntN(3)) * time.Hour
			ch.Retention = &d
		}
		if ch.Paused != nil && !h.coin(3) {
			*ch.Paused = false
		}
	}
	ch.MustExist = crawl != "*" && h.coin(3)
	h.note("configure %q %q %s", crawl, queue, shown(ch))
	want := error(nil)
	if ch.MustExist && !h.exists(crawl, queue) {
		want = store.ErrNotFound
	}
	if err := s.Configure(ctx, crawl, queue, ch); !errors.Is(err, want) {
		return fmt.Errorf("got error %v; want %v", err, want)
	}
	switch {
	case want != nil:
	case crawl == "*":
		changeCrawl(&h.m.defaults, ch)
	case queue == "":
		changeCrawl(&h.m.crawl(crawl).set, ch)
	default:
		q := h.m.crawl(crawl).queue(queue)
		if h.m.configure(q, &ch); ch.Group != nil {
			h.m.crawl(crawl).served(q)
		}
	}
	return nil
}

// exists is what MustExist asks.
func (h *History) exists(crawl, queue string) bool {
	c := h.m.crawls[crawl]
	if c == nil || queue == "" {
		return c != nil
	}
	return c.queues[queue] != nil && c.used(c.queues[queue])
}

func (h *History) forget(ctx context.Context, s store.Store) error {
	sel := store.Selection{Crawl: h.crawl()}
	if h.coin(4) {
		sel.Crawl = "*"
	}
	switch {
	case h.coin(2):
		sel.Keys = []store.Key{h.key(), h.key()}
	case h.coin(2):
		sel.Queue = h.queue()
	}
	h.note("forget %s", shown(sel))
	got, err := s.Forget(ctx, sel)
	if err != nil {
		return err
	}
	want := int64(0)
	for _, c := range h.m.selected(sel.Crawl) {
		want += h.m.forget(c, sel)
	}
	return sameValue(got, want)
}

func (h *History) tick(context.Context, store.Store) error {
	d := time.Duration(h.rand.IntN(1500)) * time.Millisecond
	if h.coin(10) {
		d *= 10
	}
	h.note("tick %v", d)
	h.Clock(d)
	h.m.now = h.m.now.Add(d)
	return nil
}

func (h *History) lookup(ctx context.Context, s store.Store) error {
	crawl, keys := h.crawl(), make([]store.Key, 1+h.rand.IntN(5)*h.rand.IntN(12))
	for i := range keys {
		keys[i] = h.key()
	}
	h.note("lookup %q %x", crawl, keys)
	got, err := s.Lookup(ctx, crawl, keys)
	if err != nil {
		return err
	}
	for i, key := range keys {
		var want store.Entry
		if c := h.m.crawls[crawl]; c != nil && c.urls[key] != nil {
			want = c.urls[key].entry()
		}
		if err := sameEntry(got[i], want); err != nil {
			return err
		}
	}
	return nil
}
