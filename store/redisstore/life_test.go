package redisstore

import (
	"encoding/hex"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/firstseen/firstseen/store"
)

// TestAStoreOfFormat8IsTakenOver opens a store as the build before left it, with a lease: the lease stays, pages completed count as fetched, and the limit of
// a crawl, which was that of each queue, is so still. The daemon of the older build, which still runs, is refused.
func TestAStoreOfFormat8IsTakenOver(t *testing.T) {
	t.Parallel()
	o := testOptions(sharedServer(t), 2)
	older := open(t, o)
	ctx, redis := t.Context(), only(t, older)
	must(older.Add(ctx, "c", []store.Item{testItem(1, "a"), testItem(2, "a"), testItem(3, "a")}, store.AddOptions{}))(t)
	leases := must(older.Take(ctx, store.TakeRequest{Crawl: "c", MaxURLs: 2, MaxPerQueue: 2, Lease: time.Hour}))(t).Leases
	must(older.Settle(ctx, "c", []store.Settlement{{Key: leases[0].Key, Token: leases[0].Token, Fetched: true}}))(t)

	l := older.layout
	l.mark = hex.EncodeToString([]byte(uint16Text(2))) + string(l.secret)
	must(redis.HSet(ctx, l.meta+"M", "format", uint16Text(8)).Result())(t)
	limit := make([]byte, 32)
	limit[29] = 2
	for _, base := range append(l.bases, l.meta) {
		must(redis.Set(ctx, base+"b", l.mark, 0).Result())(t)
		crawl := base + "C\x00\x00\x00\x01"
		if counts := redis.HGet(ctx, crawl, "counts").Val(); counts != "" {
			must(redis.HSet(ctx, crawl, "counts", counts[:43], "settings", limit).Result())(t)
		}
	}
	must(older.Stats(ctx, "c"))(t)

	s := open(t, o)
	defer closeAll(t, s, older)
	if _, err := older.Add(ctx, "c", []store.Item{testItem(4, "a")}, store.AddOptions{}); err == nil {
		t.Error("got no error of the older build; want it refused")
	}
	if st := must(s.Stats(ctx, "c"))(t); st.Fetched != 1 || st.Completed != 1 || st.Held != 2 || st.InFlight != 1 {
		t.Errorf("got %+v; want one fetched, one in flight and two held", st)
	}
	taken := must(s.Take(ctx, store.TakeRequest{Crawl: "c", MaxURLs: 2, MaxPerQueue: 2}))(t)
	if len(taken.Leases) > 0 || taken.State != store.Waiting || taken.Holding.Limited != 1 {
		t.Errorf("got %+v; want the queue at its limit, waiting for the lease", taken)
	}
	if got := must(s.Settle(ctx, "c", []store.Settlement{{Key: leases[1].Key, Token: leases[1].Token, Fetched: true}}))(t); got[0] != store.Settled {
		t.Errorf("got %v for the lease of the older build; want it settled", got[0])
	}
	if taken := must(s.Take(ctx, store.TakeRequest{Crawl: "c"}))(t); taken.State != store.Limited {
		t.Errorf("got state %v; want limited", taken.State)
	}
}

// TestADaemonOfAnOlderBuildIsRefused has a later build take over.
func TestADaemonOfAnOlderBuildIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t, testOptions(sharedServer(t), 2))
	defer s.Close()
	must(s.Beat(t.Context(), "a:7071"))(t)
	must(only(t, s).HSet(t.Context(), s.layout.meta+"M", "meanings", meanings+1).Result())(t)
	if _, err := s.Beat(t.Context(), "a:7071"); !errors.Is(err, store.ErrFormat) {
		t.Fatalf("got error %v; want %v", err, store.ErrFormat)
	}
	must(true, s.Leave(t.Context(), "a:7071"))(t)
}

// TestDaemonsShareTheLimitOfACrawl has two daemons take in turn, of one crawl and of all, from queues in all shards.
func TestDaemonsShareTheLimitOfACrawl(t *testing.T) {
	t.Parallel()
	o := testOptions(sharedServer(t), 8)
	daemons := []*Store{open(t, o), open(t, o)}
	defer closeAll(t, daemons...)
	ctx, limit := t.Context(), int64(25)
	for _, crawl := range []string{"c", "d"} {
		var items []store.Item
		for n := range 120 {
			items = append(items, testItem(n, fmt.Sprint("q", n%30)))
		}
		must(daemons[0].Add(ctx, crawl, items, store.AddOptions{}))(t)
		must(true, daemons[0].Configure(ctx, crawl, "", store.QueueChange{Limit: &limit}))(t)
	}
	leased := map[string]int64{}
	for n := 0; ; n++ {
		s := daemons[n%2]
		s.idle.changes.Add(1)
		taken := must(s.Take(ctx, store.TakeRequest{Crawl: []string{"c", "*"}[n/2%2], MaxURLs: 7, Lease: time.Hour}))(t)
		for i, l := range taken.Leases {
			leased[l.Crawl]++
			if i%2 == 0 {
				must(s.Settle(ctx, l.Crawl, []store.Settlement{{Key: l.Key, Token: l.Token, Fetched: true}}))(t)
			}
		}
		if leased["c"] > limit || leased["d"] > limit {
			t.Fatalf("got %v leases; want at most %d of each crawl", leased, limit)
		}
		if leased["c"]+leased["d"] == 2*limit {
			break
		}
		if n > 100 {
			t.Fatalf("got %v leases; want %d of each crawl", leased, limit)
		}
	}
}
