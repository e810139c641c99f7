package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/firstseen/firstseen/store"
)

var listCases = []testCase{
	{"queues are listed in order of crawl and name", func(f *fixture) {
		w := uint8(2)
		f.set("m", store.QueueChange{Weight: &w})
		f.fill("z", 0, 1)
		f.fill("a\x00b", 1, 1)
		f.fill("a", 2, 1)
		_, err := f.s.Add(f.ctx, "X", []store.Item{item(0, "q")}, store.AddOptions{})
		f.check(err)
		f.wantQueues("", "", "a", "a\x00b", "m", "z")
		f.wantQueues("", "a", "a\x00b", "m", "z")
		f.wantQueues("", "b", "m", "z")
		f.wantQueues("", "z")
		f.wantQueues("none", "")
		f.wantQueues("*", "", "a", "a\x00b", "m", "z", "q")
		_, err = collect(f.s.Queues(f.ctx, "*", "a"))
		f.wantErr(err, store.ErrInvalid)
	}},
	{"URLs are listed by queue: ended, leased, queued", func(f *fixture) {
		f.fill("b", 0, 3)
		f.fill("a", 10, 3)
		f.add(high(20, "b"), high(21, "b"), high(22, "b"), item(30, ""))
		for _, o := range []store.Outcome{store.Complete, store.Drop, store.Complete} {
			f.end(f.take(store.TakeRequest{Queue: "b"})[0], o)
		}
		f.take(store.TakeRequest{Queue: "b", Lease: time.Hour})   // 0
		f.take(store.TakeRequest{Queue: "b", Lease: time.Minute}) // 1
		f.fill("dropped", 40, 1)
		f.end(f.take(store.TakeRequest{Queue: "dropped"})[0], store.Drop)
		var ended, last []int
		if f.env.KeepURLs {
			ended, last = []int{20, 21, 22}, []int{40}
			slices.SortFunc(ended, func(a, b int) int { return key(a).Compare(key(b)) })
		}
		b := append(ended, 1, 0, 2)
		f.wantEntries("b", b...)
		f.wantEntries("", slices.Concat([]int{10, 11, 12}, b, last)...)
		f.wantEntries("none")
	}},
	{"listings are longer than a page", func(f *fixture) {
		const n = 3000
		items := make([]store.Item, n)
		for i := range items {
			items[i] = item(i, fmt.Sprintf("q%04d", i/2))
		}
		f.add(items...)
		entries, err := collect(f.s.Entries(f.ctx, "", ""))
		f.check(err)
		equal(f, "entries", len(entries), n)
		for i, e := range entries {
			equal(f, "entry", e.URL, url(i))
		}
		queues, err := collect(f.s.Queues(f.ctx, "", ""))
		f.check(err)
		equal(f, "queues", len(queues), n/2)
		keys, err := collect(f.s.Keys(f.ctx, ""))
		f.check(err)
		equal(f, "keys", len(keys), n)
	}},
	{"a long queue is listed whole", func(f *fixture) {
		const n = 3000
		f.fill("a", 0, n)
		var ended []store.Settlement
		for _, l := range f.take(store.TakeRequest{MaxURLs: n / 2, MaxPerQueue: n}) {
			ended = append(ended, store.Settlement{Key: l.Key, Token: l.Token, Outcome: store.Complete})
		}
		_, err := f.s.Settle(f.ctx, "", ended)
		f.check(err)
		entries, err := collect(f.s.Entries(f.ctx, "", "a"))
		f.check(err)
		equal(f, "entries", len(entries), n/2+n/2*int(one(f.env.KeepURLs)))
	}},
	{"a listing can be left, and the store used meanwhile", func(f *fixture) {
		f.fill("a", 0, 3)
		for _, err := range f.s.Keys(f.ctx, "") {
			f.check(err)
			f.add(item(100, "b"))
			break
		}
		for e, err := range f.s.Entries(f.ctx, "", "") {
			f.check(err)
			f.settle(store.Settlement{Key: e.Key, Outcome: store.Drop})
			break
		}
		for q, err := range f.s.Queues(f.ctx, "", "") {
			f.check(err)
			f.take(store.TakeRequest{Queue: q.Name})
			break
		}
	}},
	{"one crawl is listed at a time", func(f *fixture) {
		_, err := collect(f.s.Keys(f.ctx, "*"))
		f.wantErr(err, store.ErrInvalid)
		_, err = collect(f.s.Entries(f.ctx, "*", ""))
		f.wantErr(err, store.ErrInvalid)
		_, err = f.s.Lookup(f.ctx, "*", []store.Key{key(1)})
		f.wantErr(err, store.ErrInvalid)
		keys, err := collect(f.s.Keys(f.ctx, "none"))
		f.check(err)
		equal(f, "keys", len(keys), 0)
	}},
	{"an unknown crawl has zero counts", func(f *fixture) {
		st, err := f.s.Stats(f.ctx, "none")
		f.check(err)
		equal(f, "stats", st, store.Stats{})
		names, err := f.s.Crawls(f.ctx)
		f.check(err)
		equal(f, "crawls", len(names), 0)
	}},
}

// high is an item of a higher priority than others have.
func high(n int, queue string) store.Item {
	it := item(n, queue)
	it.Priority = 1
	return it
}

func (f *fixture) wantQueues(crawl, after string, want ...string) {
	f.Helper()
	list, err := collect(f.s.Queues(f.ctx, crawl, after))
	f.check(err)
	var names []string
	for _, q := range list {
		names = append(names, q.Name)
	}
	f.check(sameList(names, want, sameValue))
}

func (f *fixture) wantEntries(queue string, want ...int) {
	f.Helper()
	list, err := collect(f.s.Entries(f.ctx, "", queue))
	f.check(err)
	var urls, wanted []string
	for _, e := range list {
		urls = append(urls, e.URL)
	}
	for _, n := range want {
		wanted = append(wanted, url(n))
	}
	f.check(sameList(urls, wanted, sameValue))
}
