package redisstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/firstseen/firstseen/internal/rediscluster"
	"github.com/firstseen/firstseen/store"
)

// TestDaemonsShareACrawl lets several daemons add the same URLs and take them: each URL
// is new once and leased once, and what one forgets is forgotten for all.
func TestDaemonsShareACrawl(t *testing.T) {
	t.Parallel()
	o := testOptions(sharedServer(t), 16)
	daemons := make([]*Store, 3)
	for i := range daemons {
		daemons[i] = open(t, o)
		defer daemons[i].Close()
	}
	const urls, batch = 900, 60
	var mu sync.Mutex
	fresh, leased := map[store.Key]int{}, map[store.Key]int{}
	each := func(work func(d *Store, n int) error) {
		var wg sync.WaitGroup
		for n := range 6 {
			wg.Go(func() {
				if err := work(daemons[n%len(daemons)], n); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	each(func(d *Store, n int) error {
		order := rand.New(rand.NewPCG(uint64(n), 1)).Perm(urls)
		for ; len(order) > 0; order = order[batch:] {
			items := make([]store.Item, batch)
			for i, u := range order[:batch] {
				items[i] = testItem(u, fmt.Sprint("host-", u%50))
			}
			v, err := d.Add(t.Context(), "", items, store.AddOptions{WantFirst: n == 0})
			if err != nil {
				return err
			}
			mu.Lock()
			for i := range v {
				if v[i].Status == store.New {
					fresh[items[i].Key]++
				}
			}
			mu.Unlock()
		}
		return nil
	})
	each(func(d *Store, n int) error {
		for {
			got, err := d.Take(t.Context(), store.TakeRequest{MaxURLs: 40, MaxPerQueue: 3, Lease: time.Hour})
			if err != nil || len(got.Leases) == 0 {
				return err
			}
			list := make([]store.Settlement, len(got.Leases))
			mu.Lock()
			for i, l := range got.Leases {
				leased[l.Key]++
				list[i] = store.Settlement{Key: l.Key, Token: l.Token}
			}
			mu.Unlock()
			if _, err := daemons[(n+1)%len(daemons)].Settle(t.Context(), "", list); err != nil {
				return err
			}
		}
	})
	for u := range urls {
		if k := testItem(u, "").Key; fresh[k] != 1 || leased[k] != 1 {
			t.Fatalf("got URL %d new %d times and leased %d times; want once", u, fresh[k], leased[k])
		}
	}
	if st := must(daemons[0].Stats(t.Context(), ""))(t); st != (store.Stats{Seen: urls, Completed: urls, Queues: 50}) {
		t.Fatalf("got %+v; want all %d completed", st, urls)
	}
	if n := must(daemons[1].Forget(t.Context(), store.Selection{}))(t); n != urls {
		t.Fatalf("got %d keys forgotten; want %d", n, urls)
	}
	v := must(daemons[2].Add(t.Context(), "", []store.Item{testItem(1, "a")}, store.AddOptions{}))(t)
	if v[0].Status != store.New {
		t.Fatalf("got %v for a forgotten URL; want new", v[0].Status)
	}
}

// TestScriptsAreLoadedAgain flushes them from the server, as a restart does.
func TestScriptsAreLoadedAgain(t *testing.T) {
	t.Parallel()
	s := open(t, testOptions(rediscluster.Single(t), 4))
	defer s.Close()
	for n := range 3 {
		must(s.Add(t.Context(), "", []store.Item{testItem(n, "a"), testItem(n+10, "b")}, store.AddOptions{}))(t)
		must(only(t, s).ScriptFlush(t.Context()).Result())(t)
	}
	if st := must(s.Stats(t.Context(), ""))(t); st.Seen != 6 || st.Held != 6 {
		t.Fatalf("got %+v; want 6 seen and held", st)
	}
}

// TestForgottenCrawlsAreSwept leaves nothing of a crawl in the server but numbers, answers and the identity.
func TestForgottenCrawlsAreSwept(t *testing.T) {
	t.Parallel()
	o := testOptions(sharedServer(t), 2)
	o.KeepURLs, o.Groups = true, true
	s := open(t, o)
	defer s.Close()
	for i := range 700 {
		group := fmt.Sprint("g", i%600)
		must(true, s.Configure(t.Context(), "", fmt.Sprint("q", i), store.QueueChange{Group: &group}))(t)
	}
	items := make([]store.Item, 3000)
	for i := range items {
		items[i] = testItem(i, fmt.Sprint("q", i%700))
		items[i].Priority = uint8(i % 3)
	}
	must(s.Add(t.Context(), "", items, store.AddOptions{}))(t)
	for done := 0; done < 500; { // a take is short where the server is slow
		for _, l := range must(s.Take(t.Context(), store.TakeRequest{MaxURLs: 500}))(t).Leases {
			if done++; done%2 == 0 {
				must(s.Settle(t.Context(), "", []store.Settlement{{Key: l.Key, Token: l.Token}}))(t)
			}
		}
	}
	must(s.Forget(t.Context(), store.Selection{}))(t)
	for _, base := range s.layout.bases {
		keys := must(only(t, s).Keys(t.Context(), base+"*").Result())(t)
		for _, k := range keys {
			if kind := k[len(base)]; kind != 'S' && kind != 'r' && kind != 'b' && kind != 'i' {
				t.Errorf("got key %q after the crawl was forgotten", k)
			}
		}
	}
}

// TestIdentity prepares a store for another identity.
func TestIdentity(t *testing.T) {
	t.Parallel()
	o := testOptions(sharedServer(t), 2)
	id := store.Identity{Profile: "qiita", Version: 1, KeyKind: "url-short-hash", Unicode: "15.0.0"}
	if err := openFor(t, o, id).Close(); err != nil {
		t.Fatal(err)
	}
	newer, other := id, id
	newer.Unicode, other.Profile = "16.0.0", "whatwg"
	o.Shards = 8
	s := openFor(t, o, newer)
	defer s.Close()
	if s.opt.Shards != 2 {
		t.Fatalf("got %d shards; want the 2 it was made with", s.opt.Shards)
	}
	must(s.Add(t.Context(), "", []store.Item{{Key: store.Key{1}, Queue: "a", UnicodeHost: true}}, store.AddOptions{}))(t)
	again := open(t, o)
	defer again.Close()
	for name, id := range map[string]store.Identity{"another profile": other, "another Unicode version after such keys": id} {
		if err := again.Prepare(t.Context(), store.Terms{Identity: id}); !errors.Is(err, store.ErrIdentity) {
			t.Errorf("%s: got error %v; want %v", name, err, store.ErrIdentity)
		}
	}
}

// TestAnotherFormatIsRefused opens a store of a format that is not read any more, and of one to come.
func TestAnotherFormatIsRefused(t *testing.T) {
	t.Parallel()
	o := testOptions(sharedServer(t), 2)
	s := open(t, o)
	defer s.Close()
	for _, format := range []string{uint16Text(formatVersion - 2), uint16Text(formatTogether + 1), ""} {
		if err := only(t, s).HSet(t.Context(), s.layout.meta+"M", "format", format).Err(); err != nil {
			t.Fatal(err)
		}
		if other, err := Open(t.Context(), o); err == nil {
			other.Close()
			t.Errorf("format %x: got no error; want %v", format, store.ErrFormat)
		} else if !errors.Is(err, store.ErrFormat) {
			t.Errorf("format %x: got error %v; want %v", format, err, store.ErrFormat)
		}
	}
}
