package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// A token is the number of its shard and a number given out there.
const (
	tokenBits = 40
	tokenMask = 1<<tokenBits - 1
)

// maxTake bounds what one call takes from a shard: a script stops its server.
const maxTake = 2048

// defaultLease is how long URLs are leased unless the request says.
const defaultLease = 30 * time.Second

// Take implements store.Store. Rotation is fair over all shards for a caller that
// takes one by one; a larger request is dealt out to the shards by how many of their
// queues may be served, and crawls take turns in each shard on its own. Shards that don't
// answer are passed over. What a shard leased and couldn't be promised is given back, and doesn't count as a lease
// that ran out.
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
	req.MaxURLs, req.MaxPerQueue = max(1, req.MaxURLs), max(1, req.MaxPerQueue)
	asked := req
	asked.Crawl, asked.MaxURLs, asked.MaxPerQueue, asked.MaxQueues, asked.Lease = crawl, 0, 0, 0, 0
	changes := s.idle.changes.Load()
	if next, ok := s.idle.ask(asked); ok && s.opt.Clock == nil {
		return store.Taken{Next: next}, nil
	}
	t := &taking{s: s, crawl: crawl, req: req, served: map[int][]byte{}, spent: map[int]bool{}, next: sched.Never}
	if req.Queue != "" {
		shard, _ := s.layout.ofQueue(req.Queue)
		for !t.spent[shard] && len(t.leases) == 0 && err == nil {
			err = t.from(ctx, scriptTakeFrom, []share{{shard: shard, urls: min(maxTake, req.MaxURLs), more: []byte(req.Queue)}})
		}
	} else {
		err = t.rotate(ctx)
	}
	if err != nil {
		return store.Taken{}, err
	}
	if t.failed != nil && !t.answered {
		return store.Taken{}, t.failed
	}
	taken := store.Taken{Leases: t.leases}
	if len(t.leases) < req.MaxURLs {
		taken.Next = sched.Time(t.next)
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
	queues int
	served map[int][]byte // by shard, the queues that gave something; see lua/serve.lua
	spent  map[int]bool   // shards that have nothing more for this request
	turn   uint64         // of the queue served last, in any shard
	next   int64

	answered bool  // some shard did
	failed   error // why others did not
}

// share is what a shard is asked for.
type share struct {
	shard, urls, queues int
	whole               bool   // see lua/serve.lua
	more                []byte // likewise
}

// from asks shards for their shares.
func (t *taking) from(ctx context.Context, sc *script, shares []share) error {
	b := t.s.batch(sc, t.s.requests.id(), t.crawl, nil)
	for i, sh := range shares {
		p := b.part(sh.shard, i)
		p.blob = t.appendRequest(p.blob, sh)
	}
	err := t.s.runSome(ctx, b.calls)
	t.s.giveBack(ctx, b.calls)
	if err != nil && (ctx.Err() != nil || !errors.Is(err, store.ErrUnavailable)) {
		return err
	}
	t.failed, t.answered = errors.Join(t.failed, err), t.answered || err == nil
	for i, sh := range shares {
		if !b.calls[i].done {
			t.passOver(sh.shard)
			continue
		}
		had := len(t.leases)
		next, err := t.read(ctx, sh.shard, b.calls[i].reply)
		if err != nil {
			return err
		}
		t.spent[sh.shard] = next != stopped && len(t.leases)-had < sh.urls
	}
	return nil
}

func (t *taking) appendRequest(dst []byte, sh share) []byte {
	for _, n := range []int{sh.urls, sh.queues, t.req.MaxPerQueue, max(0, t.req.MaxInFlight)} {
		dst = appendUint(dst, 4, uint64(min(n, 1<<31)))
	}
	dst = appendUint(dst, 6, uint64(sched.DurMs(t.req.Lease)))
	dst = appendUint(dst, 6, uint64(max(0, sched.DurMs(t.req.Delay))))
	dst = append(appendUint(dst, 7, t.turn), flag(sh.whole))
	return append(dst, sh.more...)
}

// stopped stands for the time when a shard may have more that left a queue for later.
const stopped = 1

// read reads the answer of a shard; see lua/take.lua.
func (t *taking) read(ctx context.Context, shard int, reply string) (next int64, err error) {
	r := reader{reply}
	full := r.bytes(1) == "F"
	if next = int64(r.uint(6)); next > 0 {
		t.next = min(t.next, next)
	}
	had := len(t.leases)
	for r.more() {
		var l store.Lease
		l.Token = uint64(shard)<<tokenBits | r.uint(6)
		l.Expires = sched.Time(int64(r.uint(6)))
		attempts := int(r.uint(4))
		r.uint(1) // late
		l.Key, l.Crawl = r.key(), r.short()
		if full {
			readRecord(&reader{r.long()}, &l.Entry)
		}
		l.State, l.Attempts = store.Leased, attempts
		t.leases = append(t.leases, l)
	}
	if err := r.err(); err != nil {
		return next, err
	}
	if !full {
		if err := t.readAgain(ctx, shard, had); err != nil {
			return next, err
		}
	}
	t.note(shard, t.leases[had:])
	return next, nil
}

// note counts the queues that gave leases, and notes them for the shard.
func (t *taking) note(shard int, leases []store.Lease) {
	for i := range leases {
		l := &leases[i]
		if i == 0 || l.Queue != leases[i-1].Queue || l.Crawl != leases[i-1].Crawl {
			t.queues++
			t.served[shard] = appendShort(appendShort(t.served[shard], l.Crawl), l.Queue)
		}
	}
}

// again is when a caller should ask again of which some shards gave no answer.
const again = time.Second

// passOver leaves a shard that gave no answer.
func (t *taking) passOver(shard int) {
	t.spent[shard] = true
	now := time.Now()
	if t.s.opt.Clock != nil {
		now = t.s.opt.Clock()
	}
	t.next = min(t.next, now.Add(again).UnixMilli())
}

// readAgain looks up the text of leases whose answer was lost on its way, from number had on.
// Those that ran out meanwhile are somebody else's.
func (t *taking) readAgain(ctx context.Context, shard, had int) error {
	given := t.leases[had:]
	t.leases = t.leases[:had]
	for len(given) > 0 {
		n := 1
		for n < len(given) && given[n].Crawl == given[0].Crawl {
			n++
		}
		keys := make([]store.Key, n)
		for i := range keys {
			keys[i] = given[i].Key
		}
		found, err := t.s.leasedEntries(accepted(ctx), given[0].Crawl, shard, keys)
		if err != nil {
			return err
		}
		for i, l := range given[:n] {
			if l.Entry = found[i].Entry; l.State == store.Leased && found[i].token == l.Token&tokenMask {
				t.leases = append(t.leases, l)
			}
		}
		given = given[n:]
	}
	return nil
}
