package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/firstseen/firstseen/store"
)

var queueCases = []testCase{
	{"a queue that holds nothing keeps its settings", func(f *fixture) {
		_, err := f.s.QueueInfo(f.ctx, "", "a")
		f.wantErr(err, store.ErrNotFound)
		f.set("a", allSettings(f))
		want := store.QueueInfo{Crawl: store.DefaultCrawl, Name: "a", QueueSettings: store.QueueSettings{
			Delay: time.Second, MaxInFlight: 2, BlockedUntil: f.ahead(time.Hour), Limit: 9, Weight: 4, Paused: true}}
		f.check(sameInfo(f.info("a"), want))
		_, err = f.s.QueueInfo(f.ctx, "", "")
		f.wantErr(err, store.ErrNotFound)
		f.fill("a", 0, 1)
		want.Held, want.Next = 1, f.Now()
		f.check(sameInfo(f.info("a"), want))
		f.wantKeys(f.takeAll())
	}},
	{"settings can be asked to be of a queue that is there", func(f *fixture) {
		must := store.QueueChange{MustExist: true}
		f.wantErr(f.s.Configure(f.ctx, "", "a", must), store.ErrNotFound)
		f.wantErr(f.s.Configure(f.ctx, "none", "", must), store.ErrNotFound)
		f.fill("a", 0, 1)
		f.check(f.s.Configure(f.ctx, "", "a", must))
		f.end(f.one(), store.Complete)
		f.check(f.s.Configure(f.ctx, "", "a", must))
		f.check(f.s.Configure(f.ctx, "", "", must))
		f.fill("b", 1, 1)
		f.end(f.one(), store.Drop)
		f.check(f.s.Configure(f.ctx, "", "b", must))
	}},
	{"fields that are nil stay", func(f *fixture) {
		f.set("a", allSettings(f))
		nine := 9
		f.set("a", store.QueueChange{MaxInFlight: &nine})
		got := f.info("a")
		equal(f, "bound", got.MaxInFlight, 9)
		equal(f, "limit", got.Limit, 9)
		equal(f, "delay", got.Delay, time.Second)
	}},
	{"a new delay counts from the last take", func(f *fixture) {
		f.fill("a", 0, 9)
		f.one()
		f.step(time.Second)
		d := 3 * time.Second
		f.set("a", store.QueueChange{Delay: &d})
		f.wantKeys(f.takeAll())
		f.check(sameTimes(times{"next", f.info("a").Next, f.ahead(2 * time.Second)}))
		f.step(2 * time.Second)
		f.one()
	}},
	{"NotBefore holds if it is later than the delay", func(f *fixture) {
		f.fill("a", 0, 9)
		d, soon, late := 3*time.Second, f.ahead(time.Second), f.ahead(5*time.Second)
		f.set("a", store.QueueChange{Delay: &d})
		f.one()
		f.set("a", store.QueueChange{NotBefore: &soon})
		f.check(sameTimes(times{"next", f.info("a").Next, f.ahead(3 * time.Second)}))
		f.set("a", store.QueueChange{NotBefore: &late})
		f.check(sameTimes(times{"next", f.info("a").Next, late}))
		f.wantErr(f.s.Configure(f.ctx, "", "", store.QueueChange{NotBefore: &late}), store.ErrInvalid)
	}},
	{"Later shortens nothing", laterShortensNothing},
	{"later times are kept in a settlement", func(f *fixture) {
		f.fill("a", 0, 1)
		l, soon, late := f.one(), f.ahead(time.Second), f.ahead(5*time.Second)
		for _, at := range []time.Time{late, soon} {
			f.settle(store.Settlement{Key: l.Key, Token: l.Token, Outcome: store.Extend, Due: f.ahead(time.Hour),
				QueueChange: &store.QueueChange{BlockedUntil: &at, NotBefore: &at, Later: true}})
			f.check(sameTimes(times{"block", f.info("a").BlockedUntil, late}))
		}
		f.fill("a", 1, 1)
		f.check(sameTimes(times{"next", f.info("a").Next, late}))
	}},
	{"a queue tells its state", func(f *fixture) {
		f.fill("a", 0, 4)
		l := f.one()
		f.end(l, store.Complete)
		taken := f.Now()
		f.step(time.Second)
		f.take(store.TakeRequest{Delay: time.Minute})
		want := store.QueueInfo{Crawl: store.DefaultCrawl, Name: "a", Held: 3, InFlight: 1, Completed: 1,
			LastTake: taken.Add(time.Second), NotBefore: f.ahead(time.Minute), Next: f.ahead(time.Minute)}
		f.check(sameInfo(f.info("a"), want))
		f.wantStats(store.Stats{Seen: 4, Held: 3, InFlight: 1, Completed: 1, Queues: 1, Active: 1})
	}},
	{"the delay outlives the queue's URLs", func(f *fixture) {
		f.fill("a", 0, 1)
		f.end(f.take(store.TakeRequest{Delay: time.Minute})[0], store.Complete)
		f.fill("a", 1, 1)
		f.wantKeys(f.takeAll())
		f.step(time.Minute)
		f.wantKeys(f.takeAll(), 1)
	}},
	{"crawl and store give queues what they don't say", func(f *fixture) {
		f.fill("a", 0, 9)
		one, two, limit := 1, 2, int64(1)
		f.check(f.s.Configure(f.ctx, "*", "", store.QueueChange{MaxInFlight: &one}))
		l := f.takeAll()
		f.wantKeys(l, 0)
		f.check(f.s.Configure(f.ctx, "", "", store.QueueChange{MaxInFlight: &two}))
		f.wantKeys(f.takeAll(), 1)
		f.check(f.s.Configure(f.ctx, "", "", store.QueueChange{QueueLimit: &limit}))
		f.fetched(l[0])
		f.wantKeys(f.takeAll())
		limit = 5
		f.set("a", store.QueueChange{Limit: &limit})
		f.wantKeys(f.takeAll(), 2)
	}},
	{"a queue under its limit again is served again", func(f *fixture) {
		f.fill("a", 0, 2)
		limit := int64(1)
		f.set("a", store.QueueChange{Limit: &limit})
		f.fetched(f.one())
		f.wantKeys(f.takeAll())
		elsewhere := item(0, "b")
		elsewhere.Force = true
		f.add(elsewhere)
		f.wantKeys(f.take(store.TakeRequest{Queue: "a"})) // what was fetched stays fetched
		f.forget(1, store.Selection{Queue: "a"})
		f.fill("a", 1, 1)
		f.wantKeys(f.take(store.TakeRequest{Queue: "a"}), 1)
	}},
	{"settings of a crawl and of the store are told", func(f *fixture) {
		settings := func(crawl string) store.CrawlSettings {
			got, err := f.s.CrawlSettings(f.ctx, crawl)
			f.check(err)
			return got
		}
		equal(f, "settings of an unknown crawl", settings(""), store.CrawlSettings{})
		d, n, limit, day := time.Second, 3, int64(7), 24*time.Hour
		f.check(f.s.Configure(f.ctx, "", "", store.QueueChange{Delay: &d, Limit: &limit, Retention: &day}))
		f.check(f.s.Configure(f.ctx, "*", "", store.QueueChange{MaxInFlight: &n, QueueLimit: &limit}))
		equal(f, "settings", settings(""), store.CrawlSettings{QueueSettings: store.QueueSettings{Delay: d, Limit: 7}, Retention: day})
		equal(f, "settings of the store", settings("*"), store.CrawlSettings{QueueSettings: store.QueueSettings{MaxInFlight: 3}, QueueLimit: 7})
	}},
	{"queues of a group share delay and bound, and take turns", groups},
	{"a queue of a group that allows fewer leases waits for the others', and they for its turn", narrowGroup},
	{"what can't be set is refused", func(f *fixture) {
		group, long := "g", strings.Repeat("g", store.MaxQueueKey+1)
		f.wantInvalid("Configure of the group of a crawl", f.s.Configure(f.ctx, "", "", store.QueueChange{Group: &group}))
		f.wantInvalid("Configure of a group with a name of 256 bytes", f.s.Configure(f.ctx, "", "a", store.QueueChange{Group: &long}))
		if !f.b.Groups {
			f.wantInvalid("Configure of a group", f.s.Configure(f.ctx, "", "a", store.QueueChange{Group: &group}))
		}
		below, at := int64(-1), f.Now()
		f.wantInvalid("Configure with limit -1", f.s.Configure(f.ctx, "", "a", store.QueueChange{Limit: &below}))
		f.wantInvalid("Configure of a queue of all crawls", f.s.Configure(f.ctx, "*", "a", store.QueueChange{}))
		f.wantInvalid("Configure of a queue with a key of 256 bytes", f.s.Configure(f.ctx, "", strings.Repeat("q", store.MaxQueueKey+1), store.QueueChange{}))
		year := time.Hour * 24 * 365
		f.wantInvalid("Configure of the retention of a queue", f.s.Configure(f.ctx, "", "a", store.QueueChange{Retention: &year}))
		f.wantInvalid("Configure of the retention of the store", f.s.Configure(f.ctx, "*", "", store.QueueChange{Retention: &year}))
		f.wantInvalid("Configure of the limit of a queue's queues", f.s.Configure(f.ctx, "", "a", store.QueueChange{QueueLimit: new(int64)}))
		f.wantInvalid("Configure of NotBefore of a crawl", f.s.Configure(f.ctx, "", "", store.QueueChange{NotBefore: &at}))
		_, err := f.s.QueueInfo(f.ctx, "*", "a")
		f.wantInvalid("QueueInfo of a queue of all crawls", err)
	}},
}

// groups has 30 hosts on one server, beside one that is not.
func groups(f *fixture) {
	if !f.b.Groups {
		f.Skip("the store has no groups")
	}
	group, minute := "192.0.2.1", time.Minute
	for n := range 30 {
		name := fmt.Sprint("h", n)
		f.fill(name, 100*n, 3)
		f.set(name, store.QueueChange{Group: &group, Delay: &minute})
	}
	f.fill("alone", 5000, 200)
	served := map[string]bool{}
	for round := range 30 {
		got := f.take(store.TakeRequest{MaxURLs: 9})
		if len(got) != 2 {
			f.Fatalf("got %d leases in round %d; want one of the group, one of the other", len(got), round)
		}
		for _, l := range got {
			f.end(l, store.Complete)
			served[l.Queue] = true
		}
		if n := len(f.take(store.TakeRequest{Queue: fmt.Sprint("h", round), MaxURLs: 9})); n > 0 {
			f.Fatalf("got %d leases of a queue within the delay of its group", n)
		}
		if f.b.Reopen != nil && round == 7 {
			f.reopen()
			f.wantNone("h1")
		}
		f.step(minute - time.Millisecond)
		f.wantNone("h2")
		f.step(time.Millisecond)
	}
	if len(served) != 31 && (f.b.Reopen == nil || len(served) < 23) { // the turns begin anew with an open
		f.Fatalf("got %d queues that had a turn in 30 rounds; want all 31", len(served))
	}

	// Without a delay the bound is that of all.
	none, two := time.Duration(-1), 2
	for n := range 30 {
		f.set(fmt.Sprint("h", n), store.QueueChange{Delay: &none, MaxInFlight: &two})
	}
	f.set("alone", store.QueueChange{Delay: &minute})
	f.take(store.TakeRequest{Queue: "alone"})
	got := f.take(store.TakeRequest{MaxURLs: 9})
	equal(f, "leases of the group", len(got), 2)
	f.wantKeys(f.take(store.TakeRequest{MaxURLs: 9}))
	f.end(got[0], store.Complete)
	got = append(got, f.take(store.TakeRequest{MaxURLs: 9})...)
	equal(f, "leases with one more after one ended", len(got), 3)
	no, leaves := "", 0
	for slices.ContainsFunc(got, func(l store.Entry) bool { return l.Queue == fmt.Sprint("h", leaves) }) {
		leaves++
	}
	f.set(fmt.Sprint("h", leaves), store.QueueChange{Group: &no})
	more := f.take(store.TakeRequest{MaxURLs: 9})
	if len(more) != 1 || more[0].Queue != fmt.Sprint("h", leaves) {
		f.Fatalf("got %v; want a URL of the queue that left the group", more)
	}
}

// narrowGroup has two queues that allow three leases, and one that allows one: that is of the leases of all. When its turn comes, the
// others wait with it until no lease runs, and no longer, so each of them gets on.
func narrowGroup(f *fixture) {
	if !f.b.Groups {
		f.Skip("the store has no groups")
	}
	group, none, bound := "192.0.2.1", time.Duration(-1), map[string]int{"narrow": 1, "wide": 3, "wider": 3}
	for n, name := range []string{"narrow", "wide", "wider"} {
		f.fill(name, 100*n, 9)
		f.set(name, store.QueueChange{Group: &group, Delay: &none, MaxInFlight: new(bound[name])})
	}
	var running []store.Entry
	first := map[string]int{}
	for n := 0; n < 27; {
		for _, l := range f.take(store.TakeRequest{MaxURLs: 9}) {
			if running = append(running, l); len(running) > bound[l.Queue] {
				f.Fatalf("got a lease of queue %q beside %d others", l.Queue, len(running)-1)
			}
			if n++; n <= 12 {
				first[l.Queue]++
			}
		}
		if len(running) == 0 {
			f.Fatalf("got no lease after %d, and none runs", n)
		}
		f.end(running[0], store.Complete)
		running = running[1:]
	}
	for name := range bound {
		if first[name] < 3 {
			f.Fatalf("got %d of the first 12 leases for queue %q; want its turns", first[name], name)
		}
	}
}

// wantNone checks that a queue, and any other of its group, gives nothing.
func (f *fixture) wantNone(queue string) {
	f.Helper()
	f.wantKeys(f.take(store.TakeRequest{Queue: queue}))
	for _, l := range f.take(store.TakeRequest{MaxURLs: 9}) {
		if f.end(l, store.Complete); l.Queue != "alone" {
			f.Fatalf("got queue %q within the delay of its group", l.Queue)
		}
	}
}

// allSettings changes everything that can be kept.
func allSettings(f *fixture) store.QueueChange {
	d, n, until, limit, w, yes := time.Second, 2, f.ahead(time.Hour), int64(9), uint8(4), true
	return store.QueueChange{Delay: &d, MaxInFlight: &n, BlockedUntil: &until, Limit: &limit, Weight: &w, Paused: &yes}
}

// laterShortensNothing moves the times of a queue to and fro.
func laterShortensNothing(f *fixture) {
	f.fill("a", 0, 1)
	soon, late := f.ahead(time.Second), f.ahead(5*time.Second)
	for _, step := range []struct {
		to    time.Time
		later bool
		want  time.Time
	}{{soon, true, soon}, {late, true, late}, {soon, true, late}, {soon, false, soon}, {late, false, late}} {
		f.set("a", store.QueueChange{BlockedUntil: &step.to, NotBefore: &step.to, Later: step.later})
		q := f.info("a")
		f.check(sameTimes(times{"block", q.BlockedUntil, step.want}, times{"next", q.Next, step.want}))
	}
	none := time.Time{}
	f.set("a", store.QueueChange{BlockedUntil: &none, Later: true})
	f.set("a", store.QueueChange{Later: true})
	f.check(sameTimes(times{"block", f.info("a").BlockedUntil, late}))
}
