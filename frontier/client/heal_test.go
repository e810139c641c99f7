package client_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/client"
	"github.com/firstseen/firstseen/store"
)

func tokenFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// told counts the answers that adders got for each URL.
type told struct {
	mu     sync.Mutex
	fresh  map[store.Key]int
	resent map[store.Key]bool // a duplicate that may be its adder's own
	known  map[store.Key]bool
}

func (c *told) take(r *frontier.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[r.Key] = true
	if r.Status == frontier.StatusNew {
		c.fresh[r.Key]++
	}
	c.resent[r.Key] = c.resent[r.Key] || r.Status == frontier.StatusDuplicate && r.Resent
}

// TestHeals kills the daemon under load and starts it again, many times, while
// adders add and fetchers fetch. No call may fail, no URL may be lost, or be answered new
// twice, and all URLs must be fetched in the end.
func TestHeals(t *testing.T) {
	kills := 4
	if os.Getenv("FIRSTSEEN_TORTURE") == "1" {
		kills = 40
	}
	if n, err := strconv.Atoi(os.Getenv("FIRSTSEEN_TORTURE_N")); err == nil {
		kills = n
	}
	d := newDaemon(t)
	c := d.open(t, client.Options{Lease: time.Second, MaxInFlight: -1})
	told := &told{fresh: map[store.Key]int{}, resent: map[store.Key]bool{}, known: map[store.Key]bool{}}
	var adding, fetching sync.WaitGroup
	calls := make(chan struct{}, 1)
	ended := make(chan struct{})
	for i := range 6 {
		adding.Go(func() { addUntil(t, c, told, rand.New(rand.NewPCG(uint64(i), 1)), calls, ended) })
	}
	for range 3 {
		fetching.Go(func() { fetchAll(t, c, calls) })
	}
	for range kills {
		for range 60 {
			<-calls // under load
		}
		d.kill(t)
		d.start(t)
	}
	close(ended)
	adding.Wait()
	fetching.Wait()
	told.check(t, c)
}

func (c *told) check(t *testing.T, f frontier.Interface) {
	lost := 0
	for key := range c.known {
		if c.fresh[key] > 1 {
			t.Errorf("%v was told new %d times", key, c.fresh[key])
		}
		if c.fresh[key] == 0 {
			if lost++; !c.resent[key] {
				t.Errorf("%v was told new to nobody, and no adder was told that it may be his own", key)
			}
		}
	}
	s, err := f.Stats(bg, "")
	if err != nil || s.Seen != int64(len(c.known)) || s.Completed != s.Seen || s.Held != 0 {
		t.Errorf("got %+v, %v; want the %d URLs that were answered, all fetched", s, err, len(c.known))
	}
	t.Logf("%d URLs, %d of them told new by an answer that was lost", len(c.known), lost)
}

// addUntil adds batches of overlapping URLs until the channel is closed.
func addUntil(t *testing.T, f frontier.Interface, c *told, random *rand.Rand, calls chan struct{}, ended <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-ended:
			return
		default:
		}
		urls := make([]frontier.Link, 1+random.IntN(40))
		for i := range urls {
			urls[i].URL = fmt.Sprintf("http://host%d.example/%d", random.IntN(50), n/4*10+random.IntN(10))
		}
		results, err := f.AddBatch(bg, urls)
		if err != nil {
			t.Error(err)
			return
		}
		for i := range results {
			c.take(&results[i])
		}
		tick(calls)
	}
}

// fetchAll fetches until the crawl is finished. The first URLs may come late.
func fetchAll(t *testing.T, f frontier.Interface, calls chan struct{}) {
	first, err := f.Next(bg)
	if err != nil {
		t.Error(err)
		return
	}
	settle := func(l *frontier.Lease) {
		if err := f.Done(bg, l); err != nil && !errors.Is(err, frontier.ErrStale) { // its lease may have run out while the daemon was away
			t.Error(err)
		}
		tick(calls)
	}
	settle(first)
	for l, err := range f.Leases(bg) {
		if err != nil {
			t.Error(err)
			return
		}
		settle(l)
	}
}

// tick counts a call, if the counter is listening.
func tick(calls chan struct{}) {
	select {
	case calls <- struct{}{}:
	default:
	}
}
