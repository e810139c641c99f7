package redisstore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/redisstore"
)

// leaseTime is how long URLs are leased in the test. At its end, those are waited for whose fetcher died.
func leaseTime() time.Duration {
	if torturing() {
		return 6 * time.Second
	}
	return 3 * time.Second
}

// leases is the account of what daemons answered that add with a cap, take, retry and complete, while a node is broken. In another crawl they
// also force, forget and delete, and with groups the queues go from group to group. Nothing that was acknowledged is lost or fetched again after it
// was completed, nothing is leased twice within a lease, and at the end everything is drained and the counters are right.
type leases struct {
	*torture
	mu        sync.Mutex
	new       map[store.Key]bool // acknowledged
	completed map[store.Key]bool // acknowledged
	tried     map[store.Key]bool // to be completed
	until     map[store.Key]time.Time
	refetched int
	late      int // leases that had ended when their answer came
	lastTake  time.Time
	takeGap   time.Duration
}

// newLeases opens three daemons on a store of their own.
func newLeases(t *torture, groups bool) *leases {
	l := &leases{torture: t, new: map[store.Key]bool{}, completed: map[store.Key]bool{}, tried: map[store.Key]bool{}, until: map[store.Key]time.Time{}}
	l.prefix, l.options.Groups = "leases-"+l.prefix, groups
	for range 3 {
		l.daemons = append(l.daemons, l.open())
	}
	return l
}

// run breaks something while the daemons work.
func (l *leases) run(fault func()) {
	ctx, cancel := context.WithCancel(l.ctx)
	var wg sync.WaitGroup
	for n := range 6 {
		s, rng := l.daemons[n%3], rand.New(rand.NewPCG(uint64(n), 3))
		wg.Go(func() {
			for ctx.Err() == nil {
				l.offer(s, rng)
				l.work(s)
				pause(ctx)
			}
		})
	}
	for n, s := range l.daemons {
		wg.Go(func() { l.churn(ctx, s, rand.New(rand.NewPCG(uint64(n), 4))) })
	}
	l.after(time.Second)
	fault()
	l.check(l.cluster.WaitHealthy(l.ctx))
	l.after(time.Second)
	cancel()
	wg.Wait()
}

// offer adds a few URLs, some of them known.
func (l *leases) offer(s *redisstore.Store, rng *rand.Rand) {
	items := make([]store.Item, 20)
	for i := range items {
		n := l.next.Add(1)
		if rng.IntN(3) == 0 {
			n = rng.Int64N(n + 1)
		}
		items[i] = item(n)
	}
	got, err := s.Add(context.WithoutCancel(l.ctx), "c", items, store.AddOptions{MaxPerQueue: 30})
	if err != nil {
		if !errors.Is(err, store.ErrUnavailable) {
			l.Errorf("got %v of an add; want ErrUnavailable for what can't be promised", err)
		}
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, v := range got {
		if v.Status != store.New {
			continue
		}
		if l.new[items[i].Key] {
			l.Errorf("%s is new twice", items[i].URL)
		}
		l.new[items[i].Key] = true
	}
}

// work takes URLs and completes them, but for some that it forgets about. It returns their number.
func (l *leases) work(s *redisstore.Store) int {
	began := time.Now()
	taken, err := s.Take(context.WithoutCancel(l.ctx), store.TakeRequest{Crawl: "c", MaxURLs: 12, MaxPerQueue: 2, Lease: leaseTime()})
	if err != nil {
		return 0
	}
	ended := time.Now()
	var list []store.Settlement
	l.mu.Lock()
	if !l.lastTake.IsZero() {
		l.takeGap = max(l.takeGap, ended.Sub(l.lastTake))
	}
	l.lastTake = ended
	for i, lease := range taken.Leases {
		// Where a node is slow, the answer may come when the lease has ended, and another daemon has the URL.
		late := !ended.Before(lease.Expires)
		if late {
			l.late++
		}
		if !late && ended.Before(l.until[lease.Key]) {
			l.Errorf("%s is leased twice within a lease", lease.URL)
		}
		if !late && l.completed[lease.Key] {
			l.refetched++
		}
		if i == 7 { // its fetch failed
			list = append(list, store.Settlement{Key: lease.Key, Token: lease.Token, Outcome: store.Requeue, After: 100 * time.Millisecond})
			continue
		}
		if i == 11 { // its fetcher dies
			l.until[lease.Key] = began.Add(leaseTime())
			continue
		}
		l.tried[lease.Key] = true
		list = append(list, store.Settlement{Key: lease.Key, Token: lease.Token})
	}
	l.mu.Unlock()
	if len(list) == 0 {
		return len(taken.Leases)
	}
	got, err := s.Settle(context.WithoutCancel(l.ctx), "c", list)
	if err != nil {
		return len(taken.Leases)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, st := range got {
		if st == store.Settled && list[i].Outcome == store.Complete {
			l.completed[list[i].Key] = true
		}
	}
	return len(taken.Leases)
}

// drain takes the rest, and compares the account with the store's.
func (l *leases) drain() {
	s := l.patient()
	l.writable(s)
	l.finish(s)
	var st store.Stats
	l.torture.until(func() bool {
		l.work(s)
		var err error
		st, err = s.Stats(l.ctx, "c")
		l.check(err)
		return st.Held == 0
	})
	for k := range l.new {
		if !l.tried[k] {
			l.Errorf("%x was acknowledged, and never handed out", k[:4])
		}
	}
	if l.refetched > 0 {
		l.Errorf("%d URLs were handed out again after they were completed", l.refetched)
	}
	if st.Completed != st.Seen || st.Completed < int64(len(l.completed)) || st.InFlight != 0 || st.Active != 0 {
		l.Errorf("got %+v at the end; want all %d completed, once", st, len(l.completed))
	}
	l.Logf("%d URLs acknowledged, %d completed, %d leases came late, longest time without a take %v", len(l.new), st.Completed, l.late, l.takeGap.Round(time.Millisecond))
}
