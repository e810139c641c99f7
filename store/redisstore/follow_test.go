package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/internal/rediscluster"
	"github.com/firstseen/firstseen/store"
)

// TestAQueueIsAskedForAfterAClockIsSetBack sets the servers' clock back while a queue waits for its delay. Its state is
// asked for before the next take: the queue is still served after its delay.
func TestAQueueIsAskedForAfterAClockIsSetBack(t *testing.T) {
	t.Parallel()
	s, at := openWithClock(t, 1)
	defer s.Close()
	items := []store.Item{testItem(1, "a"), testItem(2, "a")}
	for i := range items {
		items[i].Due = at.now().Add(-48 * time.Hour)
	}
	must(s.Add(t.Context(), "c", items, store.AddOptions{}))(t)
	take := func() int {
		return len(must(s.Take(t.Context(), store.TakeRequest{Crawl: "c", Delay: time.Minute, Lease: 1000 * time.Hour}))(t).Leases)
	}
	if n := take(); n != 1 {
		t.Fatalf("got %d leases; want one", n)
	}
	at.step(-24 * time.Hour)
	must(s.QueueInfo(t.Context(), "c", "a"))(t)
	given := 0
	for range 3 { // the first take may count the delay from its own time
		at.step(2 * time.Minute)
		given += take()
	}
	if given != 1 {
		t.Fatalf("got %d leases after the delay; want one", given)
	}
}

// TestTheSweepAfterAClockIsSetBack leaves an add and a deletion half done, and sets the servers' clock back: both are finished
// nevertheless.
func TestTheSweepAfterAClockIsSetBack(t *testing.T) {
	t.Parallel()
	s, at := openWithClock(t, 1)
	defer s.Close()
	must(s.Add(t.Context(), "c", []store.Item{testItem(1, "a")}, store.AddOptions{}))(t)
	detach(t, s, 0, "a")
	begin(t, s, store.AddOptions{}, testItem(2, "b"))
	begin(t, s, store.AddOptions{MaxPerQueue: 1}, testItem(3, "c"))
	wantOutboxes(t, s, 1, 1)
	at.step(-24 * time.Hour)
	must(true, s.sweep(t.Context(), time.Minute))(t)
	wantOutboxes(t, s, 0, 0)
	wantHeld(t, s, 2)
}

// TestLeasesAfterAClockIsSetBack sets the servers' clock back while more leases run than a take looks at: each ends after its time.
func TestLeasesAfterAClockIsSetBack(t *testing.T) {
	t.Parallel()
	s, at := openWithClock(t, 1)
	defer s.Close()
	items := testItems(0, 200)
	for i := range items {
		items[i].Due = at.now().Add(-48 * time.Hour)
	}
	must(s.Add(t.Context(), "c", items, store.AddOptions{}))(t)
	take := func(want int) (leases []store.Entry) {
		t.Helper()
		for range 5 { // a take looks at some of the leases that ran out
			taken := must(s.Take(t.Context(), store.TakeRequest{Crawl: "c", MaxURLs: 200, MaxPerQueue: 200, Lease: time.Hour}))(t)
			leases = append(leases, taken.Leases...)
		}
		if len(leases) != want {
			t.Fatalf("got %d leases; want %d", len(leases), want)
		}
		return leases
	}
	complete(t, s, take(200)[:50])
	at.step(-24 * time.Hour)
	take(0)
	at.step(59 * time.Minute)
	take(0)
	at.step(2 * time.Minute)
	if st := must(s.Stats(t.Context(), "c"))(t); st.InFlight != 0 || st.Held != 150 {
		t.Fatalf("got %+v; want 150 held and none in flight", st)
	}
	complete(t, s, take(150))
	if n := must(only(t, s).Exists(t.Context(), s.layout.bases[0]+"E\x00\x00\x00\x01").Result())(t); n != 0 {
		t.Fatal("got lists of leases; want none")
	}
}

// TestCursorsEndWithTheirServer changes a setting that must reach every queue, and restarts the server when the first page of
// them was filed again: cursors of the old process say nothing to the new one.
func TestCursorsEndWithTheirServer(t *testing.T) {
	t.Parallel()
	c := must(rediscluster.Start(t.Context(), rediscluster.Options{Config: []string{"appendfsync always"}}))(t)
	defer c.Close()
	o := testOptions(c.Nodes[0].Addr, 1)
	s := open(t, o)
	defer s.Close()
	ctx, items, hour := t.Context(), []store.Item(nil), time.Hour
	for i := range 3000 {
		items = append(items, testItem(i, fmt.Sprint("q", i)))
	}
	must(s.Add(ctx, "c", items, store.AddOptions{}))(t)
	must(s.Take(ctx, store.TakeRequest{Crawl: "c", MaxURLs: 2000, Lease: time.Millisecond, Delay: hour}))(t)
	must(s.Take(ctx, store.TakeRequest{Crawl: "c", MaxURLs: 2000, Lease: time.Millisecond, Delay: hour}))(t)
	none := -time.Millisecond // no delay: every queue is ready again
	must(true, s.Configure(ctx, "c", "", store.QueueChange{Delay: &none}))(t)
	given := len(must(s.Take(ctx, store.TakeRequest{Crawl: "c"}))(t).Leases)
	must(true, c.Nodes[0].Kill())(t)
	must(true, c.Nodes[0].Restart(ctx))(t)
	for range 60 {
		given += len(must(s.Take(ctx, store.TakeRequest{Crawl: "c", MaxURLs: 2000, Lease: hour}))(t).Leases)
	}
	if given != 3000 {
		t.Fatalf("got %d URLs of 3,000 queues without a delay; want all", given)
	}
}

// TestAPageOfURLsDueAtOnce lists URLs that are all due at the same time, while the last of each page is taken away: none is
// shown twice or missed, and no command reads all of them.
func TestAPageOfURLsDueAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t, testOptions(rediscluster.Single(t), 1))
	defer s.Close()
	ctx, due := t.Context(), time.Now().Add(-time.Minute)
	var items []store.Item
	for i := range 5000 {
		items = append(items, testItem(i, "a"))
		items[i].Due = due
	}
	must(s.Add(ctx, "c", items, store.AddOptions{}))(t)
	must(only(t, s).ConfigResetStat(ctx).Result())(t)
	shown := 0
	for e, err := range s.Entries(ctx, "c", "a") {
		must(true, err)(t)
		if want := items[shown].Key; e.Key != want {
			t.Fatalf("got %x as URL %d; want %x", e.Key[:4], shown, want[:4])
		}
		if shown++; shown%maxPart == 0 {
			must(s.Settle(ctx, "c", []store.Settlement{{Key: e.Key}}))(t)
		}
	}
	if shown != len(items) {
		t.Fatalf("got %d URLs; want %d", shown, len(items))
	}
	if stats := must(only(t, s).Info(ctx, "commandstats").Result())(t); strings.Contains(stats, "cmdstat_zrangebyscore:") {
		t.Fatal("got a range of URLs read without a bound")
	}
}

// TestPagesOfPriorities lists URLs of all priorities, whose pages end within one: each is listed once, the highest first.
func TestPagesOfPriorities(t *testing.T) {
	t.Parallel()
	s := open(t, testOptions(sharedServer(t), 1))
	defer s.Close()
	var items []store.Item
	for i := range 3 * maxPart {
		it := testItem(i, "a")
		it.Priority = uint8(i % (store.MaxPriority + 1))
		items = append(items, it)
	}
	must(s.Add(t.Context(), "c", items, store.AddOptions{}))(t)
	shown, last := map[store.Key]bool{}, uint8(store.MaxPriority)
	for e, err := range s.Entries(t.Context(), "c", "a") {
		if must(true, err)(t); shown[e.Key] || e.Priority > last {
			t.Fatalf("got %+v after priority %d; want each URL once, the highest priority first", e, last)
		}
		shown[e.Key], last = true, e.Priority
	}
	if len(shown) != len(items) {
		t.Fatalf("got %d URLs; want %d", len(shown), len(items))
	}
}
