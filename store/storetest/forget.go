package storetest

import (
	"time"

	"github.com/firstseen/firstseen/store"
)

var forgetCases = []testCase{
	{"forgotten keys are new again, and their leases end", func(f *fixture) {
		f.fill("a", 0, 4)
		done, held := f.one(), f.one()
		f.end(done, store.Complete)
		f.forget(3, store.Selection{Keys: []store.Key{key(0), key(1), key(2), key(2), key(9)}})
		f.wantStats(store.Stats{Seen: 1, Held: 1, Completed: one(!f.env.KeepURLs), Queues: 1, Active: 1})
		equal(f, "settlement of a forgotten lease", f.end(held, store.Complete), store.Stale)
		f.wantStatus(f.add(item(0, "a"), item(1, "a"), item(2, "a"), item(3, "a")), store.New, store.New, store.New, store.Duplicate)
		f.wantKeys(f.takeAll(), 3, 0, 1, 2)
		f.forget(0, store.Selection{Keys: []store.Key{}})
	}},
	{"a forgotten queue keeps its settings", func(f *fixture) {
		f.fill("a", 0, 6)
		f.fill("b", 10, 1)
		w := uint8(9)
		f.set("a", store.QueueChange{Weight: &w})
		f.end(f.take(store.TakeRequest{Queue: "a"})[0], store.Complete)
		f.end(f.take(store.TakeRequest{Queue: "a"})[0], store.Drop)
		f.take(store.TakeRequest{Queue: "a"})
		f.forget(4+2*one(f.env.KeepURLs), store.Selection{Queue: "a"})
		info := f.info("a")
		equal(f, "weight", info.Weight, 9)
		equal(f, "held", info.Held, 0)
		f.wantStats(store.Stats{Seen: 1 + 2*one(!f.env.KeepURLs), Held: 1, Queues: 1, Active: 1})
		f.wantKeys(f.takeAll(), 10)
		f.forget(0, store.Selection{Queue: "none"})
		f.forget(0, store.Selection{Queue: "a"})
	}},
	{"a forgotten queue begins again", func(f *fixture) {
		limit := int64(1)
		f.set("a", store.QueueChange{Limit: &limit})
		f.fill("a", 0, 2)
		f.fetched(f.one())
		f.wantKeys(f.takeAll())
		f.forget(1+one(f.env.KeepURLs), store.Selection{Queue: "a"})
		status := store.New
		if !f.env.KeepURLs {
			status = store.Duplicate
		}
		f.wantStatus(f.add(item(0, ""), item(1, "a")), status, store.New)
		f.wantKeys(f.takeAll(), 1)
	}},
	{"old keys are forgotten, held ones are not", func(f *fixture) {
		f.fill("a", 0, 4)
		f.end(f.one(), store.Complete)
		f.one()
		f.end(f.one(), store.Drop)
		f.add(item(5, ""))
		f.forget(0, store.Selection{Before: f.Now()})
		f.step(1000 * time.Hour) // more than any backend's generation
		f.add(item(6, ""))
		f.forget(3, store.Selection{Before: f.Now()})
		f.wantStats(store.Stats{Seen: 3, Held: 2, Completed: 1, Dropped: 1, Queues: 1, Active: 1})
		f.wantEntries("a", 1, 3)
		f.wantStatus(f.add(item(0, ""), item(1, ""), item(2, ""), item(3, ""), item(5, ""), item(6, "")),
			store.New, store.Duplicate, store.New, store.Duplicate, store.New, store.Duplicate)
		f.wantKeys(f.takeAll(), 1, 3)
	}},
	{"an age is counted back from now", func(f *fixture) {
		f.add(item(0, ""))
		for i := range 60 { // no clock that is right jumps by more than a day
			f.step(20 * time.Hour)
			f.add(item(i+1, ""))
		}
		if _, err := f.s.Forget(f.ctx, store.Selection{Age: 10 * 24 * time.Hour}); err != nil {
			f.Error(err)
		}
		f.wantStatus(f.add(item(0, ""), item(59, "")), store.New, store.Duplicate)
	}},
	{"a URL that was forgotten for its age is completed again", func(f *fixture) {
		f.fill("a", 0, 1)
		f.end(f.one(), store.Complete)
		f.step(1000 * time.Hour)
		f.forget(1, store.Selection{Before: f.Now()})
		f.fill("a", 0, 1)
		f.end(f.one(), store.Complete)
		f.wantStats(store.Stats{Seen: 1, Completed: 2, Queues: 1})
		f.forget(1, store.Selection{Keys: []store.Key{key(0)}})
		f.wantStats(store.Stats{Completed: 2 - one(f.env.KeepURLs), Queues: 1})
		f.forget(0, store.Selection{Queue: "a"})
		f.wantStats(store.Stats{})
	}},
	{"a forgotten crawl is gone with its settings", func(f *fixture) {
		yes := true
		f.fill("a", 0, 3)
		l := f.one()
		f.check(f.s.Configure(f.ctx, "", "", store.QueueChange{Paused: &yes}))
		f.set("a", store.QueueChange{Paused: &yes})
		_, err := f.s.Add(f.ctx, "b", []store.Item{item(0, "a")}, store.AddOptions{})
		f.check(err)
		f.forget(3, store.Selection{})
		names, err := f.s.Crawls(f.ctx)
		f.check(err)
		f.check(sameList(names, []string{"b"}, sameValue))
		equal(f, "settlement", f.end(l, store.Complete), store.Stale)
		f.fill("a", 0, 3)
		f.wantKeys(f.takeAll(), 0, 1, 2)
	}},
	{"all crawls can be meant", func(f *fixture) {
		for _, crawl := range []string{"", "b", "c"} {
			_, err := f.s.Add(f.ctx, crawl, []store.Item{item(0, "a"), item(1, "b"), item(2, "")}, store.AddOptions{})
			f.check(err)
		}
		f.forget(3, store.Selection{Crawl: "*", Keys: []store.Key{key(0)}})
		f.forget(3, store.Selection{Crawl: "*", Queue: "b"})
		f.forget(3, store.Selection{Crawl: "*"})
		names, err := f.s.Crawls(f.ctx)
		f.check(err)
		equal(f, "crawls", len(names), 0)
		f.forget(0, store.Selection{Crawl: "none"})
	}},
	{"a selection says one thing", func(f *fixture) {
		f.fill("a", 0, 1)
		for _, sel := range []store.Selection{
			{Keys: []store.Key{key(0)}, Queue: "a"}, {Keys: []store.Key{}, Before: f.Now()}, {Queue: "a", Before: f.Now()}, {Queue: "a", Age: time.Hour}, {Age: -1},
		} {
			_, err := f.s.Forget(f.ctx, sel)
			f.wantErr(err, store.ErrInvalid)
		}
		f.wantStats(store.Stats{Seen: 1, Held: 1, Queues: 1, Active: 1})
	}},
}

func (f *fixture) forget(want int64, sel store.Selection) {
	f.Helper()
	got, err := f.s.Forget(f.ctx, sel)
	f.check(err)
	equal(f, "forgotten keys", got, want)
}
