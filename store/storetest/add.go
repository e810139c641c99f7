package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/firstseen/firstseen/store"
)

var addCases = []testCase{
	{"see tells the first of equal keys", func(f *fixture) {
		fresh := make([]bool, 4)
		f.check(f.s.See(f.ctx, "", []store.Key{key(1), key(2), key(1), key(1)}, fresh, store.SeeOptions{}))
		f.wantFresh(fresh, true, true, false, false)
		f.check(f.s.See(f.ctx, "", []store.Key{key(2), key(3)}, fresh[:2], store.SeeOptions{UnicodeHosts: true}))
		f.wantFresh(fresh[:2], false, true)
		f.wantStats(store.Stats{Seen: 3})
		equal(f, "state", f.lookup(1).State, store.SeenOnly)
	}},
	{"see wants as many answers as keys", func(f *fixture) {
		err := f.s.See(f.ctx, "", []store.Key{key(1)}, make([]bool, 2), store.SeeOptions{})
		f.wantErr(err, store.ErrInvalid)
		f.wantStats(store.Stats{})
	}},
	{"add tells new and duplicate, in order", func(f *fixture) {
		v := f.add(item(1, "a"), item(2, "b"), item(1, "a"), item(2, "other"))
		f.wantStatus(v, store.New, store.New, store.Duplicate, store.Duplicate)
		f.wantStatus(f.add(item(3, "a"), item(2, "b")), store.New, store.Duplicate)
		f.wantStats(store.Stats{Seen: 3, Held: 3, Queues: 2, Active: 2})
		equal(f, "queue of a duplicate", f.lookup(2).Queue, "b")
	}},
	{"add after see is a duplicate", func(f *fixture) {
		f.check(f.s.See(f.ctx, "", []store.Key{key(1)}, make([]bool, 1), store.SeeOptions{}))
		f.wantStatus(f.add(item(1, "a")), store.Duplicate)
		f.wantStats(store.Stats{Seen: 1})
	}},
	{"add with no queue records only", func(f *fixture) {
		f.wantStatus(f.addWith(store.AddOptions{MaxHeld: 1}, item(1, ""), item(2, ""), item(1, "a")), store.New, store.New, store.Duplicate)
		f.wantStats(store.Stats{Seen: 2})
		equal(f, "leases", len(f.takeAll()), 0)
	}},
	{"add of nothing does nothing", func(f *fixture) {
		f.add()
		names, err := f.s.Crawls(f.ctx)
		f.check(err)
		equal(f, "crawls", len(names), 0)
	}},
	{"the first proposal for a crawl's name holds", firstName},
	{"the first spelling is told while it is kept", firstSpelling},
	{"the cap of a queue refuses, and what it refuses isn't recorded", func(f *fixture) {
		opt := store.AddOptions{MaxPerQueue: 2}
		v := f.addWith(opt, item(1, "a"), item(2, "a"), item(3, "a"), item(4, "b"), item(1, "a"))
		f.wantStatus(v, store.New, store.New, store.Full, store.New, store.Duplicate)
		f.wantUnknown(3)
		f.wantStatus(f.add(item(3, "a")), store.New)
		f.end(f.one(), store.Complete)
		f.wantStatus(f.addWith(opt, item(5, "a")), store.Full)
	}},
	{"the cap of the crawl counts queued and leased URLs", func(f *fixture) {
		opt := store.AddOptions{MaxHeld: 2}
		f.wantStatus(f.addWith(opt, item(1, "a"), item(2, "b"), item(3, "c")), store.New, store.New, store.Full)
		l := f.one()
		f.wantStatus(f.addWith(opt, item(3, "c")), store.Full)
		f.end(l, store.Complete)
		f.wantStatus(f.addWith(opt, item(3, "c")), store.New)
	}},
	{"force queues what was seen and isn't held", forced},
	{"what ended before a time is queued again", endedBefore},
	{"of any number of calls one queues again what ended before a time", endedBeforeOnce},
	{"text goes through unchanged", func(f *fixture) {
		it := item(1, "under_score%5F\x00ü")
		it.URL = " HTTP://Example.ORG:80/%7e#frag\x00\xff" + strings.Repeat("x", 64<<10)
		it.Meta = []byte{0, 1, 255}
		it.Due, it.Priority = f.Now(), 3
		f.add(it, item(2, strings.Repeat("q", store.MaxQueueKey)))
		want := store.Entry{Key: it.Key, State: store.Queued, Crawl: store.DefaultCrawl, Queue: it.Queue, URL: it.URL,
			Meta: it.Meta, Due: f.Now(), Created: f.Now(), Priority: 3}
		f.check(sameEntry(f.lookup(1), want))
		l := f.take(store.TakeRequest{Queue: it.Queue})
		want.State, want.Attempts, want.Token, want.Expires, want.Leased = store.Leased, 1, l[0].Token, l[0].Expires, f.Now()
		f.check(sameEntry(l[0], want))
	}},
	{"what can't be stored is refused whole", func(f *fixture) {
		long, high := item(2, strings.Repeat("q", store.MaxQueueKey+1)), item(2, "a")
		high.Priority = store.MaxPriority + 1
		for _, bad := range []store.Item{long, high} {
			_, err := f.s.Add(f.ctx, "", []store.Item{item(1, "a"), bad}, store.AddOptions{})
			f.wantErr(err, store.ErrInvalid)
		}
		_, err := f.s.Add(f.ctx, "*", []store.Item{item(1, "a")}, store.AddOptions{})
		f.wantErr(err, store.ErrInvalid)
		f.wantErr(f.s.See(f.ctx, "*", []store.Key{key(1)}, make([]bool, 1), store.SeeOptions{}), store.ErrInvalid)
		f.wantStats(store.Stats{})
	}},
	{"crawls don't know of each other", func(f *fixture) {
		f.add(item(1, "a"))
		v, err := f.s.Add(f.ctx, "other", []store.Item{item(1, "a")}, store.AddOptions{})
		f.check(err)
		f.wantStatus(v, store.New)
		v, err = f.s.Add(f.ctx, store.DefaultCrawl, []store.Item{item(1, "a")}, store.AddOptions{})
		f.check(err)
		f.wantStatus(v, store.Duplicate)
		all, err := f.s.Stats(f.ctx, "*")
		f.check(err)
		equal(f, "stats", all, store.Stats{Seen: 2, Held: 2, Queues: 2, Active: 2})
	}},
	{"one new for each key, whoever comes", oneNew},
}

func (f *fixture) wantFresh(got []bool, want ...bool) {
	f.Helper()
	f.check(sameList(got, want, sameValue))
}

func (f *fixture) wantStatus(got []store.Verdict, want ...store.Status) {
	f.Helper()
	for i := range want {
		if got[i].Status != want[i] {
			f.Fatalf("got %v as verdict %d; want %v", got[i].Status, i, want[i])
		}
	}
}

func firstSpelling(f *fixture) {
	ask := store.AddOptions{WantFirst: true}
	again := item(1, "a")
	again.URL = "another spelling"
	v := f.addWith(ask, item(1, "a"), again)
	equal(f, "first within the batch", v[1].First, url(1))
	equal(f, "first, not asked", f.add(again)[0].First, "")
	equal(f, "first, queued", f.addWith(ask, again)[0].First, url(1))
	l := f.one()
	equal(f, "first, leased", f.addWith(ask, again)[0].First, url(1))
	f.end(l, store.Complete)
	want := ""
	if f.env.KeepURLs {
		want = url(1)
	}
	equal(f, "first, done", f.addWith(ask, again)[0].First, want)
	f.add(item(2, ""))
	equal(f, "first, seen only", f.addWith(ask, item(2, "a"))[0], store.Verdict{Status: store.Duplicate})
}

func forced(f *fixture) {
	force := func(n int, queue string) store.Item {
		it := item(n, queue)
		it.Force, it.URL = true, "forced"
		return it
	}
	requeued := store.Verdict{Status: store.Duplicate, Requeued: true}
	held := store.Verdict{Status: store.Duplicate}
	equal(f, "forced unknown", f.add(force(1, "a"))[0], store.Verdict{Status: store.New})
	equal(f, "forced queued", f.add(force(1, "a"))[0], held)
	l := f.one()
	equal(f, "forced leased", f.add(force(1, "a"))[0], held)
	f.end(l, store.Complete)
	f.wantStats(store.Stats{Seen: 1, Completed: 1, Queues: 1})
	equal(f, "forced beyond a cap", f.addWith(store.AddOptions{MaxHeld: 1}, item(2, "c"), force(1, "b"))[1].Status, store.Full)
	v := f.add(force(1, "b"), force(1, "b"))
	equal(f, "forced done", v[0], requeued)
	equal(f, "forced twice", v[1], held)
	// What was completed in queue a is known only by its text.
	st := store.Stats{Seen: 2, Held: 2, Queues: 2, Active: 2}
	if !f.env.KeepURLs {
		st.Completed, st.Queues = 1, 3
	}
	f.wantStats(st)
	e := f.lookup(1)
	equal(f, "queue", e.Queue, "b")
	equal(f, "attempts", e.Attempts, 0)
	f.add(item(3, ""))
	equal(f, "forced seen only", f.add(force(3, "b"))[0], requeued)
	equal(f, "forced with no queue", f.add(force(4, ""), force(4, ""))[1], held)
}

func endedBefore(f *fixture) {
	unless := func(n int, age time.Duration) store.Item {
		it := item(n, "a")
		it.EndedBefore, it.URL = f.ahead(-age), "again"
		return it
	}
	held, undated := store.Verdict{Status: store.Duplicate}, store.Verdict{Status: store.Undated}
	requeued := store.Verdict{Status: store.Duplicate, Requeued: true}
	if !f.env.KeepURLs {
		f.add(item(1, "a"), item(2, "a"), item(3, ""))
		f.end(f.one(), store.Complete)
		forced := unless(3, 0)
		forced.Force = true
		v := f.add(unless(1, 0), unless(2, 0), unless(3, 0), unless(4, 0), unless(4, 0), forced, unless(3, 0), item(1, "a"))
		f.check(sameList(v, []store.Verdict{undated, held, undated, {}, held, requeued, held, held}, sameValue))
		return
	}
	equal(f, "unknown", f.add(unless(1, 0))[0], store.Verdict{Status: store.New})
	equal(f, "queued", f.add(unless(1, -time.Hour))[0], held)
	l := f.one()
	equal(f, "leased", f.add(unless(1, -time.Hour))[0], held)
	f.end(l, store.Complete)
	ended := f.ahead(0)
	for _, outcome := range []store.Outcome{store.Complete, store.Drop} {
		f.clock.step(time.Minute)
		f.restart()
		equal(f, "ended", f.lookup(1).Ended.UTC(), ended.UTC())
		equal(f, "as any duplicate", f.add(item(1, "a"))[0], held)
		equal(f, "ended then", f.add(unless(1, time.Minute))[0], held)
		v := f.add(item(1, "a"), unless(1, time.Minute), unless(1, time.Minute-time.Millisecond), unless(1, 0))
		f.check(sameList(v, []store.Verdict{held, held, requeued, held}, sameValue))
		equal(f, "ended", f.lookup(1).Ended, time.Time{})
		f.end(f.one(), outcome)
		ended = f.ahead(0)
	}
	f.add(item(2, ""))
	equal(f, "seen only", f.add(unless(2, -time.Hour))[0], held)
}

// endedBeforeOnce offers URLs that ended long ago from many goroutines, which fetch them at the same time.
func endedBeforeOnce(f *fixture) {
	const callers, urls = 6, 40
	if !f.env.KeepURLs {
		return
	}
	items := make([]store.Item, urls)
	for i := range items {
		items[i] = item(i, string(rune('a'+i%7)))
	}
	f.add(items...)
	f.endAll()
	f.clock.step(time.Hour)
	for i := range items {
		items[i].EndedBefore = f.ahead(-time.Minute)
	}
	var mu sync.Mutex
	told := 0
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for turn := range 4 {
				from := (caller*7 + turn*11) % urls
				batch := append(append([]store.Item{}, items[from:]...), items[:from]...)
				v, err := f.s.Add(f.ctx, "", batch, store.AddOptions{})
				if err != nil {
					f.Error(err)
					return
				}
				mu.Lock()
				for i := range v {
					if v[i].Requeued {
						told++
					}
				}
				mu.Unlock()
				f.endAll()
			}
		})
	}
	wg.Wait()
	equal(f, "requeued", told, urls)
}

// endAll completes all that is due.
func (f *fixture) endAll() {
	got, err := f.s.Take(f.ctx, store.TakeRequest{MaxURLs: 1000, MaxPerQueue: 1000})
	if err != nil {
		f.Error(err)
		return
	}
	list := make([]store.Settlement, len(got.Leases))
	for i, l := range got.Leases {
		list[i] = store.Settlement{Key: l.Key, Token: l.Token, Outcome: store.Complete}
	}
	if _, err := f.s.Settle(f.ctx, "", list); err != nil {
		f.Error(err)
	}
}

// oneNew adds the same keys from many goroutines, in batches of any order.
func oneNew(f *fixture) {
	const callers, keys, batch = 8, 600, 40
	var mu sync.Mutex
	told := make([]int, keys)
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(caller), 7))
			order := rng.Perm(keys)
			for len(order) > 0 {
				fresh := f.offer(order[:batch], caller%3 == 0)
				mu.Lock()
				for i, n := range order[:batch] {
					if fresh[i] {
						told[n]++
					}
				}
				mu.Unlock()
				order = order[batch:]
			}
		})
	}
	wg.Wait()
	for n, times := range told {
		if times != 1 {
			f.Fatalf("key %d was new %d times; want once", n, times)
		}
	}
	st, err := f.s.Stats(f.ctx, "")
	f.check(err)
	equal(f, "keys seen", st.Seen, keys)
}

// offer adds items, or sees their keys, and returns which were new.
func (f *fixture) offer(items []int, see bool) []bool {
	fresh := make([]bool, len(items))
	if see {
		keys := make([]store.Key, len(items))
		for i, n := range items {
			keys[i] = key(n)
		}
		if err := f.s.See(f.ctx, "", keys, fresh, store.SeeOptions{}); err != nil {
			f.Error(err)
		}
		return fresh
	}
	list := make([]store.Item, len(items))
	for i, n := range items {
		list[i] = item(n, string(rune('a'+n%7)))
	}
	v, err := f.s.Add(f.ctx, "", list, store.AddOptions{})
	if err != nil {
		f.Error(err)
		return fresh
	}
	for i := range v {
		fresh[i] = v[i].Status == store.New
	}
	return fresh
}

// firstName settles names of crawls, none of which comes into being by that, in more
// calls than one step of a store may carry.
func firstName(f *fixture) {
	const crawls = 450
	names, ask, first, second := make([]string, crawls), make([]string, crawls), make([]string, crawls), make([]string, crawls)
	for i := range names {
		names[i] = fmt.Sprint("crawl ", i)
		second[i] = names[i]
		if i%2 == 0 {
			first[i] = names[i] + "|marked"
		}
	}
	f.check(f.s.NameCrawls(f.ctx, names, ask))
	f.check(f.s.NameCrawls(f.ctx, names, first))
	f.check(f.s.NameCrawls(f.ctx, names, second))
	for i, name := range names {
		want := [2]string{name + "|marked", name}[i%2]
		if ask[i] != "" || second[i] != want || i%2 == 1 && first[i] != "" {
			f.Fatalf("%s: got %q, %q, %q; want nothing before a proposal, and %q from then on", name, ask[i], first[i], second[i], want)
		}
	}
	list, err := f.s.Crawls(f.ctx)
	f.check(err)
	equal(f, "crawls", len(list), 0)
	f.wantErr(f.s.NameCrawls(f.ctx, names, ask[1:]), store.ErrInvalid)
	f.wantErr(f.s.NameCrawls(f.ctx, []string{strings.Repeat("n", 250)}, ask[:1]), store.ErrInvalid)
}
