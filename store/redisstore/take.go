package redisstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// The scripts of each shard decide whose turn it is among its own queues (lua/rotate.lua). A take asks all shards how many
// queues they have ready, divides its request among those that have some, takes leases from all of them at once, and divides
// the rest again. Asking the shards in sequence would be fair over all queues, but each would cost a round trip and a WAIT.
//
// A lease runs from the script that issued it. If the answer is lost, or no replica got it, the lease is ended (giveBack).

// A token is the number of its shard and a number issued there.
const (
	tokenBits = 40
	tokenMask = 1<<tokenBits - 1
)

func tokenOf(shard int, number uint64) uint64 { return uint64(shard)<<tokenBits | number }

// A script stops its server, so a call is bounded: it takes at most maxPart URLs of at most maxQueues queues, each of which
// costs more than a URL.
const maxQueues = 64

// defaultLease is how long URLs are leased unless the request says.
const defaultLease = 30 * time.Second

// Take implements store.Store. Rotation is fair over all shards for a caller that
// takes one by one; a larger request is divided among the shards by how many of their
// queues may be served, and crawls take turns within each shard. Shards that
// don't answer are skipped. Leases that did not reach a replica are released, and don't count as expired. The
// answer to a divided request may exceed MaxBytes by one URL of each shard.
func (s *Store) Take(ctx context.Context, req store.TakeRequest) (store.Taken, error) {
	crawl, err := sched.CheckTake(&req)
	if err != nil {
		return store.Taken{}, err
	}
	if err := s.enter(ctx); err != nil {
		return store.Taken{}, err
	}
	defer s.leave()
	if req.Lease <= 0 {
		req.Lease = defaultLease
	}
	req.MaxURLs, req.MaxPerQueue, req.MaxBytes = max(1, req.MaxURLs), max(1, req.MaxPerQueue), max(0, req.MaxBytes)
	asked := store.TakeRequest{Crawl: crawl, Queue: req.Queue, Delay: req.Delay, MaxInFlight: req.MaxInFlight}
	changes := s.idle.changes.Load()
	if taken, ok := s.idle.ask(asked); ok && s.opt.clock == nil {
		return taken, nil
	}
	t := &taking{s: s, crawl: crawl, req: req, shards: make([]shardTaking, s.opt.Shards), limited: map[string]*limited{}}
	if err = t.run(ctx); err == nil && !t.answered {
		err = t.failed
	}
	if err != nil {
		return store.Taken{}, err
	}
	taken := store.Taken{Leases: t.leases}
	if !t.filled() {
		err = t.rest(ctx, &taken)
	}
	if len(t.leases) == 0 && err == nil {
		s.idle.note(asked, changes, taken)
	}
	return taken, err
}

type taking struct {
	s      *Store
	crawl  string
	req    store.TakeRequest
	shards []shardTaking
	leases []store.Entry
	bytes  int64 // of these
	queues int
	turn   uint64 // of the queue served last, in any shard

	limited map[string]*limited // crawls with a limit, as reported by shards

	counted  bool  // of a crawl beyond its limit, all shards noted the leases that ran out
	survey   bool  // a crawl has a limit, and not all shards were asked what they have of it
	surveys  int   // how often that was so
	answered bool  // some shard did
	failed   error // why the first of the others did not
}

// shardTaking is the state of one shard during a take.
type shardTaking struct {
	queues int    // that may be worth asking
	urgent bool   // one of them goes before its turn
	turn   uint64 // of the first of them

	urls  int   // asked for; 0: only when it may have some
	bytes int64 // at most; 0: no bound

	served     []byte // the queues that gave something; see lua/serve.lua
	last       store.Entry
	unfinished int   // URLs that the queue of the last lease may still give: the script was full
	spent      bool  // the shard has nothing more for this request
	next       int64 // when it may have more of crawls without a limit, as it answered last; 0: never

	holding store.Holding // of crawls without a limit
	runs    bool          // a lease of theirs
	by      hold          // what holds back the first to open
	silent  bool          // it gave no answer
}

// Special values of the time that a shard returns.
const (
	stopped = 1 // it left a queue for later: ask it again
	unasked = 2 // a crawl has a limit: ask the other shards first
)

// mostSurveys bounds how often a take surveys the shards: limits may be set meanwhile, or on more crawls than one call names.
const mostSurveys = 4

// hold is what holds back a queue; see lua/settings.lua.
type hold byte

const (
	free hold = iota
	paused
	_
	blocked
)

// run takes from all shards, or from the requested queue's, beginning where the last call ended. If servers are slow, it
// returns what it has: those leases already run.
func (t *taking) run(ctx context.Context) error {
	began := time.Now()
	ready, err := t.ready(ctx)
	ctx = accepted(ctx) // from here on, leases run
	for err == nil && len(ready) > 0 && !t.filled() && (len(t.leases) == 0 || time.Since(began) < t.s.opt.waitTimeout) {
		if !t.counted && t.s.opt.Shards > 1 && t.beyond() {
			t.counted = true
			t.count(ctx)
		}
		asked := t.deal(ready)
		if err = t.lease(ctx, asked); t.survey && err == nil {
			t.survey, t.surveys = false, t.surveys+1
			if _, err = t.askAll(ctx, false); err != nil && len(t.leases) > 0 {
				return nil // these run
			}
		}
		if t.req.Queue == "" {
			t.s.turn.Store(uint64(asked[len(asked)-1]) + 1)
		}
		ready = slices.DeleteFunc(ready, func(shard int) bool { return t.shards[shard].spent })
	}
	return err
}

// filled reports whether the request is satisfied.
func (t *taking) filled() bool {
	return len(t.leases) >= t.req.MaxURLs || t.req.MaxBytes > 0 && t.bytes >= t.req.MaxBytes
}

// left returns how many URLs the request still wants.
func (t *taking) left() int { return t.req.MaxURLs - len(t.leases) }

// ready returns the shards worth asking, in turn: only one if no other can have queues of the request.
func (t *taking) ready(ctx context.Context) (list []int, err error) {
	n := t.s.opt.Shards
	together := t.s.layout.together && t.crawl != sched.AnyCrawl
	if home, _ := t.s.layout.ofQueue(t.crawl, t.req.Queue); n == 1 || t.req.Queue != "" || together {
		t.shards[home].queues = 1
		return []int{home}, nil
	}
	return t.askAll(ctx, true)
}

// askAll asks all shards what they have, and returns those worth asking for leases, in turn. Without begin, it only notes their numbers
// for crawls with a limit.
func (t *taking) askAll(ctx context.Context, begin bool) (list []int, err error) {
	n := t.s.opt.Shards
	names, known := t.limitedCrawls()
	b := t.s.batch(scriptReady, t.crawl, names).everywhere()
	if err := t.s.run(ctx, b.calls, true); err != nil {
		return nil, err
	}
	first := int(t.s.turn.Load())
	for i := range n {
		shard := (first + i) % n
		if !b.calls[shard].done {
			if begin {
				t.passOver(shard)
			}
			continue
		}
		sh, r := &t.shards[shard], reader{b.calls[shard].reply}
		if !begin {
			r.bytes(25)
			t.readState(shard, &r, false)
			continue
		}
		if sh.queues, sh.urgent, sh.turn = int(r.uint(4)), r.uint(1) > 0, r.uint(7); sh.queues > 0 {
			list = append(list, shard)
		}
		t.turn = max(t.turn, r.uint(7))
		sh.next = int64(r.uint(6))
		t.readState(shard, &r, true)
	}
	if begin && t.metUnasked(known) { // shards where they hold nothing did not report them
		if _, err := t.askAll(ctx, false); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(list, func(i, k int) int {
		a, b := &t.shards[i], &t.shards[k]
		return cmp.Or(int(flag(b.urgent))-int(flag(a.urgent)), cmp.Compare(max(a.turn, t.turn), max(b.turn, t.turn)))
	})
	return list, nil
}

// leastShare is the least number of bytes a shard is asked for when shards share a bound.
const leastShare = 16 << 10

// deal divides the rest of the request among the first of the shards, by how much they have ready, and returns these. A queue has
// to wait after it was served, however little it gave: so a share is as many URLs as a queue may give, or a multiple. The remainder
// is for the next deal.
func (t *taking) deal(ready []int) (asked []int) {
	left, bytes, each := t.left(), int64(0), min(maxPart, t.req.MaxPerQueue)
	n := min(len(ready), max(1, left/each))
	if t.req.MaxBytes > 0 {
		bytes = t.req.MaxBytes - t.bytes
		n = min(n, max(1, int(bytes/leastShare)))
	}
	if t.req.MaxQueues > 0 {
		n = 1
		if t.queues >= t.req.MaxQueues && t.shards[ready[0]].unfinished == 0 { // when may they have something for the request?
			for _, shard := range ready {
				t.shards[shard].urls, t.shards[shard].bytes = 0, 0
			}
			return ready
		}
	}
	if t.tight() {
		n = 1
	}
	sum := 0
	for _, shard := range ready[:n] {
		sum += t.shards[shard].queues
	}
	for i, shard := range ready[:n] {
		sh := &t.shards[shard]
		urls := min(maxPart, maxQueues*each, left*sh.queues/sum)
		if t.req.Queue == "" {
			urls = max(each, urls-urls%each)
		}
		sh.urls, sh.bytes = min(left, urls), bytes/int64(n)
		left, sum = left-sh.urls, sum-sh.queues
		if left < each {
			return ready[:i+1]
		}
	}
	return ready[:n]
}

// lease asks shards for their shares. Leases that come too late, or reach no replica, are given back.
func (t *taking) lease(ctx context.Context, asked []int) error {
	sc := scriptTake
	if t.req.Queue != "" {
		sc = scriptTakeFrom
	}
	b := t.s.batch(sc, t.crawl, nil)
	for i, shard := range asked {
		c := b.add(shard, i)
		c.blob = t.appendRequest(c.blob, shard)
	}
	err := t.s.run(ctx, b.calls, true)
	t.s.giveBack(ctx, b.calls)
	t.failed, t.answered = cmp.Or(t.failed, err), t.answered || err == nil
	for _, c := range b.calls {
		had, sh := len(t.leases), &t.shards[c.shard]
		switch {
		case !c.done:
			t.passOver(c.shard)
			continue
		case lost(c): // and given back: they are leased again
			continue
		}
		if err := t.read(c.shard, c.reply); err != nil {
			return err
		}
		got := len(t.leases) - had
		if sh.next == unasked {
			t.survey, sh.next = t.surveys < mostSurveys, stopped
		}
		sh.spent = t.surveys == mostSurveys || sh.next != stopped && (got < sh.urls || sh.urls == 0) || t.req.Queue != "" && got > 0 && sh.unfinished == 0
	}
	return nil
}

// appendRequest appends the request to a shard; see lua/serve.lua.
func (t *taking) appendRequest(dst []byte, shard int) []byte {
	sh, queues := &t.shards[shard], maxQueues
	if t.req.MaxQueues > 0 {
		queues = min(queues, t.req.MaxQueues-t.queues)
	}
	for _, n := range []int{sh.urls, queues, t.req.MaxPerQueue, max(0, t.req.MaxInFlight), sh.unfinished} {
		dst = appendUint(dst, 4, uint64(min(n, 1<<31)))
	}
	dst = appendUint(dst, 6, uint64(sched.DurMs(t.req.Lease)))
	dst = appendUint(dst, 6, uint64(max(0, sched.DurMs(t.req.Delay))))
	dst = append(appendUint(dst, 7, t.turn), flag(sh.urls < t.left()))
	dst = appendShort(appendUint(dst, 6, uint64(sh.bytes)), t.req.Client)
	dst = t.appendLimited(dst, shard)
	if t.req.Queue != "" {
		return append(dst, t.req.Queue...)
	}
	return append(dst, sh.served...)
}

// read reads the answer of a shard (see lua/take.lua), and notes the queues that gave leases.
func (t *taking) read(home int, reply string) error {
	r, shard := reader{reply[1:]}, &t.shards[home]
	shard.next, shard.unfinished = int64(r.uint(6)), int(r.uint(4))
	t.readState(home, &reader{r.long()}, true)
	for r.more() {
		var l store.Entry
		l.Token = tokenOf(home, r.uint(6))
		l.Expires = sched.Time(int64(r.uint(6)))
		attempts := int(r.uint(4))
		r.uint(1) // expired
		l.Leased, l.Client = sched.Time(int64(r.uint(6))), t.req.Client
		l.Key, l.Crawl = r.key(), r.short()
		readRecord(&reader{r.long()}, &l)
		l.State, l.Attempts = store.Leased, attempts
		if shard.served == nil || l.Queue != shard.last.Queue || l.Crawl != shard.last.Crawl {
			t.queues++
			shard.served = appendShort(appendShort(shard.served, l.Crawl), l.Queue)
		}
		t.leases, shard.last = append(t.leases, l), l
		t.bytes += int64(len(l.URL) + len(l.Meta))
	}
	return r.err()
}

// passOver has the caller ask again in a second, since a shard gave no answer.
func (t *taking) passOver(shard int) {
	t.shards[shard].spent, t.shards[shard].next = true, t.s.wallTime().Add(time.Second).UnixMilli()
	t.shards[shard].silent = true
}

// lost reports whether a shard leased something for a call whose first answer was lost.
func lost(c *call) bool { return c.done && c.reply[:1] == "S" }

// giveBack ends the leases of unanswered takes: WAIT fell short, or the answer was lost. The
// shard finds them by the request. An unreachable shard is asked again in the background, for as long as it
// keeps answers.
func (s *Store) giveBack(ctx context.Context, takes []*call) {
	var calls []*call
	for _, c := range takes {
		if !c.done && !errors.Is(c.err, errSilent) || lost(c) {
			calls = append(calls, &call{shard: c.shard, script: scriptGiveBack, blob: []byte(c.id)})
		}
	}
	if len(calls) == 0 {
		return
	}
	for range 2 { // a node that has just come back has to be given the script first
		s.attempt(context.WithoutCancel(ctx), calls, false)
		if worstOf(calls) == nil {
			return
		}
	}
	s.background.Go(func() {
		for until := time.Now().Add(s.opt.answersFor()); time.Now().Before(until) && worstOf(calls) != nil; {
			if async.Sleep(s.life, 500*time.Millisecond) != nil {
				return
			}
			s.attempt(s.life, calls, false)
		}
	})
}

// idleFor is how long the answer "nothing is ready" is reused for equal requests. This daemon's changes end it; other
// daemons' changes are noticed that much later. So an idle daemon asks each shard twice a second,
// however many callers wait.
const idleFor = 500 * time.Millisecond

// idle remembers that a request found nothing, so that many waiting callers cost the servers as much as one.
type idle struct {
	changes atomic.Uint64 // made by this daemon: each call that writes adds 1 when it ends

	mu    sync.Mutex
	known map[store.TakeRequest]emptyAnswer
}

// emptyAnswer is an answer of a moment ago, with the count of changes at that time.
type emptyAnswer struct {
	changes uint64
	until   time.Time
	taken   store.Taken
}

// ask returns the empty answer that an equal request got a moment ago.
func (d *idle) ask(req store.TakeRequest) (taken store.Taken, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, ok := d.known[req]
	return n.taken, ok && n.changes == d.changes.Load() && time.Now().Before(n.until)
}

// note remembers that a request found nothing; changes is the count of changes when it was sent.
func (d *idle) note(req store.TakeRequest, changes uint64, taken store.Taken) {
	until := time.Now().Add(idleFor)
	if next := taken.Next; !next.IsZero() && next.Before(until) {
		until = next
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || len(d.known) >= 1000 {
		d.known = map[store.TakeRequest]emptyAnswer{}
	}
	d.known[req] = emptyAnswer{changes, until, taken}
}
