package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/firstseen/firstseen/store"
)

// roundCases are about tokens, counts, limits and marks: what a URL goes through in weeks with slow fetchers, restarts of workers, limits and
// bad spellings.
var roundCases = []testCase{
	{"a late success settles its URL, and overtakes the newer lease", func(f *fixture) {
		f.fill("a", 0, 2)
		first := f.take(store.TakeRequest{Lease: time.Second})[0]
		f.step(time.Minute)
		newer := f.take(store.TakeRequest{Lease: time.Hour})[0]
		equal(f, "handed out again", newer.Key, first.Key)
		equal(f, "without Late", f.end(first, store.Complete), store.Stale)
		equal(f, "a late drop", f.end(first, store.Drop), store.Stale)
		equal(f, "a late extension", f.end(first, store.Extend), store.Stale)
		equal(f, "a late success", f.fetched(first), store.Settled)
		f.wantStats(store.Stats{Seen: 2, Held: 1, InFlight: 1, Completed: 1, Fetched: 1, Queues: 1, Active: 1})
		f.again()
		equal(f, "the newer one", f.fetched(newer), store.AlreadyDone)
		f.wantStats(store.Stats{Seen: 2, Held: 1, Completed: 1, Fetched: 1, Queues: 1, Active: 1})
		equal(f, "again", f.end(newer, store.Complete), store.Stale)
		late := store.Stale
		if f.env.KeepURLs {
			late = store.AlreadyDone
		}
		equal(f, "again, late", f.fetched(newer), late)
		f.wantStats(store.Stats{Seen: 2, Held: 1, Completed: 1, Fetched: 1, Queues: 1, Active: 1})
	}},
	{"only tokens of the round are accepted late", func(f *fixture) {
		f.fill("a", 0, 2)
		expired := f.take(store.TakeRequest{MaxURLs: 2, MaxPerQueue: 2, Lease: time.Second})
		f.step(time.Minute)
		again := f.take(store.TakeRequest{Lease: time.Hour})[0]
		other := expired[1]
		other.Key = again.Key
		equal(f, "the token of another URL", f.fetched(other), store.Stale)
		other.Token = again.Token + 1
		equal(f, "a token that was never given", f.fetched(other), store.Stale)
		retry := store.Settlement{Key: again.Key, Token: again.Token, Outcome: store.Requeue}
		equal(f, "retry", f.settle(retry), store.Settled)
		f.again()
		equal(f, "late, of a URL that is queued", f.fetched(expired[0]), store.Settled)
		f.wantKeys(f.takeAll(), 1)

		forced := item(0, "a")
		forced.Force = true
		f.add(forced)
		equal(f, "of the round before", f.fetched(again), store.Stale)
		l := f.one()
		recrawl := store.Settlement{Key: l.Key, Token: l.Token, Outcome: store.Requeue, Late: true, NewRound: true, Fetched: true}
		equal(f, "recrawl", f.settle(recrawl), store.Settled)
		equal(f, "recrawl again", f.settle(recrawl), store.Stale)
		equal(f, "attempts", f.lookup(0).Attempts, 0)
		f.wantStats(store.Stats{Seen: 2, Held: 2, InFlight: 1, Fetched: 2, Queues: 1, Active: 1, Completed: 1 - one(f.env.KeepURLs)})
	}},
	{"the sixteen latest tokens of a round are known", func(f *fixture) {
		f.fill("a", 0, 1)
		var leases []store.Entry
		for range 18 {
			leases = append(leases, f.take(store.TakeRequest{Lease: time.Second})[0])
			f.step(time.Second)
		}
		f.again()
		equal(f, "the 17th latest", f.fetched(leases[1]), store.Stale)
		equal(f, "the 16th latest", f.fetched(leases[2]), store.Settled)
	}},
	{"a drop is taken back by a late success, where texts are kept", func(f *fixture) {
		f.fill("a", 0, 1)
		first := f.take(store.TakeRequest{Lease: time.Second})[0]
		f.step(time.Minute)
		again := f.one()
		drop := store.Settlement{Key: again.Key, Token: again.Token, Outcome: store.Drop, Failed: true}
		equal(f, "drop", f.settle(drop), store.Settled)
		want, st := store.Settled, store.Stats{Seen: 1, Completed: 1, Fetched: 1, Failed: 1, Queues: 1}
		if !f.env.KeepURLs {
			want, st = store.Stale, store.Stats{Seen: 1, Dropped: 1, Failed: 1, Queues: 1}
		}
		f.again()
		equal(f, "late success", f.fetched(first), want)
		f.wantStats(st)
	}},
	{"an overtaken lease is in flight until it ends", func(f *fixture) {
		f.fill("a", 0, 2)
		req := store.TakeRequest{Lease: time.Second, MaxInFlight: 1}
		first := f.take(req)[0]
		f.step(time.Minute)
		req.Lease = time.Hour
		newer := f.take(req)[0]
		f.fetched(first)
		f.wantKeys(f.take(req))
		equal(f, "state", f.taken(req).State, store.Waiting)
		f.again()
		f.wantKeys(f.take(req))
		equal(f, "in flight", f.info("a").InFlight, 1)
		f.step(time.Hour)
		f.wantKeys(f.take(req), 1)
		equal(f, "the newer one, after its end", f.end(newer, store.Complete), store.Stale)
		f.again()
		f.wantStats(store.Stats{Seen: 2, Held: 1, InFlight: 1, Completed: 1, Fetched: 1, Queues: 1, Active: 1})
	}},
	{"a URL that waits for an overtaken lease is due when that is settled", func(f *fixture) {
		for n, c := range []struct{ in, due time.Duration }{{-time.Second, 0}, {0, 0}, {time.Minute, time.Hour + time.Millisecond}, {time.Hour, time.Hour + time.Millisecond}, {2 * time.Hour, 2 * time.Hour}} {
			f.fill("a", n, 1)
			first := f.take(store.TakeRequest{Lease: time.Second})[0]
			f.step(time.Minute)
			newer := f.take(store.TakeRequest{Lease: time.Hour})[0]
			begun := f.Now()
			equal(f, "late", f.settle(store.Settlement{Key: first.Key, Token: first.Token, Outcome: store.Requeue, Late: true, NewRound: true, Due: begun.Add(c.in)}), store.Settled)
			f.wantKeys(f.take(store.TakeRequest{}))
			f.step(time.Second)
			equal(f, "the newer one", f.end(newer, store.Drop), store.AlreadyDone)
			f.again()
			due := begun.Add(c.due)
			if c.due == 0 {
				due = f.Now()
			}
			equal(f, fmt.Sprintf("due, %v", c.in), f.lookup(n).Due, due)
			f.step(max(0, due.Sub(f.Now())))
			f.wantKeys(f.takeAll(), n)
			_, err := f.s.Forget(f.ctx, store.Selection{})
			f.check(err)
		}
	}},
	{"an overtaken lease that is extended runs on", func(f *fixture) {
		req := store.TakeRequest{Lease: time.Hour, MaxInFlight: 1}
		f.fill("a", 0, 1)
		first := f.take(store.TakeRequest{Lease: time.Second})[0]
		f.step(time.Minute)
		newer := f.take(req)[0]
		equal(f, "late", f.settle(store.Settlement{Key: first.Key, Token: first.Token, Outcome: store.Requeue, Late: true, NewRound: true}), store.Settled)
		for range 2 {
			equal(f, "extend", f.settle(store.Settlement{Key: newer.Key, Token: newer.Token, Outcome: store.Extend, After: 2 * time.Hour}), store.AlreadyDone)
			f.again()
			f.wantKeys(f.take(req))
			equal(f, "in flight", f.info("a").InFlight, 1)
		}
		f.step(time.Hour)
		f.wantKeys(f.take(req), 0)
	}},
	{"an overtaken lease goes with its key", func(f *fixture) {
		for n, end := range []func(key store.Key){
			func(store.Key) { f.step(time.Hour) },
			func(store.Key) { it := item(0, "b"); it.Force = true; f.add(it) },
			func(k store.Key) { f.forget(1, store.Selection{Keys: []store.Key{k}}) },
			func(store.Key) { _, err := f.s.Forget(f.ctx, store.Selection{Queue: "a"}); f.check(err) },
			func(k store.Key) {
				f.settle(store.Settlement{Key: k, Outcome: store.Requeue, Create: true, Queue: "b", URL: url(0)})
			},
		} {
			f.fill("a", 0, 1)
			first := f.take(store.TakeRequest{Lease: time.Second})[0]
			f.step(time.Minute)
			newer := f.take(store.TakeRequest{Lease: time.Hour})[0]
			equal(f, "late", f.fetched(first), store.Settled)
			end(newer.Key)
			if got := f.end(newer, store.Complete); got != store.Stale {
				f.Fatalf("case %d: got answer %v; want stale", n, got)
			}
			_, err := f.s.Forget(f.ctx, store.Selection{})
			f.check(err)
			f.wantStats(store.Stats{})
		}
	}},
	{"pages and failures are counted", func(f *fixture) {
		f.fill("a", 0, 4)
		leases := f.takeAll()
		for i, s := range []store.Settlement{
			{Fetched: true}, // a page
			{},              // the source of a redirect
			{Outcome: store.Requeue, NewRound: true, Fetched: true, Due: f.ahead(time.Hour)}, // a page that will be fetched again
			{Outcome: store.Drop, Failed: true},
		} {
			s.Key, s.Token = leases[i].Key, leases[i].Token
			equal(f, "answer", f.settle(s), store.Settled)
			equal(f, "answer to the same", f.settle(s), store.Stale)
		}
		want := store.Stats{Seen: 4, Held: 1, Completed: 2, Dropped: 1, Fetched: 2, Failed: 1, Queues: 1, Active: 1}
		f.wantStats(want)
		f.again()
		f.wantStats(want)
		q := f.info("a")
		equal(f, "fetched of the queue", q.Fetched, 2)
		equal(f, "failed of the queue", q.Failed, 1)
	}},
	{"a limit counts pages and what is leased", func(f *fixture) {
		f.fill("a", 0, 9)
		limit := int64(3)
		f.set("a", store.QueueChange{Limit: &limit})
		req := store.TakeRequest{MaxURLs: 9, MaxPerQueue: 9, Lease: time.Minute}
		got := f.take(req)
		f.wantKeys(got, 0, 1, 2)
		f.end(got[0], store.Complete) // not a page
		f.fetched(got[1])
		f.wantKeys(f.take(req), 3)
		f.again()
		f.wantKeys(f.take(req))
		f.step(time.Minute)
		f.wantKeys(f.take(req), 2, 3) // the same leases again
		equal(f, "late", f.fetched(got[2]), store.Settled)
		f.wantKeys(f.take(req))
		equal(f, "state", f.taken(req).State, store.Waiting)
		f.step(time.Minute)
		f.fetched(f.take(req)[0])
		f.wantEmpty(req, store.Limited, store.Holding{Queues: 1, Limited: 1})
		limit = 4
		f.set("a", store.QueueChange{Limit: &limit})
		f.wantKeys(f.take(req), 4)
	}},
	{"a limit below what is leased gives again as many leases as it has room for", func(f *fixture) {
		limit, req := int64(2), store.TakeRequest{Queue: "a", MaxURLs: 99, MaxPerQueue: 9, Lease: time.Minute}
		f.fill("a", 0, 5)
		f.fetched(f.take(store.TakeRequest{MaxURLs: 1})[0])
		equal(f, "leases", len(f.take(req)), 4)
		f.set("a", store.QueueChange{Limit: &limit})
		f.step(time.Minute)
		f.wantKeys(f.take(req), 1)
		f.again()
		f.wantKeys(f.take(req))
		f.step(time.Minute)
		f.fetched(f.take(req)[0])
		f.wantEmpty(req, store.Limited, store.Holding{Queues: 1, Limited: 1})
	}},
	{"a crawl beyond its limit gives again as many leases as it has room for", func(f *fixture) {
		limit, held := int64(2), int64(4)
		for n, queue := range []string{"a", "b", "c", "d", "e"} {
			f.fill(queue, 10*n, 3)
		}
		equal(f, "leases", len(f.take(store.TakeRequest{MaxURLs: 4, Lease: time.Minute})), 4)
		f.check(f.s.Configure(f.ctx, "", "", store.QueueChange{Limit: &limit}))
		for range 2 {
			f.step(time.Minute)
			got := f.take(store.TakeRequest{MaxURLs: 9, MaxPerQueue: 2, Lease: time.Minute})
			equal(f, "leases again", len(got), int(limit))
			f.again()
			f.wantKeys(f.takeAll())
		}
		f.step(time.Minute)
		for range limit {
			f.fetched(f.take(store.TakeRequest{MaxURLs: 1})[0])
		}
		f.wantEmpty(store.TakeRequest{}, store.Limited, store.Holding{Queues: held + 1, Limited: held + 1})
	}},
	{"a limit of a crawl is over all its queues", func(f *fixture) {
		limit := int64(4)
		for n, queue := range []string{"a", "b", "c", "d", "e", "f"} {
			f.fill(queue, 10*n, 3)
		}
		f.check(f.s.Configure(f.ctx, "", "", store.QueueChange{Limit: &limit}))
		got := f.take(store.TakeRequest{MaxURLs: 99, MaxPerQueue: 3, Lease: time.Minute})
		equal(f, "leases", len(got), 4)
		f.wantKeys(f.takeAll())
		for _, l := range got[:3] {
			f.fetched(l)
		}
		f.again()
		f.wantKeys(f.takeAll())
		f.step(time.Minute)
		for _, queue := range []string{"a", "b", "c"} { // of which the first take emptied two at most
			if !slices.ContainsFunc(got, func(l store.Entry) bool { return l.Queue == queue }) {
				f.wantEmpty(store.TakeRequest{Queue: queue}, store.Limited, store.Holding{Queues: 1, Limited: 1})
			}
		}
		again := f.take(store.TakeRequest{MaxURLs: 99, MaxPerQueue: 3})
		equal(f, "leases again", len(again), 1)
		equal(f, "the lease that ran out", again[0].Key, got[3].Key)
		f.fetched(again[0])
		held := int64(6)
		f.wantEmpty(store.TakeRequest{MaxURLs: 99}, store.Limited, store.Holding{Queues: held - one(got[0].Queue == got[2].Queue), Limited: held - one(got[0].Queue == got[2].Queue)})
		limit = 5
		f.check(f.s.Configure(f.ctx, "", "", store.QueueChange{Limit: &limit}))
		equal(f, "leases after the limit was raised", len(f.takeAll()), 1)
	}},
	{"an empty answer says why", emptyAnswers},
	{"another spelling of a marked key is queued, once", marked},
	{"a mark is made of what is dropped, and of nothing else", marks},
	{"a settlement may be of a queued URL only", func(f *fixture) {
		f.fill("a", 0, 2)
		five := uint8(5)
		raise := store.Settlement{Key: key(1), Outcome: store.Requeue, If: store.Queued, Priority: &five, Due: f.ahead(-time.Hour)}
		equal(f, "queued", f.settle(raise), store.Settled)
		f.wantKeys(f.take(store.TakeRequest{}), 1)
		equal(f, "leased", f.settle(raise), store.Stale)
		raise.Key = key(7)
		equal(f, "unknown", f.settle(raise), store.Unknown)
		f.add(item(8, ""))
		raise.Key = key(8)
		equal(f, "seen", f.settle(raise), store.Stale)
	}},
}

// wantEmpty fails the test unless the request gets nothing, for this reason.
func (f *fixture) wantEmpty(req store.TakeRequest, state store.TakeState, holding store.Holding) {
	f.Helper()
	got := f.taken(req)
	f.wantKeys(got.Leases)
	equal(f, "state", got.State, state)
	equal(f, "queues that hold something", got.Holding, holding)
}

func emptyAnswers(f *fixture) {
	yes, no, limit, until, none := true, false, int64(1), f.ahead(time.Minute), time.Time{}
	any := store.TakeRequest{Crawl: "*"}
	f.wantEmpty(any, store.Finished, store.Holding{})
	f.wantEmpty(store.TakeRequest{Queue: "none"}, store.Finished, store.Holding{})
	f.fill("a", 0, 2)
	f.fill("b", 10, 2)
	f.set("a", store.QueueChange{Paused: &yes})
	f.set("b", store.QueueChange{Paused: &yes})
	f.wantEmpty(any, store.Paused, store.Holding{Queues: 2, Paused: 2})
	f.set("b", store.QueueChange{Paused: &no, Limit: &limit})
	f.fetched(f.one())
	f.wantEmpty(any, store.Limited, store.Holding{Queues: 2, Paused: 1, Limited: 1})
	f.wantEmpty(store.TakeRequest{Queue: "a"}, store.Paused, store.Holding{Queues: 1, Paused: 1})
	f.set("a", store.QueueChange{Paused: &no, BlockedUntil: &until})
	f.wantEmpty(any, store.Blocked, store.Holding{Queues: 2, Limited: 1, Blocked: 1})
	f.set("a", store.QueueChange{BlockedUntil: &none})
	f.check(f.s.Configure(f.ctx, "", "", store.QueueChange{BlockedUntil: &until}))
	f.wantEmpty(any, store.Blocked, store.Holding{Queues: 2, Limited: 1, Blocked: 1})
	f.check(f.s.Configure(f.ctx, "", "", store.QueueChange{BlockedUntil: &none, Paused: &yes}))
	f.wantEmpty(any, store.Paused, store.Holding{Queues: 2, Paused: 2})
	f.check(f.s.Configure(f.ctx, "", "", store.QueueChange{Paused: &no}))
	l := f.take(store.TakeRequest{Delay: time.Second, Lease: time.Hour})[0]
	f.wantEmpty(any, store.Waiting, store.Holding{Queues: 2, Limited: 1})
	f.fetched(l)
	f.wantEmpty(any, store.Delayed, store.Holding{Queues: 2, Limited: 1})
	f.again()
	f.wantEmpty(any, store.Delayed, store.Holding{Queues: 2, Limited: 1})
	f.step(time.Second)
	l = f.one()
	equal(f, "state with a lease", l.Queue, "a")
	f.fetched(l)
	limit = 0
	f.set("b", store.QueueChange{Limit: &limit})
	f.fetched(f.one())
	f.wantEmpty(any, store.Finished, store.Holding{})
}

// marked drops a URL whose first spelling failed, and offers its key again.
func marked(f *fixture) {
	spelled := func(url string, variant bool) store.Item {
		it := item(0, "a")
		it.URL, it.Variant = url, variant
		return it
	}
	offer := func(it store.Item, requeued bool) {
		f.Helper()
		v := f.add(it)[0]
		equal(f, "verdict", v.Status, store.Duplicate)
		equal(f, "requeued", v.Requeued, requeued)
	}
	drop := func() {
		f.Helper()
		l := f.one()
		equal(f, "drop", f.settle(store.Settlement{Key: l.Key, Token: l.Token, Outcome: store.Drop, Failed: true, Mark: store.Spelling("first")}), store.Settled)
	}
	f.add(spelled("first", true))
	offer(spelled("second", true), false) // it is queued
	drop()
	want := store.Stats{Seen: 1, Dropped: 1, Failed: 1, Queues: 1, Marked: 1}
	f.wantStats(want)
	f.again()
	f.wantStats(want)
	offer(spelled("first", true), false)
	offer(spelled("canonical", false), false)
	f.wantStatus(f.addWith(store.AddOptions{MaxHeld: 0}, spelled("first", true)), store.Duplicate)
	offer(spelled("second", true), true)
	offer(spelled("third", true), false)
	equal(f, "URL", f.lookup(0).URL, "second")
	equal(f, "respelled", f.lookup(0).Respelled, true)
	f.again()
	equal(f, "respelled", f.lookup(0).Respelled, true)
	drop()
	f.wantStats(store.Stats{Seen: 1, Dropped: 1 + one(!f.env.KeepURLs), Failed: 2, Queues: 1})
	offer(spelled("third", true), false)

	f.forget(1, store.Selection{Keys: []store.Key{key(0)}})
	f.add(spelled("first", true))
	drop()
	f.forget(1, store.Selection{Keys: []store.Key{key(0)}})
	f.wantStatus(f.add(spelled("second", true)), store.New)
	st, err := f.s.Stats(f.ctx, "")
	f.check(err)
	equal(f, "marks of a forgotten key", st.Marked, 0)
}

// marks drops keys in all states with a mark, alone and after another settlement of the same call. Their queues and homes differ.
func marks(f *fixture) {
	const n = 8 // keys of each try
	next, marked, kept := 0, int64(0), one(f.env.KeepURLs)
	settle := func(list ...store.Settlement) {
		var all []store.Settlement
		for i := next; i < next+n; i++ {
			for _, st := range list {
				st.Key = key(i)
				if st.Create {
					st.Queue, st.URL = fmt.Sprint("other ", i%n), url(i)
				}
				all = append(all, st)
			}
		}
		_, err := f.s.Settle(f.ctx, "", all)
		f.check(err)
	}
	see := func() {
		for i := next; i < next+n; i++ {
			f.add(item(i, ""))
		}
	}
	queue := func() {
		for i := next; i < next+n; i++ {
			f.add(item(i, fmt.Sprint("first ", i%n)))
		}
	}
	lease := func() {
		queue()
		equal(f, "leases", len(f.takeAll()), n)
	}
	end := func(st store.Settlement) func() { return func() { queue(); settle(st) } }
	drop := store.Settlement{Outcome: store.Drop, Mark: store.Spelling("first")}
	create := drop
	create.Create = true
	for _, c := range []struct {
		state                    string
		reach                    func()
		alone, completed, queued int64 // has each key a mark then?
	}{
		{"unknown", func() {}, 1, 1, 1},
		{"seen", see, kept, kept, kept},
		{"queued", queue, 1, 0, 1},
		{"leased", lease, 1, 0, 1},
		{"done", end(store.Settlement{}), 0, 0, kept},
		{"dropped", end(store.Settlement{Outcome: store.Drop}), 0, 0, kept},
		{"marked", end(drop), 1, 1 - kept, 1},
	} {
		try := func(what string, want int64, list ...store.Settlement) {
			f.Helper()
			c.reach()
			settle(list...)
			st, err := f.s.Stats(f.ctx, "")
			f.check(err)
			equal(f, "marks of keys that were "+c.state+", "+what, st.Marked-marked, n*want)
			next, marked = next+n, st.Marked
		}
		try("dropped", c.alone, create)
		try("completed and dropped", c.completed, store.Settlement{}, create)
		try("requeued and dropped", c.queued, store.Settlement{Outcome: store.Requeue}, create)
	}
	drop.Key, drop.Token = key(0), 1
	answers, err := f.s.Settle(f.ctx, "forgotten", []store.Settlement{drop})
	f.check(err)
	equal(f, "answer in a crawl that was forgotten", answers[0], store.Stale)
	crawls, err := f.s.Crawls(f.ctx)
	f.check(err)
	equal(f, "crawls", fmt.Sprint(crawls), fmt.Sprint([]string{store.DefaultCrawl}))
}

// again opens the store again, if it outlives its process.
func (f *fixture) again() {
	f.Helper()
	if f.b.Reopen != nil {
		f.reopen()
	}
}
