package redisstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// Adding, moving or forgetting a URL changes its key's home and a queue's home. No script sees both. The simple way, to write one and
// then the other, loses a URL permanently if the daemon dies in between: its key is "duplicate", and no queue has it. So the script
// that changes the key also records the second half: a step, in the outbox of the shard. A step is finished by
// the daemon that began it (deliver), one that needs the key (resolve), or the sweeper.
//
//	begin     key's home, WAIT     the step is recorded, under a ticket
//	release   old queue, WAIT      only if a queue has the URL and must let it go
//	enqueue   new queue, WAIT      but not to forget a key
//	end       key's home           the step is cleared; the key stays (K), is forgotten (X), or belongs to the new queue (W)
//
// Queues keep a receipt for each ticket, so a message that is sent twice takes effect once.
//
// A step belongs to the goroutine of its call. Any number of daemons may deliver copies of it at the same time.
// PROTOCOL.md has the rules and what a crash at each point leaves.

// Kinds of steps.
const (
	stepAdd    = 'A' // a URL is queued whose key is known already
	stepCapped = 'P' // a URL is queued if there is room, and its key is known then
	stepMove   = 'M' // a URL that isn't held is queued, or made by a settlement
	stepForget = 'F' // a key is forgotten
	stepsAdd   = 'T' // all steps A that one script began
	noStep     = 'X' // none: URLs that are new are refused
)

// step is a change that concerns the home of a key and that of a queue, as the key's home has recorded it.
type step struct {
	kind   byte
	key    store.Key
	ticket string // the id of the call that began it,
	number uint16 // and its number in the batch
	old    atHome // state of the key before, for M and F
	mode   byte   // of the release by the old queue; see lua/release.lua
	cap    uint64 // of the queue, 0 for none
	entry  []byte // of the URL
	since  time.Time
	with   *group // the steps that its home recorded with it, an empty one if that is not known
	item   int    // the caller's number for it

	begun  byte // Y it has begun, R forgotten already, P another is to be finished first, N its key has changed, U it has no mark
	failed bool // a queue was not reached
	left   bool // by the old queue, as it was: the step ends without an effect
	answer byte // of the queue: Q queued or ended, F full, H held
}

// group counts the steps that one script began, and those of them that end now.
type group struct{ begun, ending int }

// readStep reads a step, after its length, as its home has it; see lua/steps.lua.
func readStep(key store.Key, from *reader) *step {
	r := reader{from.long()}
	st := &step{key: key, since: time.Now(), with: new(group), ticket: r.bytes(16)}
	st.number = uint16(r.uint(2))
	st.kind = byte(r.uint(1))
	r.uint(6) // when it began
	st.old.state, st.old.queue = keyState(r.uint(1)), r.hash()
	st.mode = byte(r.uint(1))
	st.cap = r.uint(6)
	st.entry = []byte(r.left)
	if r.left == overrun {
		from.left = overrun
	}
	return st
}

// queue returns the hash of the step's queue.
func (st *step) queue() (h queueHash) {
	if st.kind == stepForget {
		return st.old.queue
	}
	copy(h[:], st.entry[len(st.key):])
	return h
}

// endedBefore returns the time before which the URL must have ended for the step to requeue it, 0 for none.
func (st *step) endedBefore() uint64 {
	if n := len(st.entry); n > howAt && st.entry[howAt]&howEnded != 0 {
		r := reader{string(st.entry[n-6:])}
		return r.uint(6)
	}
	return 0
}

// effect returns the effect on the key: it stays as it is (K), is forgotten (X), or belongs to
// the step's queue (W).
func (st *step) effect() byte {
	switch full := st.answer == 'F'; {
	case st.left || st.kind == stepAdd:
		return 'K'
	case st.kind == stepForget || full && (st.kind == stepCapped || st.old.state == unknown):
		return 'X'
	case st.kind == stepCapped || full:
		return 'K'
	}
	return 'W'
}

// changed reports whether a step M had no effect, since its key or its URL were not as they were found.
func (st *step) changed() bool { return st.begun != 'Y' || st.left || st.answer == 'H' }

// shardsHead returns the number of shards in the form that scripts which record keys take.
func (s *Store) shardsHead() []byte { return appendUint(nil, 2, uint64(s.opt.Shards)) }

// begin records steps of one kind at the homes of their keys, and notes in each whether it has begun.
func (s *Store) begin(ctx context.Context, crawl string, kind byte, list []*step) error {
	place := scriptPlace
	if kind == stepForget {
		place = scriptForget
	}
	b := s.batch(place, crawl, append(s.shardsHead(), kind))
	for i, st := range list {
		c := b.addKey(i, &st.key)
		st.kind, st.ticket, st.number, st.since, st.with = kind, c.id, uint16(i), time.Now(), new(group)
		c.blob = appendUint(append(c.blob, st.key[:]...), 2, uint64(st.number))
		c.blob = append(append(append(c.blob, byte(st.old.state)), st.old.queue[:]...), st.mode)
		c.blob = appendLong(appendUint(c.blob, 6, st.cap), st.entry)
	}
	return b.read(ctx, func(i int, r *reader) { list[i].begun = byte(r.uint(1)) })
}

// carryOut begins steps and delivers those that have begun.
func (s *Store) carryOut(ctx context.Context, crawl string, kind byte, list []*step) error {
	if err := s.begin(ctx, crawl, kind, list); err != nil {
		return err
	}
	begun := slices.DeleteFunc(slices.Clone(list), func(st *step) bool { return st.begun != 'Y' })
	return s.deliver(ctx, crawl, begun)
}

// deliver carries out steps at their queues' homes, and clears them at their keys' homes.
// Any daemon may repeat it. If it fails, it has finished the steps of the shards that it reached.
func (s *Store) deliver(ctx context.Context, crawl string, steps []*step) error {
	if len(steps) == 0 {
		return nil
	}
	d := &delivery{s: s, crawl: crawl, steps: steps}
	for _, st := range steps {
		if late := 5 * s.opt.answersFor(); time.Since(st.since) > late {
			// Another daemon may have finished it in the meantime, and receipts expire after twice that.
			return fault.As(store.ErrUnavailable, "cannot finish a step that began more than %v ago; it is finished from the outbox", late)
		}
	}
	return cmp.Or(d.release(ctx), d.queue(ctx), d.end(ctx)) // all are carried out; they fail for the same reason
}

type delivery struct {
	s     *Store
	crawl string
	steps []*step
}

// send sends the message of each step that did not fail, of about so many bytes, and reads the answers.
func (d *delivery) send(ctx context.Context, sc *script, bytes int, message func(b *batch, i int, st *step), read func(st *step, r *reader)) error {
	b := d.s.batch(sc, d.crawl, nil).expect(len(d.steps), bytes)
	for i, st := range d.steps {
		if !st.failed {
			message(b, i, st)
		}
	}
	err := b.read(ctx, func(i int, r *reader) { read(d.steps[i], r) })
	for _, c := range b.calls {
		for _, i := range c.of {
			d.steps[i].failed = !c.done
		}
	}
	return err
}

// release takes the URLs out of the queues that have them, except those that return to the same queue.
func (d *delivery) release(ctx context.Context) error {
	return d.send(ctx, scriptRelease, 18, func(b *batch, i int, st *step) {
		if st.old.state == queuedIn && (st.kind == stepForget || st.old.queue != st.queue()) {
			c := b.add(d.s.layout.ofHash(st.old.queue), i, appendUint(append([]byte{st.mode}, st.ticket...), 6, st.endedBefore())...)
			c.blob = append(appendUint(c.blob, 2, uint64(st.number)), st.key[:]...)
		}
	}, func(st *step, r *reader) {
		st.left = r.bytes(1) == "H"
		if created := r.uint(6); created > 0 && st.kind == stepMove {
			setCreated(st.entry, created)
		}
	})
}

// queue adds the URLs to their queues, except those that the old queue did not release.
func (d *delivery) queue(ctx context.Context) error {
	return d.send(ctx, scriptEnqueue, entryRoom, func(b *batch, i int, st *step) {
		if !st.left && st.kind != stepForget {
			c := b.add(d.s.layout.ofHash(st.queue()), i, appendUint(append(make([]byte, 0, 32), st.ticket...), 6, st.cap)...)
			c.blob = appendLong(appendUint(c.blob, 2, uint64(st.number)), st.entry)
		}
	}, func(st *step, r *reader) { st.answer = byte(r.uint(1)) })
}

// end clears the steps. There is no WAIT: a step that reappears after a failover is finished again, by its receipts.
func (d *delivery) end(ctx context.Context) error {
	for _, st := range d.steps {
		st.with.ending = 0
	}
	for _, st := range d.steps {
		if !st.failed {
			st.with.ending++
		}
	}
	return d.send(ctx, scriptEnd, 29, func(b *batch, i int, st *step) {
		shard, place := d.s.layout.ofKey(&st.key)
		kind := st.kind
		if kind == stepAdd && st.with.ending == st.with.begun {
			kind = stepsAdd
		}
		c := b.add(shard, i, append(append(make([]byte, 0, 32), st.ticket...), kind)...)
		c.blob = append(appendUint(c.blob, 2, uint64(st.number)), st.key[:]...)
		if st.kind != stepAdd {
			h := st.queue()
			c.blob = append(append(appendUint(c.blob, 4, uint64(place)), st.effect()), h[:]...)
		}
	}, func(*step, *reader) {})
}

// keyState is the state of a key at its home.
type keyState byte

const (
	unknown     keyState = iota
	neverQueued          // seen
	queuedIn             // seen, and queued, leased, completed or dropped in a queue
	onItsWay             // its step has to be finished first
)

// atHome is what the home of a key has of it.
type atHome struct {
	state keyState
	queue queueHash
	mark  uint32 // the spelling that the key is marked with (marks.go), 0 for none
}

// resolve finishes the pending steps of keys, and returns their states at their homes. The script is
// scriptJudge for callers that report a key as known, under WAIT, and scriptResolve for others.
func (s *Store) resolve(ctx context.Context, sc *script, crawl string, keys []store.Key) ([]atHome, error) {
	out, left := make([]atHome, len(keys)), upTo(len(keys))
	return out, s.untilClear(ctx, func() (bool, error) {
		b := s.batch(sc, crawl, nil)
		for _, i := range left {
			c := b.addKey(i, &keys[i])
			c.blob = append(c.blob, keys[i][:]...)
		}
		left = nil
		var steps []*step
		err := b.read(ctx, func(i int, r *reader) {
			if out[i] = (atHome{keyState(r.uint(1)), r.hash(), uint32(r.uint(4))}); out[i].state == onItsWay {
				left, steps = append(left, i), append(steps, readStep(keys[i], r))
			}
		})
		if err != nil {
			return false, err
		}
		return len(left) == 0, s.deliver(accepted(ctx), crawl, steps)
	})
}

// upTo returns the numbers from 0 to n-1.
func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// sweeper finishes the work that daemons left half done, until the store is closed. One daemon at a time does so.
func (s *Store) sweeper(ctx context.Context) {
	every := min(s.opt.recoverAfter/4, time.Minute)
	for ctx.Err() == nil {
		if err := s.sweepIfTurn(ctx, every); err != nil && ctx.Err() == nil {
			s.opt.Logger.Warn("cannot finish all unfinished steps of other daemons; trying again later", "error", err)
		}
		_ = async.Sleep(ctx, every)
	}
}

// sweepIfTurn sweeps unless another daemon has begun a sweep recently.
func (s *Store) sweepIfTurn(ctx context.Context, every time.Duration) error {
	key := s.layout.meta + "T"
	node, err := s.nodes.MasterForKey(ctx, key)
	if err != nil {
		return err
	}
	if ok, err := node.SetNX(ctx, key, s.self[:], every).Result(); !ok {
		return err
	}
	return s.sweep(ctx, s.opt.recoverAfter)
}

// sweep finishes steps older than age, deletions of queues, and deletions of crawls. An unreachable shard
// holds up only its own steps; the first error is returned.
func (s *Store) sweep(ctx context.Context, age time.Duration) (failed error) {
	for shard := range s.opt.Shards {
		err := pages(ctx, s.ask, scriptOverdue, shard, "", nil, func(r *reader) bool {
			if r.uint(1) == 1 {
				failed = cmp.Or(failed, s.sweepCrawls(ctx, []int{shard}))
			}
			for r.more() {
				failed = cmp.Or(failed, s.sweepShard(ctx, r.short(), shard, age))
			}
			return true
		})
		failed = cmp.Or(failed, err)
	}
	return failed
}

// sweepShard finishes the unfinished work of a crawl in one shard.
func (s *Store) sweepShard(ctx context.Context, crawl string, shard int, age time.Duration) (failed error) {
	err := pages(ctx, s.ask, scriptLeftovers, shard, crawl, appendUint(nil, 6, uint64(age.Milliseconds())), func(r *reader) bool {
		var steps []*step
		for r.more() {
			steps = append(steps, readStep(r.key(), r))
		}
		if r.err() == nil {
			failed = cmp.Or(failed, s.deliver(ctx, crawl, steps))
		}
		return true
	})
	if err != nil {
		return cmp.Or(failed, err)
	}
	f := &forgetting{Store: s, crawl: crawl}
	for more := true; more; {
		more, err = f.deletedPage(ctx, shard, "", age)
		failed = cmp.Or(failed, err)
	}
	return failed
}
