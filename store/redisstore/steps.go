package redisstore

import (
	"cmp"
	"context"
	"time"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// Kinds of steps; see PROTOCOL.md.
const (
	stepAdd    = 'A' // a URL is queued whose key is known already
	stepCapped = 'P' // a URL is queued if there is room, and its key is known then
	stepMove   = 'M' // a URL that isn't held is queued, or made by a settlement
	stepForget = 'F' // a key is forgotten
	stepsAdd   = 'T' // all steps A that one script began
)

// step is a change that concerns the home of a key and that of a queue, as the key's home has recorded it.
type step struct {
	kind    byte
	key     store.Key
	request requestID
	number  uint16 // in the request
	old     known  // state of the key before, for M and F
	mode    byte   // of the release by the old queue; see lua/release.lua
	cap     uint64 // of the queue, 0 for none
	entry   []byte // of the URL
	since   time.Time
	with    *group // the steps that its home recorded with it, an empty one if that is not known
	item    int    // the caller's number of it

	begun  byte // Y it has begun, R forgotten already, P another is to be finished first, N its key has changed
	failed bool // a queue was not reached
	left   bool // by the old queue, as it was: the step ends without an effect
	answer byte // of the queue: Q queued or ended, F full, H held
	ended  bool // this call cleared it
}

// group counts the steps that one script began, and those of them that end now.
type group struct{ begun, ending int }

// readStep reads a step, after its length, as its home has it; see lua/steps.lua.
func readStep(key store.Key, from *reader) *step {
	r := reader{from.long()}
	st := &step{key: key, since: time.Now(), with: new(group)}
	copy(st.request[:], r.bytes(len(st.request)))
	st.number = uint16(r.uint(2))
	st.kind = byte(r.uint(1))
	r.uint(6) // when it began
	st.old = known{was(r.uint(1)), r.hash()}
	st.mode = byte(r.uint(1))
	st.cap = r.uint(6)
	st.entry = []byte(r.left)
	if r.left == overrun {
		from.left = overrun
	}
	return st
}

// queue returns the hash of the queue that the step is about.
func (st *step) queue() (h queueHash) {
	if st.kind == stepForget {
		return st.old.queue
	}
	copy(h[:], st.entry[len(st.key):])
	return h
}

// effect is what becomes of the key: it stays as it is (K), is forgotten (X), or belongs to
// the step's queue (W).
func (st *step) effect() byte {
	switch full := st.answer == 'F'; {
	case st.left || st.kind == stepAdd:
		return 'K'
	case st.kind == stepForget || full && (st.kind == stepCapped || st.old.was == unknown):
		return 'X'
	case st.kind == stepCapped || full:
		return 'K'
	}
	return 'W'
}

// deliver carries steps out at the homes of their queues, and clears them at those of their keys.
// Any daemon may do it again. When it fails, it has finished the steps of the shards that it reached.
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

// send sends what part says of each step that is not left and did not fail, of about so many bytes, and reads the answers.
func (d *delivery) send(ctx context.Context, sc *script, bytes int, part func(b *batch, i int, st *step), read func(st *step, r *reader)) error {
	b := d.s.batch(sc, requestID{}, d.crawl, nil).expect(len(d.steps), bytes)
	for i, st := range d.steps {
		if !st.failed {
			part(b, i, st)
		}
	}
	err := b.read(ctx, func(i int, r *reader) { read(d.steps[i], r) })
	for _, p := range b.parts {
		for _, i := range p.of {
			d.steps[i].failed = !p.done
		}
	}
	return err
}

// release takes the URLs from the queues that had them, but for those that go to the same queue again.
func (d *delivery) release(ctx context.Context) error {
	return d.send(ctx, scriptRelease, 18, func(b *batch, i int, st *step) {
		if st.old.was == queuedIn && (st.kind == stepForget || st.old.queue != st.queue()) {
			p := b.part(d.s.layout.ofHash(st.old.queue), i, append([]byte{st.mode}, st.request[:]...)...)
			p.blob = append(appendUint(p.blob, 2, uint64(st.number)), st.key[:]...)
		}
	}, func(st *step, r *reader) {
		st.left = r.bytes(1) == "H"
		if created := r.uint(6); created > 0 && st.kind == stepMove {
			setCreated(st.entry, created)
		}
	})
}

func (d *delivery) queue(ctx context.Context) error {
	return d.send(ctx, scriptEnqueue, entryRoom, func(b *batch, i int, st *step) {
		if !st.left && st.kind != stepForget {
			p := b.part(d.s.layout.ofHash(st.queue()), i, appendUint(append(make([]byte, 0, 32), st.request[:]...), 6, st.cap)...)
			p.blob = appendLong(appendUint(p.blob, 2, uint64(st.number)), st.entry)
		}
	}, func(st *step, r *reader) { st.answer = byte(r.uint(1)) })
}

// end clears the steps. There is no WAIT: one that comes back after a failover is finished again, by its receipts.
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
		p := b.part(shard, i, append(append(make([]byte, 0, 32), st.request[:]...), kind)...)
		p.blob = append(appendUint(p.blob, 2, uint64(st.number)), st.key[:]...)
		if st.kind != stepAdd {
			h := st.queue()
			p.blob = append(append(appendUint(p.blob, 4, uint64(place)), st.effect()), h[:]...)
		}
	}, func(st *step, r *reader) { st.ended = r.bytes(1) == "Y" })
}

// begin records steps of one kind at the homes of their keys, and notes in each whether it has begun.
func (s *Store) begin(ctx context.Context, crawl string, kind byte, list []*step) error {
	id := s.requests.id()
	place := scriptPlace
	if kind == stepForget {
		place = scriptForget
	}
	b := s.batch(place, id.phase(phaseRecord), crawl, append(s.shardsHead(), kind))
	for i, st := range list {
		p := b.keyPart(i, &st.key)
		st.kind, st.request, st.number, st.since, st.with = kind, p.id.phase(phaseQueue), uint16(i), time.Now(), new(group)
		p.blob = appendUint(append(p.blob, st.key[:]...), 2, uint64(st.number))
		p.blob = append(append(append(p.blob, byte(st.old.was)), st.old.queue[:]...), st.mode)
		p.blob = appendLong(appendUint(p.blob, 6, st.cap), st.entry)
	}
	return b.read(ctx, func(i int, r *reader) { list[i].begun = byte(r.uint(1)) })
}

// carryOut begins steps and delivers those that have begun.
func (s *Store) carryOut(ctx context.Context, crawl string, kind byte, list []*step) error {
	if err := s.begin(ctx, crawl, kind, list); err != nil {
		return err
	}
	return s.deliver(accepted(ctx), crawl, begunOf(list, 'Y'))
}

// begunOf returns the steps of which begin noted that.
func begunOf(list []*step, what byte) (of []*step) {
	for _, st := range list {
		if st.begun == what {
			of = append(of, st)
		}
	}
	return of
}
