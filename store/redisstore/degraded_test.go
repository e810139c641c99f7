package redisstore_test

import (
	"testing"
	"time"

	"github.com/firstseen/firstseen/internal/rediscluster"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/redisstore"
)

// leaser takes and completes URLs, and keeps account.
type leaser struct {
	*torture
	s        *redisstore.Store
	lease    time.Duration
	given    map[store.Key]int // how often a URL was handed out
	failures int
}

func (l *leaser) take(complete bool) int {
	l.Helper()
	taken, err := l.s.Take(l.ctx, store.TakeRequest{Crawl: "c", MaxURLs: 20, MaxPerQueue: 5, Lease: l.lease})
	if err != nil {
		l.failures++
		return 0
	}
	for _, lease := range taken.Leases {
		l.given[lease.Key]++
		if lease.Attempts > l.given[lease.Key] {
			l.Errorf("%s counts %d leases, and was handed out %d times", lease.URL, lease.Attempts, l.given[lease.Key])
		}
		if complete {
			_, err := l.s.Settle(l.ctx, "c", []store.Settlement{{Key: lease.Key, Token: lease.Token}})
			l.check(err)
		}
	}
	return len(taken.Leases)
}

// withoutAReplica stops one replica for 20 lease periods and more. Healthy shards hand out their URLs;
// takes of the others don't use up leases: afterwards every acknowledged URL is handed out, and none counts a lease
// that no client had.
func withoutAReplica(t *testing.T, c *rediscluster.Cluster) {
	tt := newTorture(t, c, 0)
	l := &leaser{torture: tt, s: tt.openWaiting(tt.shards, 200*time.Millisecond, 5*time.Second), lease: 250 * time.Millisecond, given: map[store.Key]int{}}
	const urls = 300
	items := make([]store.Item, urls)
	for i := range items {
		items[i] = item(int64(i))
	}
	_, err := l.s.Add(tt.ctx, "c", items, store.AddOptions{})
	tt.check(err)
	replica := tt.replica(tt.master(0))
	tt.check(c.Nodes[replica].Stop())
	handed := 0
	for end := time.Now().Add(20 * l.lease); time.Now().Before(end) || handed == 0 && tt.ctx.Err() == nil; {
		handed += l.take(false)
	}
	if handed == 0 || l.failures > 0 {
		t.Errorf("got %d URLs handed out and %d takes refused while a replica was missing; want some and none", handed, l.failures)
	}
	tt.check(c.Nodes[replica].Cont())
	tt.writable(l.s)
	tt.after(2 * l.lease)
	l.lease = time.Minute
	tt.until(func() bool { l.take(true); st, err := l.s.Stats(tt.ctx, "c"); return err == nil && st.Held == 0 })
	if len(l.given) != urls {
		t.Errorf("got %d of %d URLs", len(l.given), urls)
	}
}

// withoutAMaster kills a master and its replica: the other shards hand out URLs.
func withoutAMaster(t *testing.T, c *rediscluster.Cluster) {
	tt := newTorture(t, c, 0)
	tt.options.Replicas = -1
	l := &leaser{torture: tt, s: tt.open(), lease: time.Minute, given: map[store.Key]int{}}
	items := make([]store.Item, 300)
	for i := range items {
		items[i] = item(int64(i))
	}
	_, err := l.s.Add(tt.ctx, "c", items, store.AddOptions{})
	tt.check(err)
	master := tt.master(0)
	replica := tt.replica(master)
	tt.check(c.Nodes[replica].Kill())
	tt.check(c.Nodes[master].Kill())
	longest := time.Duration(0)
	for l.failures == 0 && len(l.given) < 100 {
		began := time.Now()
		l.take(false)
		longest = max(longest, time.Since(began))
	}
	if l.failures > 0 {
		t.Errorf("got %d URLs and a take refused; want those of two masters", len(l.given))
	}
	t.Logf("%d URLs from two of three masters, longest take %v", len(l.given), longest)
	tt.check(c.Nodes[master].Restart(tt.ctx))
	tt.check(c.Nodes[replica].Restart(tt.ctx))
}
