package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/firstseen/firstseen/store"
)

// item returns a URL of a queue.
func item(n int, queue string) store.Item {
	return store.Item{Key: key(n), Queue: queue, URL: url(n)}
}

func url(n int) string { return fmt.Sprintf("http://example.org/%d", n) }

// add adds items to the default crawl.
func (f *fixture) add(items ...store.Item) []store.Verdict {
	f.Helper()
	return f.addWith(store.AddOptions{}, items...)
}

func (f *fixture) addWith(opt store.AddOptions, items ...store.Item) []store.Verdict {
	f.Helper()
	v, err := f.s.Add(f.ctx, "", items, opt)
	f.check(err)
	equal(f, "number of verdicts", len(v), len(items))
	return v
}

// fill adds n items, numbered from first, to a queue.
func (f *fixture) fill(queue string, first, n int) {
	f.Helper()
	items := make([]store.Item, n)
	for i := range items {
		items[i] = item(first+i, queue)
	}
	for i, v := range f.add(items...) {
		if v.Status != store.New {
			f.Fatalf("got %v for item %d; want new", v, i)
		}
	}
}

// take takes from the default crawl.
func (f *fixture) take(req store.TakeRequest) []store.Entry {
	f.Helper()
	return f.taken(req).Leases
}

func (f *fixture) taken(req store.TakeRequest) store.Taken {
	f.Helper()
	got, err := f.s.Take(f.ctx, req)
	f.check(err)
	return got
}

// takeAll takes all that one call may give.
func (f *fixture) takeAll() []store.Entry {
	f.Helper()
	return f.take(store.TakeRequest{MaxURLs: 1000, MaxPerQueue: 1000})
}

// one takes exactly one URL.
func (f *fixture) one() store.Entry {
	f.Helper()
	l := f.take(store.TakeRequest{})
	if len(l) != 1 {
		f.Fatalf("got %d leases; want 1", len(l))
	}
	return l[0]
}

// wantKeys fails the test unless the leases are of these items, in order.
func (f *fixture) wantKeys(got []store.Entry, want ...int) {
	f.Helper()
	ok := len(got) == len(want)
	for i := 0; ok && i < len(got); i++ {
		ok = got[i].Key == key(want[i])
	}
	if !ok {
		var urls []string
		for _, l := range got {
			urls = append(urls, l.URL)
		}
		f.Fatalf("got %q; want %v", urls, want)
	}
}

// settle settles one URL of the default crawl.
func (f *fixture) settle(s store.Settlement) store.SettleStatus {
	f.Helper()
	got, err := f.s.Settle(f.ctx, "", []store.Settlement{s})
	f.check(err)
	equal(f, "number of answers", len(got), 1)
	return got[0]
}

// end settles a lease.
func (f *fixture) end(l store.Entry, o store.Outcome) store.SettleStatus {
	f.Helper()
	return f.settle(store.Settlement{Key: l.Key, Token: l.Token, Outcome: o})
}

// fetched completes a lease, as a page that was fetched.
func (f *fixture) fetched(l store.Entry) store.SettleStatus {
	f.Helper()
	return f.settle(store.Settlement{Key: l.Key, Token: l.Token, Late: true, Fetched: true})
}

// set configures a queue of the default crawl.
func (f *fixture) set(queue string, c store.QueueChange) {
	f.Helper()
	f.check(f.s.Configure(f.ctx, "", queue, c))
}

func (f *fixture) info(queue string) store.QueueInfo {
	f.Helper()
	info, err := f.s.QueueInfo(f.ctx, "", queue)
	f.check(err)
	return info
}

func (f *fixture) lookup(n int) store.Entry {
	f.Helper()
	list, err := f.s.Lookup(f.ctx, "", []store.Key{key(n)})
	f.check(err)
	equal(f, "known", list[0].Known(), true)
	return list[0]
}

func (f *fixture) wantUnknown(n int) {
	f.Helper()
	list, err := f.s.Lookup(f.ctx, "", []store.Key{key(n)})
	f.check(err)
	f.check(sameEntry(list[0], store.Entry{}))
}

func (f *fixture) wantStats(want store.Stats) {
	f.Helper()
	got, err := f.s.Stats(f.ctx, "")
	f.check(err)
	equal(f, "stats", got, want)
}

// ago and ahead are times around the clock's.
func (f *fixture) ahead(d time.Duration) time.Time { return f.Now().Add(d) }

// Lookup returns the entry of one key, or [store.ErrNotFound].
func Lookup(ctx context.Context, s store.Store, crawl string, key store.Key) (store.Entry, error) {
	list, err := s.Lookup(ctx, crawl, []store.Key{key})
	if err != nil {
		return store.Entry{}, err
	}
	if !list[0].Known() {
		err = store.ErrNotFound
	}
	return list[0], err
}
