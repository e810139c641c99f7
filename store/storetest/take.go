package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/firstseen/firstseen/store"
)

var takeCases = []testCase{
	{"a queue gives by priority, due time, arrival", func(f *fixture) {
		at := func(n int, priority uint8, due time.Duration) store.Item {
			it := item(n, "a")
			it.Priority, it.Due = priority, f.ahead(due)
			return it
		}
		f.add(at(1, 0, -time.Second), at(2, 0, -time.Minute), at(3, 1, -time.Second), at(4, 0, -time.Minute),
			at(5, 7, time.Hour), at(6, 2, time.Millisecond))
		f.wantKeys(f.takeAll(), 3, 2, 4, 1)
		f.step(time.Millisecond)
		f.wantKeys(f.takeAll(), 6)
	}},
	{"the defaults are one URL for 30 seconds", func(f *fixture) {
		f.fill("a", 0, 3)
		got := f.taken(store.TakeRequest{})
		f.wantKeys(got.Leases, 0)
		equal(f, "lease", got.Leases[0].Expires.Sub(f.Now()), 30*time.Second)
		equal(f, "next of an answer that isn't short", got.Next, time.Time{})
		f.wantKeys(f.take(store.TakeRequest{MaxURLs: 5}), 1)
	}},
	{"an answer is bounded in URLs, queues, and URLs of a queue", func(f *fixture) {
		f.fill("a", 0, 9)
		f.fill("b", 10, 9)
		f.fill("c", 20, 9)
		// Which queue comes first of those that had no turn yet, isn't said.
		got := f.take(store.TakeRequest{MaxURLs: 5, MaxPerQueue: 2})
		f.wantRuns(got, []int{2, 2, 1}, map[string]int{"a": 0, "b": 10, "c": 20})
		one := f.take(store.TakeRequest{MaxURLs: 9, MaxPerQueue: 1, MaxQueues: 2})
		next := map[string]int{"a": 2, "b": 12, "c": 22}
		next[got[4].Queue]--
		f.wantRuns(one, []int{1, 1}, next)
	}},
	{"an answer is bounded in bytes", maxBytes},
	{"a lease keeps who took it, and when it was taken or extended", func(f *fixture) {
		_, err := f.s.Take(f.ctx, store.TakeRequest{Client: strings.Repeat("n", store.MaxClient+1)})
		f.wantErr(err, store.ErrInvalid)
		f.fill("a", 0, 1)
		want := func(client string, leased time.Time) {
			e := f.lookup(0)
			equal(f, "client", e.Client, client)
			f.check(sameTimes(times{"leased", e.Leased, leased}))
		}
		name := strings.Repeat("ü", store.MaxClient/2)
		l := f.take(store.TakeRequest{Client: name})[0]
		taken := f.Now()
		equal(f, "client of the answer", l.Client, name)
		f.step(time.Second)
		f.restart()
		want(name, taken)
		f.settle(store.Settlement{Key: l.Key, Token: l.Token, Outcome: store.Extend, After: time.Minute})
		extended := f.Now()
		f.step(time.Second)
		f.restart()
		want(name, extended)
		f.step(time.Hour)
		want(name, extended)
		l = f.take(store.TakeRequest{Client: "w8"})[0]
		f.restart()
		want("w8", f.Now())
		f.settle(store.Settlement{Key: l.Key, Token: l.Token, Outcome: store.Requeue})
		want("", time.Time{})
		f.take(store.TakeRequest{})
		want("", f.Now())
	}},
	{"the delay of the request starts at the take", func(f *fixture) {
		f.fill("a", 0, 3)
		req := store.TakeRequest{MaxURLs: 2, Delay: time.Second}
		got := f.taken(req)
		f.wantKeys(got.Leases, 0)
		f.check(sameTimes(times{"next", got.Next, f.ahead(time.Second)}))
		f.step(999 * time.Millisecond)
		f.wantKeys(f.take(req))
		f.step(time.Millisecond)
		f.wantKeys(f.take(req), 1)
		f.wantKeys(f.take(store.TakeRequest{}))
	}},
	{"a take of one queue says when that may give more", func(f *fixture) {
		f.fill("a", 0, 5)
		got := f.taken(store.TakeRequest{Queue: "a", MaxURLs: 3, MaxPerQueue: 2, Delay: time.Second})
		f.wantKeys(got.Leases, 0, 1)
		f.check(sameTimes(times{"next", got.Next, f.ahead(time.Second)}))
	}},
	{"the delay nearest to the queue holds", nearestDelay},
	{"a bound on leases is never passed", inFlight},
	{"a lease that ran out is handed out again, earliest first", func(f *fixture) {
		f.fill("a", 0, 3)
		long := f.take(store.TakeRequest{Lease: 2 * time.Second})
		short := f.take(store.TakeRequest{Lease: time.Second})
		f.step(time.Second - time.Millisecond)
		f.wantKeys(f.takeAll(), 2)
		f.step(time.Minute)
		got := f.takeAll()
		f.wantKeys(got, 1, 0, 2)
		equal(f, "attempts", got[0].Attempts, 2)
		if got[0].Token == short[0].Token || got[1].Token == long[0].Token {
			f.Fatal("got the token of the lease that ran out; want another")
		}
		f.wantStats(store.Stats{Seen: 3, Held: 3, InFlight: 3, Queues: 1, Active: 1})
	}},
	{"a lease that ran out is held and not in flight", func(f *fixture) {
		f.fill("a", 0, 2)
		l := f.one()
		f.take(store.TakeRequest{Lease: 2 * time.Hour})
		held := store.Stats{Seen: 2, Held: 2, InFlight: 2, Queues: 1, Active: 1}
		f.step(30*time.Second - time.Millisecond)
		f.wantStats(held)
		f.step(time.Millisecond) // nothing else happens
		held.InFlight = 1
		f.wantStats(held)
		equal(f, "in flight", f.info("a").InFlight, 1)
		e := f.lookup(0)
		equal(f, "state", e.State, store.Leased)
		f.check(sameTimes(times{"expires", e.Expires, l.Expires}))
		f.settle(store.Settlement{Key: l.Key, Token: l.Token, Outcome: store.Extend, Due: f.ahead(time.Minute)})
		held.InFlight = 2
		f.wantStats(held)
		f.step(2 * time.Hour)
		held.InFlight = 0
		all, err := f.s.Stats(f.ctx, "*")
		f.check(err)
		equal(f, "stats of all crawls", all, held)
		equal(f, "in flight after all ran out", f.info("a").InFlight, 0)
	}},
	{"turns are shared fairly, by weight", weights},
	{"an urgent URL goes before the turns of others, within politeness", urgentFirst},
	{"urgent URLs leave every second turn to the others", func(f *fixture) {
		for n := range 10 {
			f.fill(fmt.Sprint("q", n), 100*n, 20)
		}
		for n := range 100 {
			it := item(2000+n, fmt.Sprint("u", n%2))
			it.Priority = store.Urgent
			f.add(it)
		}
		turns := map[string]int{}
		for range 120 {
			turns[f.one().Queue]++
			f.step(time.Millisecond)
		}
		for n := range 10 {
			if name := fmt.Sprint("q", n); turns[name] < 4 || turns[name] > 12 {
				f.Fatalf("got turns %v of 120; want 60 of urgent queues at most, the others by turn", turns)
			}
		}
		if !f.b.Shards && (turns["u0"] < 30 || turns["u1"] < 30 || turns["u0"]+turns["u1"] > 75) {
			f.Fatalf("got turns %v of 120; want 60 before their turn, of u0 and u1 alike", turns)
		}
	}},
	{"urgent URLs of a group go before its other queues, and leave them every second turn", urgentInGroup},
	{"crawls take turns", func(f *fixture) {
		f.fill("a", 0, 6)
		for i := range 2 {
			_, err := f.s.Add(f.ctx, "b", []store.Item{item(100+i, "a")}, store.AddOptions{})
			f.check(err)
		}
		var order string
		for range 5 {
			order += f.take(store.TakeRequest{Crawl: "*"})[0].Crawl[:1]
		}
		if n := countOf(order[:4], 'b'); n != 2 {
			f.Fatalf("got turns %s; want each crawl twice in four", order)
		}
	}},
	{"pause, block and limit of a queue", func(f *fixture) {
		f.fill("a", 0, 3)
		yes, no := true, false
		f.set("a", store.QueueChange{Paused: &yes})
		f.wantKeys(f.take(store.TakeRequest{}))
		f.set("a", store.QueueChange{Paused: &no})
		f.fetched(f.one())
		until, limit := f.ahead(time.Minute), int64(2)
		f.set("a", store.QueueChange{BlockedUntil: &until, Limit: &limit})
		f.wantKeys(f.take(store.TakeRequest{}))
		f.step(time.Minute)
		f.fetched(f.one())
		f.wantKeys(f.take(store.TakeRequest{}))
		limit = 0
		f.set("a", store.QueueChange{Limit: &limit})
		f.one()
	}},
	{"pause and block of a crawl and of the store", stops},
	{"one queue can be asked", func(f *fixture) {
		f.fill("a", 0, 1)
		f.fill("b", 1, 2)
		f.wantKeys(f.take(store.TakeRequest{Queue: "b", MaxURLs: 9, MaxPerQueue: 9}), 1, 2)
		f.wantKeys(f.take(store.TakeRequest{Queue: "b"}))
		f.wantKeys(f.take(store.TakeRequest{Queue: "none"}))
		f.wantKeys(f.take(store.TakeRequest{Crawl: "none"}))
		_, err := f.s.Take(f.ctx, store.TakeRequest{Crawl: "*", Queue: "a"})
		f.wantErr(err, store.ErrInvalid)
	}},
	{"a short answer says when there is more", func(f *fixture) {
		equal(f, "next of nothing", f.taken(store.TakeRequest{}).Next, time.Time{})
		it := item(0, "a")
		it.Due = f.ahead(time.Hour)
		f.add(it)
		f.check(sameTimes(times{"next", f.taken(store.TakeRequest{}).Next, it.Due}))
		f.fill("b", 1, 1)
		f.check(sameTimes(times{"next", f.taken(store.TakeRequest{MaxURLs: 2, Lease: time.Minute}).Next, f.ahead(time.Minute)}))
	}},
	{"due times are kept to the millisecond, and nothing is served early", func(f *fixture) {
		it := item(0, "a")
		it.Due = f.ahead(time.Microsecond)
		f.add(it)
		f.wantKeys(f.takeAll())
		f.step(time.Millisecond)
		f.wantKeys(f.takeAll(), 0)
	}},
}

// wantRuns fails the test unless the leases are runs of these lengths, each of another
// queue and in its order from its first number on.
func (f *fixture) wantRuns(got []store.Entry, lengths []int, first map[string]int) {
	f.Helper()
	for _, n := range lengths {
		if len(got) < n {
			f.Fatalf("got %d leases of a queue; want %d", len(got), n)
		}
		from, fresh := first[got[0].Queue]
		if !fresh {
			f.Fatalf("got queue %q again; want another", got[0].Queue)
		}
		delete(first, got[0].Queue)
		for i := range n {
			equal(f, "key", got[i].Key, key(from+i))
		}
		got = got[n:]
	}
	equal(f, "further leases", len(got), 0)
}

func nearestDelay(f *fixture) {
	delay := func(crawl, queue string, d time.Duration) {
		f.Helper()
		f.check(f.s.Configure(f.ctx, crawl, queue, store.QueueChange{Delay: &d}))
	}
	served := func(after time.Duration) {
		f.Helper()
		req := store.TakeRequest{Delay: time.Second}
		f.wantOne(req)
		if after == 0 {
			return
		}
		f.step(after - time.Millisecond)
		f.wantKeys(f.take(req))
		f.step(time.Millisecond)
	}
	f.fill("a", 0, 20)
	delay("*", "", 2*time.Second)
	served(2 * time.Second)
	delay("", "", 3*time.Second)
	served(3 * time.Second)
	delay("", "a", 4*time.Second)
	served(4 * time.Second)
	delay("", "a", -1)
	served(0)
	served(0)
	delay("", "a", 0)
	served(0) // nothing of the queue's own any more: 3 s since the take before
}

// wantOne takes one URL, stepping the clock to when there is one.
func (f *fixture) wantOne(req store.TakeRequest) {
	f.Helper()
	got := f.taken(req)
	if len(got.Leases) == 0 && !got.Next.IsZero() {
		f.step(got.Next.Sub(f.Now()))
		got = f.taken(req)
	}
	equal(f, "leases", len(got.Leases), 1)
}

func inFlight(f *fixture) {
	f.fill("a", 0, 10)
	req := store.TakeRequest{MaxURLs: 9, MaxPerQueue: 9, MaxInFlight: 3, Lease: time.Minute}
	got := f.take(req)
	f.wantKeys(got, 0, 1, 2)
	f.wantKeys(f.take(req))
	f.end(got[1], store.Complete)
	f.wantKeys(f.take(req), 3)
	req.MaxInFlight = 4
	f.wantKeys(f.take(req), 4)
	two := 2
	f.set("a", store.QueueChange{MaxInFlight: &two})
	req.MaxInFlight = 9
	f.wantKeys(f.take(req))
	f.step(time.Hour)
	f.wantKeys(f.take(req), 0, 2) // both ran out first: two leases may run
	f.wantKeys(f.take(req))
	none := -1
	f.set("a", store.QueueChange{MaxInFlight: &none})
	req.MaxInFlight = 1
	f.wantKeys(f.take(req), 3, 4, 5, 6, 7, 8, 9)
}

func weights(f *fixture) {
	three := uint8(3)
	f.fill("a", 0, 300)
	f.fill("b", 1000, 300)
	f.fill("c", 2000, 300)
	f.set("c", store.QueueChange{Weight: &three})
	turns := map[string]int{}
	for range 100 {
		turns[f.one().Queue]++
	}
	if turns["a"] < 19 || turns["a"] > 21 || turns["b"] < 19 || turns["b"] > 21 {
		f.Fatalf("got turns %v in 100; want 20, 20, 60", turns)
	}
	// One that was away doesn't catch up.
	f.fill("late", 3000, 300)
	clear(turns)
	for range 60 {
		turns[f.one().Queue]++
	}
	if turns["late"] < 9 || turns["late"] > 11 {
		f.Fatalf("got turns %v in 60 after one more queue came; want 10 of it", turns)
	}
}

func stops(f *fixture) {
	f.fill("a", 0, 9)
	yes, no := true, false
	for _, crawl := range []string{"", "*"} {
		set := func(c store.QueueChange) {
			f.Helper()
			f.check(f.s.Configure(f.ctx, crawl, "", c))
		}
		for _, from := range []store.TakeRequest{{}, {Crawl: "*"}, {Queue: "a"}} {
			set(store.QueueChange{Paused: &yes})
			got := f.taken(from)
			f.wantKeys(got.Leases)
			equal(f, "next while paused", got.Next, time.Time{})
			set(store.QueueChange{Paused: &no})
			until := f.ahead(time.Minute)
			set(store.QueueChange{BlockedUntil: &until})
			got = f.taken(from)
			f.wantKeys(got.Leases)
			f.check(sameTimes(times{"next while blocked", got.Next, until}))
			f.step(time.Minute)
			l := f.take(from)
			equal(f, "leases", len(l), 1)
			f.end(l[0], store.Complete)
		}
	}
}

func urgentInGroup(f *fixture) {
	if !f.b.Groups {
		return
	}
	turns := map[string]int{}
	for n, queue := range []string{"a", "b", "c"} {
		f.set(queue, store.QueueChange{Group: new("g")})
		f.fill(queue, 100*n, 20)
	}
	for n := range 24 {
		l := f.take(store.TakeRequest{Delay: time.Second})
		if len(l) != 1 || n%2 == 1 && l[0].Queue != "c" {
			f.Fatalf("take %d: got %+v; want one URL, of c at every second", n, l)
		}
		turns[l[0].Queue]++
		it := item(1000+n, "c") // when the group, which waits for its delay, has chosen the next queue
		it.Priority = store.Urgent
		f.add(it)
		f.step(time.Second)
	}
	if turns["a"] < 4 || turns["b"] < 4 {
		f.Fatalf("got turns %v of 24; want 12 of the urgent queue, the others by turn", turns)
	}
}

func urgentFirst(f *fixture) {
	for n := range 20 {
		f.fill(fmt.Sprint("q", n), 100*n, 20)
	}
	next := func() store.Entry {
		l := f.one()
		f.end(l, store.Complete)
		return l
	}
	// Of a request it is the first; in shards only unless one of the same shard was so just now.
	soon := func(n int) {
		f.Helper()
		for range 2 {
			if next().Key == key(n) {
				return
			}
		}
		for range 18 {
			if f.b.Shards && next().Key == key(n) {
				return
			}
		}
		f.Fatalf("URL %d did not go first", n)
	}
	urgent := func(n int, queue string, due time.Duration) {
		it := item(n, queue)
		it.Priority, it.Due = store.Urgent, f.ahead(due)
		f.add(it)
	}
	urgent(3000, "q17", 0)
	equal(f, "the URL of the next take", next().Key, key(3000))
	raised := uint8(store.Urgent)
	f.settle(store.Settlement{Key: key(1219), Outcome: store.Requeue, If: store.Queued, Priority: &raised})
	soon(1219)
	urgent(3001, "new", 0)
	soon(3001)
	urgent(3002, "q3", time.Second) // its queue is ready before
	for range 5 {
		if next().Key == key(3002) {
			f.Fatal("got an urgent URL before it is due")
		}
	}
	f.step(time.Second)
	soon(3002)

	// Its queue keeps it while it may not be served.
	delay, yes, no := time.Minute, true, false
	f.end(f.take(store.TakeRequest{Queue: "q5"})[0], store.Complete)
	f.set("q5", store.QueueChange{Delay: &delay})
	f.set("q6", store.QueueChange{Paused: &yes})
	urgent(3003, "q5", 0)
	urgent(3004, "q6", 0)
	for range 4 {
		if l := next(); l.Queue == "q5" || l.Queue == "q6" {
			f.Fatalf("got queue %q within its delay, or paused", l.Queue)
		}
	}
	f.set("q6", store.QueueChange{Paused: &no})
	soon(3004)
	if f.b.Reopen != nil {
		f.reopen()
	}
	f.step(time.Minute)
	soon(3003)
}

func countOf(s string, c rune) (n int) {
	for _, r := range s {
		if r == c {
			n++
		}
	}
	return n
}

// maxBytes takes from queues of two priorities, in which something is read ahead, and
// from leases that ran out.
func maxBytes(f *fixture) {
	if !f.b.MaxBytes {
		f.Skip("the store doesn't bound answers in bytes")
	}
	var items []store.Item
	for n := range 30 {
		it := item(n, "a")
		it.Meta = make([]byte, 100-len(it.URL))
		it.Priority = uint8(1 - n/10%2) // 10 to 19 come last
		items = append(items, it)
	}
	f.add(items...)
	req := store.TakeRequest{MaxURLs: 30, MaxPerQueue: 30}
	for _, step := range []struct {
		bytes int64
		want  []int
	}{{1, []int{0}}, {100, []int{1}}, {101, []int{2, 3}}, {1000, []int{4, 5, 6, 7, 8, 9, 20, 21, 22, 23}},
		{800, []int{24, 25, 26, 27, 28, 29, 10, 11}}, {799, []int{12, 13, 14, 15, 16, 17, 18, 19}}} {
		req.MaxBytes = step.bytes
		got := f.taken(req)
		f.wantKeys(got.Leases, step.want...)
		equal(f, "next of an answer that isn't short", got.Next, time.Time{})
	}
	f.step(time.Minute)
	f.wantKeys(f.take(req), 0, 1, 2, 3, 4, 5, 6, 7)
	req.MaxBytes = 0
	equal(f, "URLs without a bound", len(f.take(req)), 22)
}
