package redisstore

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firstseen/firstseen/store"
)

// TestADeletionHalfWayIsFinished stops the deletion of a queue after each of its pages. Another daemon's sweep,
// or its own deletion of the queue, continues: all URLs are new again.
func TestADeletionHalfWayIsFinished(t *testing.T) {
	t.Parallel()
	addr := sharedServer(t)
	const urls = 1100
	for stop := range 5 {
		for _, by := range []string{"sweep", "forget"} {
			t.Run(fmt.Sprint("after-", stop, "-by-", by), func(t *testing.T) {
				s := open(t, testOptions(addr, 8))
				defer s.Close()
				items := make([]store.Item, urls)
				for i := range items {
					items[i] = testItem(i, "a")
				}
				must(s.Add(t.Context(), "c", items, store.AddOptions{}))(t)
				leases := must(s.Take(t.Context(), store.TakeRequest{Crawl: "c", MaxURLs: 20, MaxPerQueue: 20}))(t).Leases
				shard, _ := s.layout.ofQueue(store.DefaultCrawl, "a")
				detach(t, s, shard, "a")
				dead := &forgetting{Store: s, crawl: "c"}
				for range stop {
					must(dead.deletedPage(t.Context(), shard, "a", 0))(t)
				}
				if by == "sweep" {
					must(true, s.sweep(t.Context(), 0))(t)
				} else {
					must(s.Forget(t.Context(), store.Selection{Crawl: "c", Queue: "a"}))(t)
				}
				if st := must(s.Stats(t.Context(), "c"))(t); st != (store.Stats{}) {
					t.Fatalf("got %+v; want nothing", st)
				}
				for _, v := range must(s.Add(t.Context(), "c", items, store.AddOptions{}))(t) {
					if v.Status != store.New {
						t.Fatalf("got %v; want new", v.Status)
					}
				}
				for _, l := range leases {
					if got := must(s.Settle(t.Context(), "c", []store.Settlement{{Key: l.Key, Token: l.Token}}))(t); got[0] != store.Stale {
						t.Fatalf("got %v for a lease of the deleted queue; want stale", got[0])
					}
				}
				if st := must(s.Stats(t.Context(), "c"))(t); st.Held != urls {
					t.Fatalf("got %+v; want %d held", st, urls)
				}
			})
		}
	}
}

// TestADeletedQueueLeavesNothing forgets URLs of a deleted queue, or moves them to another one, before a page with them comes:
// nothing remains of the deleted queue.
func TestADeletedQueueLeavesNothing(t *testing.T) {
	t.Parallel()
	addr := sharedServer(t)
	for name, move := range map[string]func(s *Store, items []store.Item) error{
		"forgotten": func(s *Store, items []store.Item) error {
			var keys []store.Key
			for _, it := range items {
				keys = append(keys, it.Key)
			}
			_, err := s.Forget(t.Context(), store.Selection{Crawl: "c", Keys: keys})
			return err
		},
		"moved": func(s *Store, items []store.Item) error {
			for i := range items {
				items[i].Queue, items[i].Force = "b", true
			}
			_, err := s.Add(t.Context(), "c", items, store.AddOptions{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, testOptions(addr, 8))
			defer s.Close()
			ctx, items := t.Context(), make([]store.Item, 40)
			for i := range items {
				items[i] = testItem(i, "a")
			}
			must(s.Add(ctx, "c", items, store.AddOptions{}))(t)
			must(s.Take(ctx, store.TakeRequest{Crawl: "c", MaxURLs: 10, MaxPerQueue: 10, Lease: time.Millisecond}))(t)
			must(s.Take(ctx, store.TakeRequest{Crawl: "c", MaxURLs: 20, MaxPerQueue: 20, Lease: time.Second}))(t)
			shard, _ := s.layout.ofQueue(store.DefaultCrawl, "a")
			detach(t, s, shard, "a")
			must(true, move(s, items))(t)
			must(s.Forget(ctx, store.Selection{Crawl: "c", Queue: "a"}))(t)
			time.Sleep(time.Second)
			s.idle.changes.Add(1)
			complete(t, s, must(s.Take(ctx, store.TakeRequest{Crawl: "c", MaxURLs: 40, MaxPerQueue: 40}))(t).Leases)
			if st := must(s.Stats(ctx, "c"))(t); st.Held > 0 || st.InFlight > 0 {
				t.Fatalf("got %+v; want nothing held", st)
			}
			for _, key := range must(only(t, s).Keys(ctx, s.opt.Prefix+"*").Result())(t) {
				if _, rest, _ := strings.Cut(key, "}"); strings.Contains("RLExzdG", rest[:1]) {
					t.Errorf("got %q; want nothing of a queue", key)
				}
			}
		})
	}
}

func detach(t *testing.T, s *Store, shard int, queue string) {
	t.Helper()
	if r := must(s.ask(t.Context(), scriptDeleteQueue, shard, "c", []byte(queue)))(t); r.left != "Y" {
		t.Fatalf("got %q; want the queue deleted", r.left)
	}
}

// TestDeletionsAndEverythingElseAtOnce deletes a queue again and again, four calls at a time, while others add,
// force, lease and complete its URLs. Afterwards the counters are right, every URL is either queued or new, and
// nothing was leased twice at a time.
func TestDeletionsAndEverythingElseAtOnce(t *testing.T) {
	t.Parallel()
	addr := sharedServer(t)
	for _, keep := range []bool{false, true} {
		t.Run(fmt.Sprint("keep-", keep), func(t *testing.T) {
			o := testOptions(addr, 8)
			o.KeepURLs = keep
			s := open(t, o)
			defer s.Close()
			items := make([]store.Item, 100)
			for i := range items {
				items[i] = testItem(i, "a")
			}
			for round := range 15 {
				var wg sync.WaitGroup
				do := func(f func() error) {
					wg.Go(func() {
						if err := f(); err != nil {
							t.Error(err)
						}
					})
				}
				for range 4 {
					do(func() error {
						_, err := s.Forget(t.Context(), store.Selection{Crawl: "c", Queue: "a"})
						return err
					})
				}
				do(func() error { _, err := s.Add(t.Context(), "c", items, store.AddOptions{}); return err })
				do(func() error {
					forced := append([]store.Item(nil), items[:10]...)
					for i := range forced {
						forced[i].Force = true
					}
					_, err := s.Add(t.Context(), "c", forced, store.AddOptions{MaxPerQueue: 90})
					return err
				})
				do(func() error {
					for range 5 {
						taken, err := s.Take(t.Context(), store.TakeRequest{Crawl: "c", MaxURLs: 10, MaxPerQueue: 10})
						if err != nil {
							return err
						}
						for _, l := range taken.Leases {
							if _, err := s.Settle(t.Context(), "c", []store.Settlement{{Key: l.Key, Token: l.Token}}); err != nil {
								return err
							}
						}
					}
					return nil
				})
				wg.Wait()
				consistent(t, s, round)
			}
			must(s.Forget(t.Context(), store.Selection{Crawl: "c", Queue: "a"}))(t)
			if st := must(s.Stats(t.Context(), "c"))(t); st.Held != 0 || st.Completed != 0 || st.Dropped != 0 || st.Queues != 0 || st.InFlight != 0 {
				t.Fatalf("got %+v; want a deleted queue", st)
			}
		})
	}
}

// consistent compares the counters with the listing.
func consistent(t *testing.T, s *Store, round int) {
	t.Helper()
	st := must(s.Stats(t.Context(), "c"))(t)
	held, dropped, seen := int64(0), int64(0), map[store.Key]bool{}
	for k, err := range s.Keys(t.Context(), "c") {
		must(true, err)(t)
		seen[k] = true
	}
	for e, err := range s.Entries(t.Context(), "c", "") {
		must(true, err)(t)
		switch e.State {
		case store.Queued, store.Leased:
			held++
		case store.Dropped:
			dropped++
		}
		if !seen[e.Key] {
			t.Fatalf("round %d: %x is in its queue and not known: it would be new again", round, e.Key)
		}
	}
	if st.Held != held || st.Seen != int64(len(seen)) || st.Completed > 100 || st.Completed < 0 || st.Dropped != dropped || st.InFlight > st.Held {
		t.Fatalf("round %d: got %+v; want %d held, %d dropped, %d seen", round, st, held, dropped, len(seen))
	}
}
