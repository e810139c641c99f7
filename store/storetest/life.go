package storetest

import (
	"context"
	"time"

	"github.com/firstseen/firstseen/store"
)

var lifeCases = []testCase{
	{"a new store takes its identity from the first that prepares it", func(f *fixture) {
		f.check(f.s.Close())
		f.s = f.b.Open(f.T, f.env)
		f.check(f.s.Prepare(f.ctx, store.Terms{Identity: identity, ReadOnly: true}))
		equal(f, "identity", f.s.Identity(), store.Identity{})
		f.check(f.s.Prepare(f.ctx, store.Terms{Identity: identity, Retention: time.Hour}))
		equal(f, "identity", f.s.Identity(), identity)
		f.fill("a", 0, 1)
		f.restart()
		equal(f, "identity after a restart", f.s.Identity(), identity)
		f.check(f.s.Prepare(f.ctx, store.Terms{Identity: identity}))
		f.check(f.s.Prepare(f.ctx, store.Terms{}))
	}},
	{"a store is not prepared for another identity", func(f *fixture) {
		for _, change := range []func(*store.Identity){
			func(id *store.Identity) { id.Profile = "whatwg" },
			func(id *store.Identity) { id.Version++ },
			func(id *store.Identity) { id.KeyKind = "other" },
		} {
			other := identity
			change(&other)
			f.wantErr(f.s.Prepare(f.ctx, store.Terms{Identity: other}), store.ErrIdentity)
			f.wantErr(f.s.Prepare(f.ctx, store.Terms{Identity: other, ReadOnly: true}), store.ErrIdentity)
			equal(f, "identity", f.s.Identity(), identity)
		}
		other := identity
		other.Unicode = "99.0.0" // no key depends on it
		f.check(f.s.Prepare(f.ctx, store.Terms{Identity: other}))
		equal(f, "identity", f.s.Identity(), other)
	}},
	{"keys of unknown making are not adopted", func(f *fixture) {
		f.check(f.s.Close())
		f.s = f.b.Open(f.T, f.env)
		f.wantErr(f.s.See(f.ctx, "a", []store.Key{{1}}, make([]bool, 1), store.SeeOptions{}), store.ErrIdentity)
		f.fill("a", 0, 1)
		f.wantErr(f.s.Prepare(f.ctx, store.Terms{Identity: identity}), store.ErrIdentity)
		f.check(f.s.Prepare(f.ctx, store.Terms{}))
	}},
	{"a closed store says so", func(f *fixture) {
		f.fill("a", 0, 1)
		f.check(f.s.Close())
		for name, call := range f.calls(f.ctx) {
			if err := call(); err == nil {
				f.Fatalf("%s: got no error of a closed store", name)
			} else {
				f.wantErr(err, store.ErrClosed)
			}
		}
		f.wantErr(f.s.Close(), store.ErrClosed)
	}},
	{"a context that has ended stores nothing", func(f *fixture) {
		ctx, cancel := context.WithCancel(f.ctx)
		cancel()
		for name, call := range f.calls(ctx) {
			if err := call(); err != context.Canceled && name != "stats" && name != "crawls" && name != "add nothing" {
				f.Fatalf("%s: got error %v; want %v", name, err, context.Canceled)
			}
		}
		f.wantStats(store.Stats{})
	}},
	{"after a restart everything is as it was", restart},
	{"a restart keeps what a queue waits for", func(f *fixture) {
		f.fill("a", 0, 3)
		f.fill("b", 10, 1)
		f.take(store.TakeRequest{Queue: "a", Delay: time.Hour, Lease: time.Minute})
		f.take(store.TakeRequest{Queue: "b", Lease: time.Minute})
		until := f.ahead(2 * time.Hour)
		f.set("b", store.QueueChange{NotBefore: &until})
		f.reopen()
		f.step(time.Minute)
		f.wantKeys(f.takeAll()) // both leases ran out, and neither queue may be served
		f.step(time.Hour)
		f.wantKeys(f.takeAll(), 0, 1, 2)
		f.step(time.Hour)
		f.wantKeys(f.take(store.TakeRequest{Queue: "a", MaxURLs: 9, MaxPerQueue: 9}), 0, 1, 2)
		f.wantKeys(f.takeAll(), 10)
	}},
	{"tokens aren't given twice over a restart", func(f *fixture) {
		f.fill("a", 0, 1)
		tokens := map[uint64]bool{}
		for range 4 {
			l := f.one()
			if tokens[l.Token] {
				f.Fatalf("got token %d twice", l.Token)
			}
			tokens[l.Token] = true
			f.end(l, store.Requeue)
			f.reopen()
		}
	}},
	{"arrival keeps its order over a restart", func(f *fixture) {
		for n := range 4 {
			f.fill("a", n, 1)
			f.reopen()
		}
		f.wantKeys(f.takeAll(), 0, 1, 2, 3)
	}},
}

// calls are all methods that may fail, with arguments that are fine.
func (f *fixture) calls(ctx context.Context) map[string]func() error {
	k := []store.Key{key(7)}
	return map[string]func() error{
		"see":         func() error { return f.s.See(ctx, "", k, make([]bool, 1), store.SeeOptions{}) },
		"add":         func() error { return second(f.s.Add(ctx, "", []store.Item{item(7, "a")}, store.AddOptions{})) },
		"add nothing": func() error { return second(f.s.Add(ctx, "", nil, store.AddOptions{})) },
		"take":        func() error { return second(f.s.Take(ctx, store.TakeRequest{})) },
		"settle":      func() error { return second(f.s.Settle(ctx, "", []store.Settlement{{Key: key(7)}})) },
		"name crawls": func() error { return f.s.NameCrawls(ctx, []string{"n"}, []string{""}) },
		"configure":   func() error { return f.s.Configure(ctx, "", "a", store.QueueChange{}) },
		"prepare":     func() error { return f.s.Prepare(ctx, store.Terms{}) },
		"forget":      func() error { return second(f.s.Forget(ctx, store.Selection{Keys: k})) },
		"lookup":      func() error { return second(f.s.Lookup(ctx, "", []store.Key{key(7)})) },
		"queue info":  func() error { return second(f.s.QueueInfo(ctx, "", "a")) },
		"stats":       func() error { return second(f.s.Stats(ctx, "")) },
		"crawls":      func() error { return second(f.s.Crawls(ctx)) },
		"queues":      func() error { return second(collect(f.s.Queues(ctx, "", ""))) },
		"entries":     func() error { return second(collect(f.s.Entries(ctx, "", ""))) },
		"keys":        func() error { return second(collect(f.s.Keys(ctx, ""))) },
	}
}

func second[T any](_ T, err error) error { return err }

func restart(f *fixture) {
	f.fill("a", 0, 5)
	f.fill("b", 10, 3)
	f.set("a", allSettings(f))
	f.set("none", allSettings(f))
	yes, d := true, time.Minute
	f.check(f.s.Configure(f.ctx, "other", "", store.QueueChange{Paused: &yes}))
	f.check(f.s.Configure(f.ctx, "*", "", store.QueueChange{Delay: &d}))
	f.end(f.one(), store.Complete)
	f.step(time.Minute)
	leased := f.one()
	infos, err := collect(f.s.Queues(f.ctx, "*", ""))
	f.check(err)
	entries, err := collect(f.s.Entries(f.ctx, "", ""))
	f.check(err)
	st, err := f.s.Stats(f.ctx, "*")
	f.check(err)
	f.reopen()
	got, err := collect(f.s.Queues(f.ctx, "*", ""))
	f.check(err)
	f.check(sameList(got, infos, sameInfo))
	gotEntries, err := collect(f.s.Entries(f.ctx, "", ""))
	f.check(err)
	f.check(sameList(gotEntries, entries, sameEntry))
	gotStats, err := f.s.Stats(f.ctx, "*")
	f.check(err)
	equal(f, "stats", gotStats, st)
	f.wantKeys(f.takeAll()) // a is paused, b within its delay
	equal(f, "settlement", f.end(leased, store.Complete), store.Settled)
	f.step(time.Minute)
	equal(f, "leases after the delay", len(f.takeAll()), 1)
}
