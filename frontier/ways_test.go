package frontier

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
)

// counted notes the steps of a store that a call of a frontier takes, each with how many URLs it has.
type counted struct {
	store.Store
	steps []string
}

func (s *counted) step(name string, n int) { s.steps = append(s.steps, fmt.Sprint(name, " ", n)) }

func (s *counted) Add(ctx context.Context, crawl string, items []store.Item, opt store.AddOptions) ([]store.Verdict, error) {
	s.step("add", len(items))
	return s.Store.Add(ctx, crawl, items, opt)
}

func (s *counted) Lookup(ctx context.Context, crawl string, keys []store.Key) ([]store.Entry, error) {
	s.step("look", len(keys))
	return s.Store.Lookup(ctx, crawl, keys)
}

func (s *counted) Settle(ctx context.Context, crawl string, list []store.Settlement) ([]store.SettleStatus, error) {
	s.step("settle", len(list))
	return s.Store.Settle(ctx, crawl, list)
}

func (s *counted) Forget(ctx context.Context, sel store.Selection) (int64, error) {
	s.step("forget", len(sel.Keys))
	return s.Store.Forget(ctx, sel)
}

// TestNothingIsAskedTwice: the way of a batch takes a fixed number of steps of the store, however many URLs it has, and each URL takes
// each of them once.
func TestNothingIsAskedTwice(t *testing.T) {
	const n = 7
	for _, keep := range []bool{false, true} {
		s := &counted{Store: memstore.New(memstore.Options{KeepURLs: keep})}
		f := openOn(t, s, Options{Delay: -1, MaxInFlight: -1, FailingAfter: -1, Traps: Traps{Queries: n}})
		links := func(path string, change func(*Link)) []Link {
			list := make([]Link, n)
			for i := range list {
				list[i].URL = fmt.Sprintf("http://a.example/%s?n=%d", path, i)
				if change != nil {
					change(&list[i])
				}
			}
			return list
		}
		leased := func() []*Lease {
			leases, _, err := f.Lease(bg, LeaseRequest{Max: n, MaxPerQueue: n})
			if must(t, err); len(leases) != n {
				t.Fatalf("got %d leases; want %d", len(leases), n)
			}
			for i, l := range leases {
				leases[i] = &Lease{URL: l.URL, Crawl: l.Crawl, Key: l.Key, Token: l.Token} // as a client sends it
			}
			return leases
		}
		settle := func(o Outcome) func() error {
			return func() error {
				list := make([]Settlement, n)
				for i, l := range leased() {
					list[i] = Settlement{Lease: l, Outcome: o}
				}
				_, err := f.Settle(bg, list)
				return err
			}
		}
		add := func(path string, change func(*Link)) func() error {
			return func() error { _, err := f.AddBatch(bg, links(path, change)); return err }
		}
		for _, c := range []struct {
			what string
			do   func() error
			want string
		}{
			{"new URLs", add("a", nil), "add 7"},
			{"known ones, where the path is full", add("a", nil), "look 7, add 7"},
			{"raised", add("a", func(u *Link) { u.Raise, u.Priority, u.SkipTraps = true, 3, true }), "add 7, look 7, settle 7"},
			{"raised no further", add("a", func(u *Link) { u.Raise, u.SkipTraps = true, true }), "add 7, look 7"},
			{"unless fetched", add("a", func(u *Link) { u.UnlessFetchedAfter, u.SkipTraps = time.Now(), true }), "add 7, look 7"},
			{"peek", func() error { _, err := f.Peek(bg, links("a", nil)); return err }, "look 7"},
			{"released by wire", settle(Release), "look 7, settle 7"},
			{"done by wire", settle(Done), "settle 7"},
			{"unless fetched, when done", add("a", func(u *Link) { u.UnlessFetchedAfter, u.SkipTraps = time.Now().Add(-time.Hour), true }),
				map[bool]string{false: "add 7", true: "add 7, look 7"}[keep]},
			{"a redirect by wire", func() error {
				if _, err := f.AddBatch(bg, []Link{{URL: "http://a.example/from"}}); err != nil {
					return err
				}
				leases, _, err := f.Lease(bg, LeaseRequest{})
				must(t, err)
				l := *leases[0]
				must(t, f.Done(bg, &l))
				s.steps = nil
				_, err = f.Redirect(bg, &Lease{URL: l.URL, Crawl: l.Crawl, Key: l.Key, Token: l.Token}, "/to")
				if err == nil {
					t.Error("a redirect after the URL was done: got no error")
				}
				return nil
			}, "look 1, look 1, settle 1"}, // of the lease, of the target
			{"put", func() error {
				list := make([]Known, n)
				for i, u := range links("b", nil) {
					list[i] = Known{Link: u, Next: time.Now().Add(-time.Minute), Outcome: Retry}
				}
				_, err := f.Put(bg, list)
				return err
			}, "look 7, settle 7"},
		} {
			s.steps = nil
			must(t, c.do())
			if got := strings.Join(s.steps, ", "); got != c.want {
				t.Errorf("%s, texts kept: %v: got %s; want %s", c.what, keep, got, c.want)
			}
		}
	}
}

// TestLookupsAreBounded: however many URLs a call has, at most lookedUp entries of the store are in memory at once: the URLs may be short, and what was
// queued with them long.
func TestLookupsAreBounded(t *testing.T) {
	const n = 2*lookedUp + 1
	s := &counted{Store: memstore.New(memstore.Options{})}
	f := openOn(t, s, Options{Delay: -1, Traps: Traps{Queries: n}})
	links, known := make([]Link, n), make([]Known, n)
	for i := range links {
		links[i] = Link{URL: fmt.Sprint("http://a.example/?", i)}
		known[i] = Known{Link: Link{URL: links[i].URL, Due: time.Now()}, Outcome: Retry}
		known[i].Next = time.Now().Add(time.Hour)
	}
	addAll(t, f, links...)
	for name, call := range map[string]func() error{
		"peek":      func() error { return second(f.Peek(bg, links)) },
		"full path": func() error { return second(f.AddBatch(bg, links)) },
		"put":       func() error { return second(f.Put(bg, known)) },
		"raise": func() error {
			for i := range links {
				links[i].Raise = true
			}
			return second(f.AddBatch(bg, links))
		},
	} {
		s.steps = nil
		must(t, call())
		looked := 0
		for _, step := range s.steps {
			var keys int
			if _, err := fmt.Sscanf(step, "look %d", &keys); err == nil {
				looked += keys
			}
			if keys > lookedUp {
				t.Errorf("%s: got a look-up of %d keys; want at most %d", name, keys, lookedUp)
			}
		}
		if looked < n {
			t.Errorf("%s: got %d keys looked up; want %d", name, looked, n)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// spoiled is a store with a damaged record.
type spoiled struct {
	store.Store
	key store.Key
}

func (s *spoiled) Lookup(ctx context.Context, crawl string, keys []store.Key) ([]store.Entry, error) {
	entries, err := s.Store.Lookup(ctx, crawl, keys)
	if i := slices.Index(keys, s.key); i >= 0 && err == nil {
		entries[i], err = store.Entry{}, &store.DamagedKeys{At: []int{i}, Err: store.ErrCorrupt}
	}
	return entries, err
}

func (s *spoiled) Settle(ctx context.Context, crawl string, list []store.Settlement) ([]store.SettleStatus, error) {
	at := slices.IndexFunc(list, func(one store.Settlement) bool { return one.Key == s.key })
	if at < 0 {
		return s.Store.Settle(ctx, crawl, list)
	}
	statuses, err := s.Store.Settle(ctx, crawl, slices.Delete(slices.Clone(list), at, at+1))
	return slices.Insert(statuses, at, store.Unreadable), err
}

// TestDamagedLeaseKeepsNoOther: leases that came by wire are settled although the record of one of them can't be read.
func TestDamagedLeaseKeepsNoOther(t *testing.T) {
	for _, o := range []Outcome{Retry, Defer, Drop, Release, Recrawl} {
		s := &spoiled{Store: memstore.New(memstore.Options{KeepURLs: true})}
		f := openOn(t, s, Options{Delay: -1, MaxInFlight: -1})
		addAll(t, f, Link{URL: "http://a.example/0"}, Link{URL: "http://a.example/1"}, Link{URL: "http://a.example/2"})
		var ends []Settlement
		for range 3 {
			l := leaseOne(t, f)
			ends = append(ends, Settlement{Lease: &Lease{URL: l.URL, Crawl: l.Crawl, Key: l.Key, Token: l.Token}, Outcome: o})
		}
		s.key = ends[1].Lease.Key
		answers, err := f.Settle(bg, ends)
		if must(t, err); answers[0] != OK || answers[1] != Stale || answers[2] != OK {
			t.Errorf("outcome %v: got %v; want the second stale, the others done", o, answers)
		}
	}
}
