package sched

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/firstseen/firstseen/store"
)

// TestHeadsAgree compares the heads of a queue with eight plain ones.
func TestHeadsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		var s Sched
		q := new(s.NewCrawl("c").NewQueue("q", 0))
		var plain [store.MaxPriority + 1]Head
		for p := range plain {
			plain[p].Due = Never
		}
		for range 40 {
			p, h := uint8(rng.IntN(8)), Head{Due: rng.Int64N(100), Seq: rng.Uint64N(9)}
			if rng.IntN(3) == 0 {
				h = Head{Due: Never}
			}
			q.SetHead(p, h)
			plain[p] = h
			checkHeads(t, q, plain)
		}
	}
}

func checkHeads(t *testing.T, q *Queue, plain [store.MaxPriority + 1]Head) {
	t.Helper()
	first, level, due := Never, uint8(0), false
	for p, h := range plain {
		if got := q.Head(uint8(p)); got.Due != h.Due || h.Due != Never && got != h {
			t.Fatalf("got head %v of priority %d; want %v", got, p, h)
		}
		first = min(first, h.Due)
		if h.Due <= 50 {
			level, due = uint8(p), true
		}
	}
	if got := q.Serves(); got != first {
		t.Fatalf("got %d as the first due time; want %d", got, first)
	}
	if l, ok := q.DueLevel(50); ok != due || ok && l != level {
		t.Fatalf("got level %d %v; want %d %v", l, ok, level, due)
	}
}

// TestServesInTurn checks that a served queue is last in the rotation, and that a queue that waited
// is not before those that were ready.
func TestServesInTurn(t *testing.T) {
	s := &Sched{}
	c := s.NewCrawl("c")
	queues := map[string]*Queue{}
	for _, name := range []string{"a", "b", "c"} {
		queues[name] = ready(c, name, 100)
	}
	var order string
	for range 7 {
		order += takeOne(t, s, c)
	}
	queues["d"] = ready(c, "d", 100)
	for range 5 {
		order += takeOne(t, s, c)
	}
	if want := "abcabcabcdab"; order != want {
		t.Errorf("got turns %s; want %s", order, want)
	}
}

// TestArrivalsKeepTheTurn checks that a queue to which URLs are added all the time is served in its
// turn.
func TestArrivalsKeepTheTurn(t *testing.T) {
	s := &Sched{}
	c := s.NewCrawl("c")
	a := ready(c, "a", 100)
	ready(c, "b", 100)
	ready(c, "c", 100)
	var order string
	for range 6 {
		a.Add(1)
		a.File(10)
		order += takeOne(t, s, c)
	}
	if want := "abcabc"; order != want {
		t.Errorf("got turns %s; want %s", order, want)
	}
}

// ready returns a queue of n URLs that are due.
func ready(c *Crawl, name string, n int64) *Queue {
	q := new(c.NewQueue(name, 0))
	q.SetHead(0, Head{Due: 1, Seq: 1})
	q.Add(n)
	q.File(1)
	return q
}

// takeOne takes one URL and settles it, and returns its queue.
func takeOne(t *testing.T, s *Sched, c *Crawl) (name string) {
	t.Helper()
	r := NewRequest(store.TakeRequest{}, 10)
	_, err := s.Take(c, nil, r, func(q *Queue, n int, _ int64) (int, int64, error) {
		if n != 1 {
			t.Errorf("got room for %d; want 1", n)
		}
		name += q.Name
		q.Lease(Record{}, 1, r.Now, r.Until).End()
		return 1, 0, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// TestServeErrorKeepsQueues checks that a queue whose URLs could not be read stays in the rotation.
func TestServeErrorKeepsQueues(t *testing.T) {
	s := &Sched{}
	c := s.NewCrawl("c")
	ready(c, "a", 1)
	fail := fmt.Errorf("cannot read")
	_, err := s.Take(c, nil, NewRequest(store.TakeRequest{}, 10), func(*Queue, int, int64) (int, int64, error) { return 0, 0, fail })
	if err != fail {
		t.Errorf("got error %v; want %v", err, fail)
	}
	if got := takeOne(t, s, c); got != "a" {
		t.Errorf("got queue %q; want a", got)
	}
}

func TestTimes(t *testing.T) {
	for _, c := range []struct {
		t    time.Time
		want int64
	}{
		{time.Time{}, 0},
		{time.UnixMilli(5), 5},
		{time.UnixMilli(5).Add(1), 6},
		{time.Unix(0, 0), 1},
		{time.Unix(-9, 0), 1},
		{time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), maxMs},
	} {
		if got := Ms(c.t); got != c.want {
			t.Errorf("%v: got %d ms; want %d", c.t, got, c.want)
		}
	}
	for d, want := range map[time.Duration]int64{0: 0, 1: 1, -1: -1, time.Second: 1000, time.Second + 1: 1001} {
		if got := DurMs(d); got != want {
			t.Errorf("%v: got %d ms; want %d", d, got, want)
		}
	}
}

// TestWaitingQueueIsSmall states the memory of a queue that waits: its struct,
// its place in a heap, and nothing else of the scheduler's.
func TestWaitingQueueIsSmall(t *testing.T) {
	const n = 20_000
	s := &Sched{}
	c := s.NewCrawl("c")
	before := heapBytes()
	keep := make([]*Queue, n)
	for i := range keep {
		q := new(c.NewQueue("", 1))
		q.SetHead(0, Head{Due: int64(1000 + i), Seq: 1})
		q.File(1)
		keep[i] = q
	}
	got := (heapBytes() - before) / n
	runtime.KeepAlive(keep)
	t.Logf("%d bytes a queue", got)
	if got > 160 {
		t.Errorf("got %d bytes a queue; want at most 160", got)
	}
}

func heapBytes() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkTake shows the cost of a turn beside any number of ready queues.
func BenchmarkTake(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("ready=%d", n), func(b *testing.B) {
			s := &Sched{}
			c := s.NewCrawl("c")
			for i := range n {
				ready(c, fmt.Sprint(i), 1<<40)
			}
			now := int64(10)
			for b.Loop() {
				now++
				r := NewRequest(store.TakeRequest{Delay: time.Millisecond}, now)
				if _, err := s.Take(c, nil, r, func(q *Queue, _ int, _ int64) (int, int64, error) {
					q.Lease(Record{}, 1, r.Now, r.Until).End()
					return 1, 0, nil
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestDropEmptyForgetsCrawls checks that the scheduler keeps nothing of an empty crawl, even without a
// take from all crawls.
func TestDropEmptyForgetsCrawls(t *testing.T) {
	s := &Sched{}
	c := s.NewCrawl("c")
	ready(c, "a", 1)
	c.Restore(Counts{})
	s.DropEmpty()
	if len(s.crawls) != 0 {
		t.Errorf("got %d crawls; want none", len(s.crawls))
	}
}

// TestPauseFilesNothing checks that queues are not filed again after a change to a setting that is
// read when queues are served.
func TestPauseFilesNothing(t *testing.T) {
	yes, n, limit, delay, weight, at := true, 1, int64(1), time.Second, uint8(1), time.Unix(1, 0)
	for _, ch := range []store.QueueChange{{Paused: &yes}, {BlockedUntil: &at}, {Weight: &weight}, {Limit: &limit}, {}} {
		if Refiles(&ch) {
			t.Errorf("got queues filed again by %+v", ch)
		}
	}
	for _, ch := range []store.QueueChange{{MaxInFlight: &n}, {QueueLimit: &limit}, {Delay: &delay}} {
		if !Refiles(&ch) {
			t.Errorf("got no queues filed again by %+v", ch)
		}
	}
}

// TestRotationGoesOn checks that a take from all crawls serves them in rounds, without empty ones,
// and that the next take continues where it ended.
func TestRotationGoesOn(t *testing.T) {
	s := &Sched{}
	for i := range 6 {
		c := s.NewCrawl(fmt.Sprint(i))
		if ready(c, "q", 100); i%2 == 1 {
			c.Settings.Paused = true
		}
	}
	got := ""
	for range 4 {
		_, err := s.Take(nil, nil, NewRequest(store.TakeRequest{MaxURLs: 2}, 10), func(q *Queue, _ int, _ int64) (int, int64, error) {
			got += q.Crawl.Name
			q.Lease(Record{}, 1, 10, 11).End()
			return 1, 0, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got != "02402402" {
		t.Errorf("got crawls %s; want 02402402", got)
	}
}

// BenchmarkTakeWaiting shows the cost of a take from all crawls, of which none has anything:
// linear in their number.
func BenchmarkTakeWaiting(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 40_000} {
		b.Run(fmt.Sprintf("crawls=%d", n), func(b *testing.B) {
			s := &Sched{}
			for i := range n {
				c := s.NewCrawl(fmt.Sprint(i))
				c.Settings.Paused = true
				ready(c, "q", 1)
			}
			for b.Loop() {
				if _, err := s.Take(nil, nil, NewRequest(store.TakeRequest{}, 10), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestLeasesOfRetiredQueues checks that a lease of a queue that is out of service does not take the place of
// another of its key.
func TestLeasesOfRetiredQueues(t *testing.T) {
	c := new(Sched).NewCrawl("c")
	q := c.NewQueue("old", 0)
	q.Retire()
	var k store.Key
	l := q.Restore(Record{Key: k}, 1, 0, 1000, 1)
	if c.Leases[k] != nil {
		t.Error("a lease of a retired queue is found by its key")
	}
	heir := c.NewQueue("new", 0)
	other := heir.Restore(Record{Key: k}, 2, 0, 1000, 1)
	if l.End(); c.Leases[k] != other {
		t.Error("the end of a lease of a retired queue ended another one's")
	}
}

// TestTokensOfARound checks that copies of a record, which queues and leases have, do not write into each other's tokens.
func TestTokensOfARound(t *testing.T) {
	var r Record
	for token := range uint64(20) {
		r.pass(token + 1)
	}
	a, b := r, r
	a.pass(21)
	b.pass(22)
	if n := len(a.Earlier); n != EarlierTokens || a.Earlier[0] != 7 || a.Earlier[n-1] != 21 || b.Earlier[n-1] != 22 || r.Earlier[n-1] != 20 {
		t.Errorf("got tokens %v, %v and %v; want the last 15 of each", r.Earlier, a.Earlier, b.Earlier)
	}
}
