package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/redisstore"
)

// churnQueues is how many queues the churn has.
const churnQueues = 5

func churnItem(n int64) store.Item {
	it := item(1_000_000 + n)
	it.Queue = fmt.Sprintf("churn%d.example", n%churnQueues)
	return it
}

// churn adds, forces, takes, retries, completes, marks as not found, spells anew, forgets and deletes in a crawl of its own, until the context
// ends. Only calls that can't be promised may fail.
func (l *leases) churn(ctx context.Context, s *redisstore.Store, rng *rand.Rand) {
	do := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		n := rng.Int64N(300)
		items := make([]store.Item, 10)
		for i := range items {
			items[i] = churnItem(n + int64(i))
			switch rng.IntN(3) {
			case 0:
				items[i].Force = true
			case 1:
				items[i].URL, items[i].Variant = items[i].URL+"/.", true
			}
		}
		_, err := s.Add(do, "churn", items, store.AddOptions{MaxPerQueue: 40})
		l.promised("an add", err)
		taken, err := s.Take(do, store.TakeRequest{Crawl: "churn", MaxURLs: 10, MaxPerQueue: 3, Lease: time.Second})
		l.promised("a take", err)
		var list []store.Settlement
		for i, lease := range taken.Leases {
			st := store.Settlement{Key: lease.Key, Token: lease.Token}
			switch i % 6 {
			case 0, 3:
				st.Outcome, st.After, st.NewRound = store.Requeue, 50*time.Millisecond, i == 3
			case 1:
				st.Outcome, st.Failed, st.Mark = store.Drop, true, store.Spelling(lease.URL)
			}
			list = append(list, st)
		}
		_, err = s.Settle(do, "churn", list)
		l.promised("a settlement", err)
		switch rng.IntN(4) {
		case 0:
			_, err = s.Forget(do, store.Selection{Crawl: "churn", Queue: items[0].Queue})
		case 1:
			_, err = s.Forget(do, store.Selection{Crawl: "churn", Keys: []store.Key{items[0].Key, items[1].Key}})
		case 2:
			if group := []string{"", "g", "h"}[rng.IntN(3)]; l.options.Groups {
				err = s.Configure(do, "churn", items[0].Queue, store.QueueChange{Group: &group})
			}
		}
		l.promised("a deletion or a group", err)
		pause(ctx)
	}
}

// promised reports an error that no client should see.
func (l *leases) promised(what string, err error) {
	if err != nil && !errors.Is(err, store.ErrUnavailable) {
		l.Errorf("got %v of %s; want ErrUnavailable for what can't be promised", err, what)
	}
}

// settled compares the counters of the churn with the listing. Every URL that is held is known, and each queue can be deleted:
// then nothing is left.
func (l *leases) settled(s *redisstore.Store) {
	l.Helper()
	l.soon(func() string {
		st, err := s.Stats(l.ctx, "churn")
		l.check(err)
		held, seen := int64(0), map[store.Key]bool{}
		for k, err := range s.Keys(l.ctx, "churn") {
			l.check(err)
			seen[k] = true
		}
		for e, err := range s.Entries(l.ctx, "churn", "") {
			l.check(err)
			held++
			if !seen[e.Key] {
				return fmt.Sprintf("%s is in its queue and not known", e.URL)
			}
		}
		if st.Held != held || st.Seen != int64(len(seen)) || st.Completed < 0 || st.Dropped < 0 || st.Marked > st.Seen {
			return fmt.Sprintf("got %+v; want %d held, %d seen", st, held, len(seen))
		}
		return ""
	})
	for n := range int64(churnQueues) {
		_, err := s.Forget(l.ctx, store.Selection{Crawl: "churn", Queue: churnItem(n).Queue})
		l.check(err)
	}
	for q, err := range s.Queues(l.ctx, "churn", "") {
		if l.check(err); q.GroupInFlight != 0 {
			l.Errorf("got %d leases in flight of group %q of a queue; want none in deleted queues", q.GroupInFlight, q.Group)
		}
	}
	if st, err := s.Stats(l.ctx, "churn"); err != nil || st.Held != 0 || st.Completed+st.Dropped != 0 || st.Queues != 0 || st.Active != 0 || st.InFlight != 0 {
		l.Errorf("got %+v, %v; want nothing in deleted queues", st, err)
	}
}

// soon asks again and again, until there is nothing wrong: steps that were left half done are finished some time.
func (l *leases) soon(wrong func() string) {
	l.Helper()
	for what := wrong(); what != ""; what = wrong() {
		if l.ctx.Err() != nil {
			l.Fatal(what)
		}
		_ = async.Sleep(l.ctx, 500*time.Millisecond)
	}
}
