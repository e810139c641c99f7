package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// A token is the number of its shard and a number given out there.
const (
	tokenBits = 40
	tokenMask = 1<<tokenBits - 1
)

// A script stops its server, so a call is bounded: maxTake is the most URLs of one queue, maxDeal the most of several
// queues, each of which costs more than a URL.
const (
	maxTake = 2048
	maxDeal = 32
)

// defaultLease is how long URLs are leased unless the request says.
const defaultLease = 30 * time.Second

// Take implements store.Store. Rotation is fair over all shards for a caller that
// takes one by one; a larger request is divided among the shards by how many of their
// queues may be served, 32 URLs of a shard at a time, and crawls take turns in each shard on its own. Shards that
// don't answer are skipped. Leases that did not reach a replica are released, and don't count as expired ones. The
// answer to a request that was divided may exceed MaxBytes by one URL of each shard.
func (s *Store) Take(ctx context.Context, req store.TakeRequest) (store.Taken, error) {
	crawl, err := sched.CheckTake(req)
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
	req.MaxURLs, req.MaxPerQueue, req.MaxBytes = max(1, req.MaxURLs), min(maxTake, max(1, req.MaxPerQueue)), max(0, req.MaxBytes)
	asked := store.TakeRequest{Crawl: crawl, Queue: req.Queue, Delay: req.Delay, MaxInFlight: req.MaxInFlight}
	changes := s.idle.changes.Load()
	if next, ok := s.idle.ask(asked); ok && s.opt.clock == nil {
		return store.Taken{Next: next}, nil
	}
	t := &taking{s: s, crawl: crawl, req: req, served: map[int][]byte{}, spent: map[int]bool{}, next: map[int]int64{}}
	if req.Queue != "" {
		shard, _ := s.layout.ofQueue(req.Queue)
		for !t.spent[shard] && len(t.leases) == 0 && err == nil {
			err = t.from(ctx, scriptTakeFrom, []share{{shard: shard, urls: min(maxTake, req.MaxURLs), bytes: req.MaxBytes, more: []byte(req.Queue)}})
		}
	} else {
		err = t.rotate(ctx)
	}
	if err == nil && !t.answered {
		err = t.failed
	}
	if err != nil {
		return store.Taken{}, err
	}
	taken := store.Taken{Leases: t.leases}
	if !t.filled() {
		taken.Next = t.whenNext()
	}
	if len(t.leases) == 0 {
		s.idle.note(asked, changes, taken.Next)
	}
	return taken, nil
}

// taking is a Take in progress.
type taking struct {
	s      *Store
	crawl  string
	req    store.TakeRequest
	leases []store.Lease
	bytes  int64 // of these
	queues int
	served map[int][]byte // by shard, the queues that gave something; see lua/serve.lua
	spent  map[int]bool   // shards that have nothing more for this request
	next   map[int]int64  // when shards may have more, as they answered last; 0: never
	turn   uint64         // of the queue served last, in any shard

	answered bool  // some shard did
	failed   error // why others did not
}

// filled reports whether the request has all that it asks for.
func (t *taking) filled() bool {
	return len(t.leases) >= t.req.MaxURLs || t.req.MaxBytes > 0 && t.bytes >= t.req.MaxBytes
}

// whenNext is when any shard may have more.
func (t *taking) whenNext() time.Time {
	next := int64(sched.Never)
	for _, at := range t.next {
		switch at {
		case 0:
		case stopped:
			next = min(next, sched.Now(t.s.wallTime()))
		default:
			next = min(next, at)
		}
	}
	return sched.Time(next)
}

// share is what a shard is asked for.
type share struct {
	shard, urls, queues int
	bytes               int64  // 0: no bound
	whole               bool   // see lua/serve.lua
	more                []byte // also
}

// from asks shards for their shares.
func (t *taking) from(ctx context.Context, sc *script, shares []share) error {
	b := t.s.batch(sc, t.s.requests.id(), t.crawl, nil)
	for i, sh := range shares {
		p := b.part(sh.shard, i)
		p.blob = t.appendRequest(p.blob, sh)
	}
	err := t.s.repeat(ctx, b.calls, true)
	t.s.giveBack(ctx, b.calls)
	if err != nil && (ctx.Err() != nil || !errors.Is(err, store.ErrUnavailable)) {
		return err
	}
	t.failed, t.answered = errors.Join(t.failed, err), t.answered || err == nil
	for i, sh := range shares {
		c, had := b.calls[i], len(t.leases)
		switch {
		case !c.done:
			t.passOver(sh.shard)
			continue
		case lost(c): // and given back: they are leased again
			continue
		}
		next, err := t.read(sh.shard, c.reply)
		if err != nil {
			return err
		}
		t.next[sh.shard], t.spent[sh.shard] = next, next != stopped && len(t.leases)-had < sh.urls
	}
	return nil
}

// lost reports whether a shard leased something for a call whose first answer was lost.
func lost(c *call) bool { return c.done && c.reply[:1] == "S" }

func (t *taking) appendRequest(dst []byte, sh share) []byte {
	for _, n := range []int{sh.urls, sh.queues, t.req.MaxPerQueue, max(0, t.req.MaxInFlight)} {
		dst = appendUint(dst, 4, uint64(min(n, 1<<31)))
	}
	dst = appendUint(dst, 6, uint64(sched.DurMs(t.req.Lease)))
	dst = appendUint(dst, 6, uint64(max(0, sched.DurMs(t.req.Delay))))
	dst = append(appendUint(dst, 7, t.turn), flag(sh.whole))
	return append(appendUint(dst, 6, uint64(sh.bytes)), sh.more...)
}

// stopped stands for the time when a shard may have more that left a queue for later.
const stopped = 1

// read reads the answer of a shard (see lua/take.lua), and notes the queues that gave leases.
func (t *taking) read(shard int, reply string) (next int64, err error) {
	r := reader{reply[1:]}
	next = int64(r.uint(6))
	for r.more() {
		var l store.Lease
		l.Token = uint64(shard)<<tokenBits | r.uint(6)
		l.Expires = sched.Time(int64(r.uint(6)))
		attempts := int(r.uint(4))
		r.uint(1) // late
		l.Key, l.Crawl = r.key(), r.short()
		readRecord(&reader{r.long()}, &l.Entry)
		l.State, l.Attempts = store.Leased, attempts
		if n := len(t.leases); n == 0 || l.Queue != t.leases[n-1].Queue || l.Crawl != t.leases[n-1].Crawl {
			t.queues++
			t.served[shard] = appendShort(appendShort(t.served[shard], l.Crawl), l.Queue)
		}
		t.leases = append(t.leases, l)
		t.bytes += int64(len(l.URL) + len(l.Meta))
	}
	return next, r.err()
}

// again is when a caller should ask again of which some shards gave no answer.
const again = time.Second

// passOver leaves a shard that gave no answer.
func (t *taking) passOver(shard int) {
	t.spent[shard], t.next[shard] = true, t.s.wallTime().Add(again).UnixMilli()
}

// giveBack ends the leases of takes that were not answered: WAIT fell short, or the answer was lost. The
// shard finds them by the request. One that can't be reached now is asked again in the background, for as long as it
// keeps answers.
func (s *Store) giveBack(ctx context.Context, takes []*call) {
	var calls []*call
	for _, c := range takes {
		if !c.done && c.err != errSilent || lost(c) {
			calls = append(calls, &call{shard: c.shard, script: scriptGiveBack, blob: c.id[:]})
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
			_ = async.Sleep(s.life, 500*time.Millisecond)
			if s.life.Err() != nil {
				return
			}
			s.attempt(s.life, calls, false)
		}
	})
}
