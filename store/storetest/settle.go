package storetest

import (
	"bytes"
	"strings"
	"time"

	"github.com/firstseen/firstseen/store"
)

var settleCases = []testCase{
	{"complete is accepted once", func(f *fixture) {
		f.fill("a", 0, 1)
		l := f.one()
		equal(f, "answer", f.end(l, store.Complete), store.Settled)
		f.wantStats(store.Stats{Seen: 1, Completed: 1, Queues: 1})
		equal(f, "second answer", f.end(l, store.Complete), store.Stale)
		f.wantStats(store.Stats{Seen: 1, Completed: 1, Queues: 1})
		f.wantStatus(f.add(item(0, "a")), store.Duplicate)
		e := f.lookup(0)
		if !f.env.KeepURLs {
			f.check(sameEntry(e, store.Entry{Key: key(0), Crawl: store.DefaultCrawl}))
			return
		}
		f.check(sameEntry(e, store.Entry{Key: key(0), State: store.Done, Crawl: store.DefaultCrawl, Queue: "a", URL: url(0),
			Created: start, Ended: start, Attempts: 1}))
	}},
	{"a late settlement is accepted unless the URL was handed out again", func(f *fixture) {
		f.fill("a", 0, 2)
		first, second := f.one(), f.one()
		f.step(time.Hour)
		equal(f, "late", f.end(second, store.Complete), store.Settled)
		again := f.one()
		equal(f, "handed out again", again.Key, first.Key)
		equal(f, "too late", f.end(first, store.Complete), store.Stale)
		equal(f, "the new lease", f.end(again, store.Complete), store.Settled)
	}},
	{"requeue keeps or changes what it says", requeue},
	{"drop leaves the key seen and not completed", func(f *fixture) {
		f.fill("a", 0, 1)
		equal(f, "answer", f.end(f.one(), store.Drop), store.Settled)
		f.wantStats(store.Stats{Seen: 1, Dropped: 1, Queues: 1})
		equal(f, "dropped in the queue", f.info("a").Dropped, 1)
		f.wantStatus(f.add(item(0, "a")), store.Duplicate)
		equal(f, "drop of what isn't held", f.settle(store.Settlement{Key: key(0), Outcome: store.Drop}), store.Unknown)
		f.wantStats(store.Stats{Seen: 1, Dropped: 1, Queues: 1})
	}},
	{"the text of a dropped URL is kept, where texts are", dropped},
	{"a seen key that isn't held is completed without a change", func(f *fixture) {
		f.add(item(0, ""))
		equal(f, "never queued", f.settle(store.Settlement{Key: key(0)}), store.Settled)
		f.wantStats(store.Stats{Seen: 1})
		equal(f, "state", f.lookup(0).State, store.SeenOnly)
		for _, o := range []store.Outcome{store.Requeue, store.Drop, store.Extend} {
			equal(f, "other outcomes", f.settle(store.Settlement{Key: key(0), Outcome: o}), store.Unknown)
		}
		f.fill("a", 1, 1)
		f.end(f.one(), store.Complete)
		yes := true
		equal(f, "completed", f.settle(store.Settlement{Key: key(1), QueueChange: &store.QueueChange{Paused: &yes}}), store.Settled)
		equal(f, "paused", f.info("a").Paused, f.env.KeepURLs)
		f.wantStats(store.Stats{Seen: 2, Completed: 1, Queues: 1})
	}},
	{"extend moves the end of a lease", func(f *fixture) {
		f.fill("a", 0, 1)
		l := f.one()
		extend := store.Settlement{Key: l.Key, Token: l.Token, Outcome: store.Extend, Due: f.ahead(time.Hour)}
		equal(f, "answer", f.settle(extend), store.Settled)
		f.step(30 * time.Minute)
		f.wantKeys(f.takeAll())
		f.step(time.Hour)
		extend.Due = f.ahead(time.Minute)
		equal(f, "answer after the end", f.settle(extend), store.Settled)
		f.wantKeys(f.takeAll())
		equal(f, "same token", f.end(l, store.Complete), store.Settled)
		equal(f, "extend of what isn't held", f.settle(store.Settlement{Key: l.Key, Outcome: store.Extend}), store.Unknown)
		f.fill("b", 1, 1)
		equal(f, "extend of what isn't leased", f.settle(store.Settlement{Key: key(1), Outcome: store.Extend}), store.Stale)
	}},
	{"After counts from the step, by the store's clock", func(f *fixture) {
		f.fill("a", 0, 2)
		l := f.one()
		f.step(10 * time.Second)
		aged := f.ahead(-time.Hour) // a time by another clock, which isn't looked at
		equal(f, "extend", f.settle(store.Settlement{Key: l.Key, Token: l.Token, Outcome: store.Extend, After: time.Minute, Due: aged}), store.Settled)
		f.check(sameTimes(times{"end", f.lookup(0).Expires, f.ahead(time.Minute)}))
		second := f.one()
		equal(f, "requeue", f.settle(store.Settlement{Key: second.Key, Token: second.Token, Outcome: store.Requeue, After: 500 * time.Microsecond}), store.Settled)
		f.wantKeys(f.takeAll())
		f.step(time.Millisecond)
		f.wantKeys(f.takeAll(), 1)
		f.step(time.Minute - 2*time.Millisecond)
		equal(f, "settled in time", f.end(l, store.Complete), store.Settled)
	}},
	{"token 0 settles whoever holds the URL", func(f *fixture) {
		f.fill("a", 0, 3)
		l := f.one()
		equal(f, "leased", f.settle(store.Settlement{Key: key(0)}), store.Settled)
		equal(f, "the lease ended", f.end(l, store.Complete), store.Stale)
		equal(f, "queued", f.settle(store.Settlement{Key: key(1), Outcome: store.Requeue, Due: f.ahead(time.Hour)}), store.Settled)
		equal(f, "queued, to be dropped", f.settle(store.Settlement{Key: key(2), Outcome: store.Drop}), store.Settled)
		f.wantKeys(f.takeAll())
		f.step(time.Hour)
		f.wantKeys(f.takeAll(), 1)
		f.wantStats(store.Stats{Seen: 3, Held: 1, InFlight: 1, Completed: 1, Dropped: 1, Queues: 1, Active: 1})
	}},
	{"unknown keys and wrong tokens change nothing", func(f *fixture) {
		f.fill("a", 0, 1)
		l := f.one()
		yes := true
		for _, o := range []store.Outcome{store.Complete, store.Requeue, store.Drop, store.Extend} {
			equal(f, "unknown", f.settle(store.Settlement{Key: key(9), Outcome: o}), store.Unknown)
			equal(f, "unknown with token", f.settle(store.Settlement{Key: key(9), Token: 7, Outcome: o}), store.Stale)
			equal(f, "wrong token", f.settle(store.Settlement{Key: l.Key, Token: l.Token + 1, Outcome: o, URL: "x",
				QueueChange: &store.QueueChange{Paused: &yes}}), store.Stale)
		}
		f.check(sameEntry(f.lookup(0), l))
		equal(f, "paused", f.info("a").Paused, false)
		f.wantStats(store.Stats{Seen: 1, Held: 1, InFlight: 1, Queues: 1, Active: 1})
	}},
	{"create makes unknown keys known", create},
	{"completing twice counts once", func(f *fixture) {
		done := store.Settlement{Key: key(0), Create: true, Queue: "a", URL: url(0)}
		equal(f, "first", f.settle(done), store.Created)
		equal(f, "second", f.settle(done), store.Settled)
		done.Create, done.Queue = false, ""
		equal(f, "without create", f.settle(done), store.Settled)
		f.wantStats(store.Stats{Seen: 1, Completed: 1, Queues: 1})
	}},
	{"the queue changes in the same step", func(f *fixture) {
		f.fill("a", 0, 2)
		l := f.one()
		until := f.ahead(time.Minute)
		f.settle(store.Settlement{Key: l.Key, Token: l.Token, QueueChange: &store.QueueChange{NotBefore: &until}})
		f.check(sameTimes(times{"next", f.info("a").Next, until}))
		f.wantKeys(f.takeAll())
		f.step(time.Minute)
		f.wantKeys(f.takeAll(), 1)
	}},
	{"one call changes a queue in order", func(f *fixture) {
		f.fill("a", 0, 1)
		first, last := time.Second, time.Minute
		_, err := f.s.Settle(f.ctx, "", []store.Settlement{
			{Key: key(1), Create: true, Queue: "a", URL: url(1), QueueChange: &store.QueueChange{Delay: &first}},
			{Key: key(0), QueueChange: &store.QueueChange{Delay: &last}},
		})
		f.check(err)
		equal(f, "delay", f.info("a").Delay, last)
	}},
	{"one call settles in order", func(f *fixture) {
		f.fill("a", 0, 2)
		l := f.one()
		got, err := f.s.Settle(f.ctx, "", []store.Settlement{
			{Key: l.Key, Token: l.Token, Outcome: store.Requeue, URL: "second"},
			{Key: l.Key, Token: l.Token},
			{Key: l.Key, Outcome: store.Requeue, Due: f.ahead(time.Hour)},
			{Key: key(1), Outcome: store.Drop},
			{Key: key(1), Outcome: store.Drop},
		})
		f.check(err)
		f.check(sameList(got, []store.SettleStatus{store.Settled, store.Stale, store.Settled, store.Settled, store.Unknown}, sameValue))
		e := f.lookup(0)
		equal(f, "URL", e.URL, "second")
		f.check(sameTimes(times{"due", e.Due, f.ahead(time.Hour)}))
		f.wantStats(store.Stats{Seen: 2, Held: 1, Dropped: 1, Queues: 1, Active: 1})
	}},
	{"a dropped URL that is completed has 0 attempts", func(f *fixture) {
		f.fill("a", 0, 1)
		f.end(f.one(), store.Drop)
		f.settle(store.Settlement{Key: key(0)})
		equal(f, "attempts", f.lookup(0).Attempts, 0)
	}},
	{"the caller may change its data after a call", func(f *fixture) {
		it := item(0, "a")
		it.Meta = []byte("added")
		f.add(it)
		copy(it.Meta, "other")
		l := f.one()
		equal(f, "data", string(l.Meta), "added")
		copy(l.Meta, "other")
		equal(f, "data", string(f.lookup(0).Meta), "added")
		replaced := []byte("replaced")
		f.settle(store.Settlement{Key: l.Key, Token: l.Token, Outcome: store.Requeue, Meta: replaced})
		copy(replaced, "other")
		copy(f.lookup(0).Meta, "other")
		equal(f, "data", string(f.lookup(0).Meta), "replaced")
	}},
	{"a URL ended when its settlement says", func(f *fixture) {
		f.step(time.Hour)
		f.fill("a", 0, 2)
		ended := func(n int, want time.Time) {
			f.Helper()
			if e := f.lookup(n); f.env.KeepURLs {
				f.check(sameTimes(times{"ended", e.Ended, want}))
			}
		}
		l, early, late := f.one(), f.ahead(-time.Minute), f.ahead(-time.Second)
		f.settle(store.Settlement{Key: l.Key, Token: l.Token, Ended: early})
		ended(0, early)
		for _, st := range []struct{ says, want time.Time }{{late, late}, {early, late}, {time.Time{}, late}, {f.ahead(time.Hour), f.Now()}} {
			f.settle(store.Settlement{Key: key(0), Ended: st.says})
			ended(0, st.want)
		}
		f.settle(store.Settlement{Key: key(1), Outcome: store.Drop, Ended: early})
		ended(1, early)
		f.settle(store.Settlement{Key: key(1), Ended: early.Add(-time.Minute)})
		ended(1, early)
		f.settle(store.Settlement{Key: key(2), Create: true, Queue: "a", URL: url(2), Ended: early})
		ended(2, early)
	}},
	{"long URLs and metadata stay as they are", longTexts},
	{"what can't be settled is refused whole", func(f *fixture) {
		f.fill("a", 0, 1)
		high := uint8(store.MaxPriority + 1)
		below := int64(-1)
		for _, bad := range []store.Settlement{
			{Key: key(1), Outcome: store.Extend + 1},
			{Key: key(1), Create: true},
			{Key: key(1), Create: true, Queue: "a", Token: 1},
			{Key: key(1), Create: true, Queue: "a", Outcome: store.Extend},
			{Key: key(1), Priority: &high},
			{Key: key(1), QueueChange: &store.QueueChange{Limit: &below}},
			{Key: key(1), After: -1},
			{Key: key(1), Late: true, Outcome: store.Drop},
			{Key: key(1), Late: true, Outcome: store.Requeue},
			{Key: key(1), Fetched: true, Outcome: store.Drop},
			{Key: key(1), Failed: true},
			{Key: key(1), Mark: 1},
			{Key: key(1), Ended: start, Outcome: store.Requeue},
			{Key: key(1), Token: 1, If: store.Queued},
		} {
			_, err := f.s.Settle(f.ctx, "", []store.Settlement{{Key: key(0)}, bad})
			f.wantInvalid("Settle with "+shown(bad), err)
		}
		_, err := f.s.Settle(f.ctx, "*", []store.Settlement{{Key: key(0)}})
		f.wantInvalid("Settle in all crawls", err)
		f.wantStats(store.Stats{Seen: 1, Held: 1, Queues: 1, Active: 1})
	}},
}

// longTexts follows a URL with 60 kB of metadata, and another that is as long itself, through all that may
// become of a lease.
func longTexts(f *fixture) {
	items := []store.Item{item(0, "a"), item(1, "a")}
	items[0].Meta = bytes.Repeat([]byte("meta\x00\xff"), 10_000)
	items[1].URL += strings.Repeat("/long", 12_000)
	f.add(items...)
	same := func(e store.Entry) {
		f.Helper()
		want := items[one(e.Key == items[1].Key)]
		if e.URL != want.URL || !bytes.Equal(e.Meta, want.Meta) {
			f.Fatalf("got a URL of %d bytes and metadata of %d; want %d and %d", len(e.URL), len(e.Meta), len(want.URL), len(want.Meta))
		}
	}
	take := func() []store.Entry {
		f.Helper()
		leases := f.take(store.TakeRequest{MaxURLs: 2, MaxPerQueue: 2, Lease: time.Minute})
		equal(f, "leases", len(leases), 2)
		for _, l := range leases {
			same(l)
			same(f.lookup(int(one(l.Key == items[1].Key))))
		}
		return leases
	}
	for _, l := range take() {
		f.settle(store.Settlement{Key: l.Key, Token: l.Token, Outcome: store.Extend, Due: f.ahead(2 * time.Minute)})
	}
	f.step(3 * time.Minute) // the leases run out
	for _, l := range take() {
		f.settle(store.Settlement{Key: l.Key, Token: l.Token, Outcome: store.Requeue})
	}
	take()
	entries, err := collect(f.s.Entries(f.ctx, "", "a"))
	f.check(err)
	equal(f, "entries", len(entries), 2)
	for _, e := range entries {
		same(e)
		equal(f, "state", e.State, store.Leased)
	}
	verdicts, err := f.s.Add(f.ctx, "", []store.Item{item(0, "a"), item(1, "a")}, store.AddOptions{WantFirst: true})
	f.check(err)
	for i, v := range verdicts {
		equal(f, "length of the first-seen URL", len(v.First), len(items[i].URL))
	}
	for i := range items { // by key alone
		equal(f, "answer", f.settle(store.Settlement{Key: items[i].Key, Outcome: store.Requeue}), store.Settled)
		same(f.lookup(i))
	}
	for _, l := range take() {
		f.end(l, store.Complete)
		if f.env.KeepURLs {
			same(f.lookup(int(one(l.Key == items[1].Key))))
		}
	}
}

func requeue(f *fixture) {
	it := item(0, "a")
	it.Meta, it.Priority = []byte("m"), 2
	f.add(it)
	l := f.one()
	f.settle(store.Settlement{Key: l.Key, Token: l.Token, Outcome: store.Requeue, Due: f.ahead(time.Minute)})
	want := store.Entry{Key: it.Key, State: store.Queued, Crawl: store.DefaultCrawl, Queue: "a", URL: it.URL, Meta: it.Meta,
		Due: f.ahead(time.Minute), Created: start, Priority: 2, Attempts: 1}
	f.check(sameEntry(f.lookup(0), want))
	f.wantKeys(f.takeAll())
	f.step(time.Minute)
	l = f.one()
	equal(f, "attempts", l.Attempts, 2)
	five := uint8(5)
	f.settle(store.Settlement{Key: l.Key, Token: l.Token, Outcome: store.Requeue, URL: "u", Meta: []byte{}, Priority: &five, NewRound: true})
	want.URL, want.Meta, want.Priority, want.Attempts, want.Due = "u", nil, 5, 0, f.Now()
	f.check(sameEntry(f.lookup(0), want))
	l = f.one()
	f.end(l, store.Complete)
	answer := f.settle(store.Settlement{Key: l.Key, Outcome: store.Requeue})
	if !f.env.KeepURLs {
		equal(f, "requeue without text", answer, store.Unknown)
		return
	}
	equal(f, "requeue of a completed URL", answer, store.Settled)
	want.Due = f.Now()
	f.check(sameEntry(f.lookup(0), want))
	f.wantStats(store.Stats{Seen: 1, Held: 1, Queues: 1, Active: 1})
}

func create(f *fixture) {
	three := uint8(3)
	make := store.Settlement{Key: key(0), Outcome: store.Requeue, Due: f.ahead(time.Minute), Create: true, Queue: "a",
		URL: url(0), Meta: []byte("m"), Priority: &three}
	equal(f, "unknown", f.settle(make), store.Created)
	want := store.Entry{Key: key(0), State: store.Queued, Crawl: store.DefaultCrawl, Queue: "a", URL: url(0), Meta: []byte("m"),
		Due: f.ahead(time.Minute), Created: f.Now(), Priority: 3}
	f.check(sameEntry(f.lookup(0), want))
	f.wantStatus(f.add(item(0, "a")), store.Duplicate)

	make.Queue, make.Due, make.URL, make.Meta = "elsewhere", time.Time{}, "elsewhere", []byte("n")
	equal(f, "queued", f.settle(make), store.Settled)
	e := f.lookup(0)
	equal(f, "queue", e.Queue, "a")
	equal(f, "URL, which is the first", e.URL, url(0))
	equal(f, "data", string(e.Meta), "n")

	l := f.one()
	make.Outcome = store.Complete
	equal(f, "leased", f.settle(make), store.Settled)
	equal(f, "the lease ended", f.end(l, store.Complete), store.Stale)
	f.wantStats(store.Stats{Seen: 1, Completed: 1, Queues: 1})

	make.Outcome = store.Requeue
	equal(f, "completed", f.settle(make), store.Settled)
	queue, st := "a", store.Stats{Seen: 1, Held: 1, Queues: 1, Active: 1}
	if !f.env.KeepURLs { // the store does not know the queue it was completed in
		queue, st.Completed, st.Queues = "elsewhere", 1, 2
	}
	equal(f, "queue", f.lookup(0).Queue, queue)
	f.wantStats(st)
	createSeen(f, st)
}

// createSeen completes and drops keys that are seen and were never queued.
func createSeen(f *fixture, st store.Stats) {
	f.add(item(1, ""), item(2, ""))
	done := store.Settlement{Key: key(1), Create: true, Queue: "b", URL: url(1)}
	drop := store.Settlement{Key: key(2), Outcome: store.Drop, Create: true, Queue: "b", URL: url(2)}
	equal(f, "completed, seen only", f.settle(done), store.Settled)
	equal(f, "dropped, seen only", f.settle(drop), store.Settled)
	st.Seen = 3
	want := []store.State{store.SeenOnly, store.SeenOnly}
	if f.env.KeepURLs {
		st.Completed, st.Dropped, st.Queues = 1, 1, 2
		want = []store.State{store.Done, store.Dropped}
	}
	f.wantStats(st)
	equal(f, "state of the completed one", f.lookup(1).State, want[0])
	equal(f, "state of the dropped one", f.lookup(2).State, want[1])
	drop.Key = key(3)
	equal(f, "dropped, unknown", f.settle(drop), store.Created)
	f.wantStatus(f.add(item(3, "a")), store.Duplicate)
}

func dropped(f *fixture) {
	f.fill("a", 0, 1)
	l := f.one()
	f.end(l, store.Drop)
	want := store.Entry{Key: l.Key, Crawl: store.DefaultCrawl}
	if !f.env.KeepURLs {
		f.check(sameEntry(f.lookup(0), want))
		equal(f, "requeue", f.settle(store.Settlement{Key: l.Key, Outcome: store.Requeue}), store.Unknown)
		return
	}
	want.State, want.Queue, want.URL, want.Created, want.Ended, want.Attempts = store.Dropped, "a", url(0), start, start, 1
	f.check(sameEntry(f.lookup(0), want))
	equal(f, "first spelling", f.addWith(store.AddOptions{WantFirst: true}, item(0, "a"))[0].First, url(0))
	equal(f, "requeue", f.settle(store.Settlement{Key: l.Key, Outcome: store.Requeue}), store.Settled)
	f.wantStats(store.Stats{Seen: 1, Held: 1, Queues: 1, Active: 1})
	f.end(f.one(), store.Drop)
	equal(f, "complete", f.settle(store.Settlement{Key: l.Key}), store.Settled)
	f.wantStats(store.Stats{Seen: 1, Completed: 1, Queues: 1})
	equal(f, "state", f.lookup(0).State, store.Done)
}

func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
