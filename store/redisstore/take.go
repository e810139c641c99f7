package redisstore

import (
	"cmp"
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

// A script stops its server, so a call is bounded: it takes at most maxPart URLs of at most maxQueues queues, each of which
// costs more than a URL.
const maxQueues = 64

// defaultLease is how long URLs are leased unless the request says.
const defaultLease = 30 * time.Second

// Take implements store.Store. Rotation is fair over all shards for a caller that
// takes one by one; a larger request is divided among the shards by how many of their
// queues may be served, and crawls take turns in each shard on its own. Shards that
// don't answer are skipped. Leases that did not reach a replica are released, and don't count as expired ones. The
// answer to a request that was divided may exceed MaxBytes by one URL of each shard.
func (s *Store) Take(ctx context.Context, req store.TakeRequest) (store.Taken, error) {
	crawl, err := sched.CrawlOfQueue(req.Crawl, req.Queue)
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
	if next, ok := s.idle.ask(asked); ok && s.opt.clock == nil {
		return store.Taken{Next: next}, nil
	}
	t := &taking{s: s, crawl: crawl, req: req, shards: make([]shardTaking, s.opt.Shards)}
	if err = t.rotate(ctx); err == nil && !t.answered {
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

type taking struct {
	s      *Store
	crawl  string
	req    store.TakeRequest
	shards []shardTaking
	leases []store.Lease
	bytes  int64 // of these
	queues int
	turn   uint64 // of the queue served last, in any shard

	answered bool  // some shard did
	failed   error // why the first of the others did not
}

// shardTaking is what a shard has answered.
type shardTaking struct {
	served     []byte // the queues that gave something; see lua/serve.lua
	last       store.Lease
	unfinished int   // URLs that the queue of the last lease may still give: the script was full
	spent      bool  // the shard has nothing more for this request
	next       int64 // when it may have more, as it answered last; 0: never
}

// filled reports whether the request has all that it asks for.
func (t *taking) filled() bool {
	return len(t.leases) >= t.req.MaxURLs || t.req.MaxBytes > 0 && t.bytes >= t.req.MaxBytes
}

// whenNext is when any shard may have more.
func (t *taking) whenNext() time.Time {
	next := int64(sched.Never)
	for i := range t.shards {
		switch at := t.shards[i].next; at {
		case 0:
		case stopped:
			next = min(next, sched.Now(t.s.wallTime()))
		default:
			next = min(next, at)
		}
	}
	return sched.Time(next)
}

// left is how many URLs the request still wants.
func (t *taking) left() int { return t.req.MaxURLs - len(t.leases) }

type share struct {
	shard int
	urls  int   // 0: only when it may have some
	bytes int64 // 0: no bound
}

func (t *taking) from(ctx context.Context, shares []share) error {
	sc := scriptTake
	if t.req.Queue != "" {
		sc = scriptTakeFrom
	}
	b := t.s.batch(sc, t.s.requests.id(), t.crawl, nil)
	for i, sh := range shares {
		p := b.part(sh.shard, i)
		p.blob = t.appendRequest(p.blob, sh)
	}
	err := t.s.repeat(ctx, b.calls, true)
	t.s.giveBack(ctx, b.calls)
	if err != nil && ctx.Err() != nil {
		return err
	}
	t.failed, t.answered = cmp.Or(t.failed, err), t.answered || err == nil
	for i, sh := range shares {
		c, had, shard := b.calls[i], len(t.leases), &t.shards[sh.shard]
		switch {
		case !c.done:
			t.passOver(sh.shard)
			continue
		case lost(c): // and given back: they are leased again
			continue
		}
		if err := t.read(sh.shard, c.reply); err != nil {
			return err
		}
		got := len(t.leases) - had
		shard.spent = shard.next != stopped && (got < sh.urls || sh.urls == 0) || t.req.Queue != "" && got > 0 && shard.unfinished == 0
	}
	return nil
}

// lost reports whether a shard leased something for a call whose first answer was lost.
func lost(c *call) bool { return c.done && c.reply[:1] == "S" }

// appendRequest appends what a shard is asked for; see lua/serve.lua.
func (t *taking) appendRequest(dst []byte, sh share) []byte {
	shard, queues := &t.shards[sh.shard], maxQueues
	if t.req.MaxQueues > 0 {
		queues = min(queues, t.req.MaxQueues-t.queues)
	}
	for _, n := range []int{sh.urls, queues, t.req.MaxPerQueue, max(0, t.req.MaxInFlight), shard.unfinished} {
		dst = appendUint(dst, 4, uint64(min(n, 1<<31)))
	}
	dst = appendUint(dst, 6, uint64(sched.DurMs(t.req.Lease)))
	dst = appendUint(dst, 6, uint64(max(0, sched.DurMs(t.req.Delay))))
	dst = append(appendUint(dst, 7, t.turn), flag(sh.urls < t.left()))
	dst = appendUint(dst, 6, uint64(sh.bytes))
	if t.req.Queue != "" {
		return append(dst, t.req.Queue...)
	}
	return append(dst, shard.served...)
}

// stopped stands for the time when a shard may have more that left a queue for later.
const stopped = 1

// read reads the answer of a shard (see lua/take.lua), and notes the queues that gave leases.
func (t *taking) read(home int, reply string) error {
	r, shard := reader{reply[1:]}, &t.shards[home]
	shard.next, shard.unfinished = int64(r.uint(6)), int(r.uint(4))
	for r.more() {
		var l store.Lease
		l.Token = uint64(home)<<tokenBits | r.uint(6)
		l.Expires = sched.Time(int64(r.uint(6)))
		attempts := int(r.uint(4))
		r.bytes(7) // expired, and when it was taken
		l.Key, l.Crawl = r.key(), r.short()
		readRecord(&reader{r.long()}, &l.Entry)
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

// again is when a caller should ask again of which some shards gave no answer.
const again = time.Second

func (t *taking) passOver(shard int) {
	t.shards[shard].spent, t.shards[shard].next = true, t.s.wallTime().Add(again).UnixMilli()
}

// giveBack ends the leases of takes that were not answered: WAIT fell short, or the answer was lost. The
// shard finds them by the request. One that can't be reached now is asked again in the background, for as long as it
// keeps answers.
func (s *Store) giveBack(ctx context.Context, takes []*call) {
	var calls []*call
	for _, c := range takes {
		if !c.done && !errors.Is(c.err, errSilent) || lost(c) {
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
