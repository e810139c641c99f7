package redisstore

import (
	"fmt"
	"log/slog"
	"os"
	"testing"

	"github.com/firstseen/firstseen/store"
)

// TestEachTextHasAKey queues many URLs in one shard: each text has a Redis key, so that their slot can move to another node
// in small pieces. They are found, leased and completed, and all keys are gone when the crawl is.
func TestEachTextHasAKey(t *testing.T) {
	t.Parallel()
	s := open(t, testOptions(sharedServer(t), 1))
	defer s.Close()
	ctx, redis, urls := t.Context(), only(t, s), 6_000
	var items []store.Item
	for i := range urls {
		items = append(items, testItem(i, fmt.Sprint("q", i%500)))
	}
	must(s.Add(ctx, "c", items, store.AddOptions{}))(t)
	texts := func() int { return len(must(redis.Keys(ctx, s.opt.Prefix+"{0}R*").Result())(t)) }
	if n := texts(); n != urls {
		t.Fatalf("got %d texts; want %d", n, urls)
	}
	given := map[store.Key]bool{}
	for len(given) < urls {
		taken := must(s.Take(ctx, store.TakeRequest{Crawl: "c", MaxURLs: 2000, MaxPerQueue: 4}))(t)
		var list []store.Settlement
		for _, l := range taken.Leases {
			if given[l.Key] || l.URL == "" {
				t.Fatalf("got %+v; want each URL once, with its text", l)
			}
			given[l.Key] = true
			list = append(list, store.Settlement{Key: l.Key, Token: l.Token})
		}
		must(s.Settle(ctx, "c", list))(t)
	}
	if n := texts(); n != 0 {
		t.Fatalf("got %d texts of completed URLs; want none", n)
	}
	must(s.Add(ctx, "d", items[:3000], store.AddOptions{}))(t)
	for _, crawl := range []string{"c", "d"} {
		must(s.Forget(ctx, store.Selection{Crawl: crawl}))(t)
	}
	if n := texts(); n != 0 {
		t.Fatalf("got %d texts of forgotten crawls; want none", n)
	}
}

// TestTheStoresOwnKeyIsMadeAgain loses the key of the store, with the secret by which queues are spread and the number of
// shards: the shards have both.
func TestTheStoresOwnKeyIsMadeAgain(t *testing.T) {
	t.Parallel()
	for _, groups := range []bool{false, true} {
		t.Run(fmt.Sprint("groups ", groups), func(t *testing.T) { loseMeta(t, groups) })
	}
}

func loseMeta(t *testing.T, groups bool) {
	o := testOptions(sharedServer(t), 8)
	o.Groups = groups
	ctx := t.Context()
	id := store.Identity{Profile: "qiita", Version: 1, KeyKind: "k", Unicode: "15.0.0"}
	s := openFor(t, o, id)
	items := []store.Item{testItem(1, "a"), testItem(2, "b"), testItem(3, "c")}
	must(s.Add(ctx, "c", items, store.AddOptions{}))(t)
	keys := must(only(t, s).Keys(ctx, s.opt.Prefix+"{meta}*").Result())(t)
	must(only(t, s).Del(ctx, keys...).Result())(t)
	must(true, s.Close())(t)
	o.Shards, o.Groups, o.MustExist = 2, !groups, true
	s = open(t, o)
	defer s.Close()
	if s.layout.together != groups {
		t.Fatalf("got queues together %v; want %v, as the store was made", s.layout.together, groups)
	}
	if s.opt.Shards != 8 || s.Identity() != id || !s.unicodeHosts.Load() {
		t.Fatalf("got %d shards, %+v; want 8 and %+v, and any Unicode hosts", s.opt.Shards, s.Identity(), id)
	}
	if leases := takeAll(t, s); len(leases) != 3 {
		t.Fatalf("got %d leases; want 3", len(leases))
	}
	for _, v := range must(s.Add(ctx, "c", items, store.AddOptions{}))(t) {
		if v.Status != store.Duplicate {
			t.Fatalf("got %v; want a duplicate", v.Status)
		}
	}
}

// TestOpenIsRepeatable ends Open and Prepare at every time at which it looks at its context: while it makes a store, and while it makes the
// store's own key again. The next Open continues, and then the key can be made again as well: by then the store is the same
// wherever it ended, so that the second half runs once, or each time under FIRSTSEEN_TORTURE=1.
func TestOpenIsRepeatable(t *testing.T) {
	t.Parallel()
	addr := sharedServer(t)
	id := store.Identity{Profile: "qiita", Version: 1, KeyKind: "k", Unicode: "15.0.0"}
	for n, complete := int64(0), false; !complete; n++ {
		o := testOptions(addr, 2)
		o.Logger = slog.New(slog.DiscardHandler)
		s := openEnding(t, o, id, n)
		complete = s.err == nil
		s = openEnding(t, o, id, 1e6)
		if s.err != nil {
			t.Fatalf("after %d looks at a new store: %v", n, s.err)
		}
		o.MustExist = true
		if !complete && os.Getenv("FIRSTSEEN_TORTURE") != "1" {
			closeAll(t, s.Store)
			continue
		}
		for m, again := int64(0), false; !again; m++ {
			for _, key := range []string{"M", "b", "i"} {
				must(only(t, s.Store).Del(t.Context(), o.Prefix+"{meta}"+key).Result())(t)
			}
			closeAll(t, s.Store)
			s = openEnding(t, o, store.Identity{}, m)
			if again = s.err == nil; again {
				break
			}
			if s = openEnding(t, o, store.Identity{}, 1e6); s.err != nil || s.Identity() != id || s.opt.Shards != 2 {
				t.Fatalf("after %d looks at a new store and %d at its key: %v", n, m, s.err)
			}
		}
		closeAll(t, s.Store)
	}
}

// opened is what Open returned.
type opened struct {
	*Store
	err error
}

// openEnding opens and prepares a store with a context that ends when it is asked the nth time.
func openEnding(t *testing.T, o Options, id store.Identity, n int64) opened {
	ctx := &ending{Context: t.Context()}
	ctx.left.Store(n)
	s, err := Open(ctx, o)
	if err != nil {
		return opened{s, err}
	}
	if err := s.Prepare(ctx, store.Terms{Identity: id}); err != nil {
		closeAll(t, s)
		return opened{nil, err}
	}
	return opened{s, nil}
}
