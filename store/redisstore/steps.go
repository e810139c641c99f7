package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/firstseen/firstseen/store"
)

// Kinds of steps; see PROTOCOL.md.
const (
	stepAdd    = 'A' // a URL is queued whose key is known already
	stepCapped = 'P' // a URL is queued if there is room, and its key is known then
	stepMove   = 'M' // a known URL that isn't held is queued
	stepSettle = 'S' // a settlement makes a URL
	stepForget = 'F' // a key is forgotten
)

// step is a change that concerns the home of a key and that of a queue, as the key's home
// has recorded it.
type step struct {
	kind    byte
	key     store.Key
	request requestID
	number  uint16 // in the request
	old     known  // what was known of the key before, for M, S and F
	mode    byte   // of the release by the old queue; see lua/release.lua
	cap     uint64 // of the queue, 0 for none
	entry   []byte // the URL or the settlement
	since   time.Time

	left   bool // by the old queue, as it was: the step ends without an effect
	answer byte // of the queue: Q queued, F full, H held; of a settlement S
	ended  bool // this call cleared it
}

// appendPlaced appends a step as lua/place.lua takes it, behind the place of its key.
func (st *step) appendPlaced(dst []byte) []byte {
	dst = append(dst, st.key[:]...)
	dst = appendUint(dst, 2, uint64(st.number))
	dst = append(append(append(dst, byte(st.old.was)), st.old.queue[:]...), st.mode)
	return appendLong(appendUint(dst, 6, st.cap), st.entry)
}

// readStep reads a step as its home has it; see lua/steps.lua.
func readStep(key store.Key, row string) (*step, error) {
	r := reader{row}
	st := &step{key: key, since: time.Now()}
	copy(st.request[:], r.bytes(len(st.request)))
	st.number = uint16(r.uint(2))
	st.kind = byte(r.uint(1))
	r.uint(6) // when it began
	st.old = known{was(r.uint(1)), r.hash()}
	st.mode = byte(r.uint(1))
	st.cap = r.uint(6)
	st.entry = []byte(r.left)
	return st, r.err()
}

// Where an entry and a settlement have the hash of their queue.
const (
	entryHashAt      = 16
	settlementHashAt = 16 + 6 + 2 + 1 + 6 + 1 + 1 + 6
)

// queue returns the hash of the queue that the step is about.
func (st *step) queue() (h queueHash) {
	switch st.kind {
	case stepForget:
		return st.old.queue
	case stepSettle:
		copy(h[:], st.entry[settlementHashAt:])
	default:
		copy(h[:], st.entry[entryHashAt:])
	}
	return h
}

// effect is what becomes of the key: it stays as it is (K), is forgotten (X), or belongs to
// the step's queue (W).
func (st *step) effect() byte {
	switch {
	case st.left || st.kind == stepAdd:
		return 'K'
	case st.kind == stepForget || st.kind == stepCapped && st.answer == 'F':
		return 'X'
	case st.kind == stepCapped || st.answer == 'F':
		return 'K'
	}
	return 'W'
}

// deliver carries steps out at the homes of their queues, and clears them at those of their keys.
// It may be done again, by anybody. When it fails, it has done what it could reach.
func (s *Store) deliver(ctx context.Context, crawl string, steps []*step) error {
	d := &delivery{s: s, crawl: crawl, steps: steps, failed: make([]bool, len(steps))}
	for _, st := range steps {
		if late := 5 * s.opt.AnswersFor; time.Since(st.since) > late {
			// Another daemon may have finished it meanwhile, and receipts expire after twice that.
			return fmt.Errorf("cannot finish a step that began more than %v ago; it is finished from the outbox: %w", late, store.ErrUnavailable)
		}
	}
	err := d.release(ctx)
	err = errors.Join(err, d.queue(ctx))
	return errors.Join(err, d.settle(ctx), d.end(ctx))
}

// delivery is a deliver in progress.
type delivery struct {
	s      *Store
	crawl  string
	steps  []*step
	failed []bool // of a step: its queue was not reached
}

// send sends a batch, and notes which steps it didn't reach.
func (d *delivery) send(ctx context.Context, b *batch, read func(i int, r *reader)) error {
	err := b.run(ctx)
	for _, p := range b.parts {
		r := reader{p.reply}
		for _, i := range p.of {
			if d.failed[i] = !p.done; p.done {
				read(i, &r)
			}
		}
		err = errors.Join(err, r.err())
	}
	return err
}

// release takes the URLs from the queues that had them.
func (d *delivery) release(ctx context.Context) error {
	b := d.s.batch(scriptRelease, requestID{}, d.crawl, nil)
	for i, st := range d.steps {
		if st.old.was == queuedIn {
			p := b.partWith(d.s.layout.ofHash(st.old.queue), append([]byte{st.mode}, st.request[:]...), i)
			p.blob = append(appendUint(p.blob, 2, uint64(st.number)), st.key[:]...)
		}
	}
	return d.send(ctx, b, func(i int, r *reader) {
		st := d.steps[i]
		st.left = r.bytes(1) == "H"
		if created := r.uint(6); created > 0 && st.kind == stepMove {
			setCreated(st.entry, created)
		}
	})
}

// queue queues URLs.
func (d *delivery) queue(ctx context.Context) error {
	b := d.s.batch(scriptEnqueue, requestID{}, d.crawl, nil)
	for i, st := range d.steps {
		if d.failed[i] || st.left || st.kind == stepForget || st.kind == stepSettle {
			continue
		}
		p := b.partWith(d.s.layout.ofHash(st.queue()), appendUint(st.request[:], 6, st.cap), i)
		p.blob = appendLong(appendUint(p.blob, 2, uint64(st.number)), st.entry)
	}
	return d.send(ctx, b, func(i int, r *reader) { d.steps[i].answer = byte(r.uint(1)) })
}

// settle makes URLs from settlements.
func (d *delivery) settle(ctx context.Context) error {
	b := d.s.batch(scriptSettle, requestID{}, d.crawl, d.s.settleHead())
	for i, st := range d.steps {
		if d.failed[i] || st.left || st.kind != stepSettle {
			continue
		}
		p := b.partWith(d.s.layout.ofHash(st.queue()), st.request[:], i)
		p.blob = appendLong(appendUint(p.blob, 2, uint64(st.number)), st.entry)
	}
	return d.send(ctx, b, func(i int, r *reader) { d.steps[i].answer = byte(r.uint(1)) })
}

// end clears the steps. There is no WAIT: one that comes back after a failover is finished again, by
// its receipts.
func (d *delivery) end(ctx context.Context) error {
	b := d.s.batch(scriptEnd, requestID{}, d.crawl, nil)
	for i, st := range d.steps {
		if d.failed[i] {
			continue
		}
		box := byte('A')
		if st.kind != stepAdd {
			box = 'P'
		}
		p := b.keyPartWith(append(append([]byte(nil), st.request[:]...), box), i, &st.key)
		p.blob = appendUint(append(p.blob, st.key[:]...), 2, uint64(st.number))
		h := st.queue()
		p.blob = append(append(p.blob, st.effect()), h[:]...)
	}
	return d.send(ctx, b, func(i int, r *reader) { d.steps[i].ended = r.bytes(1) == "Y" })
}

// finish finishes the steps of some keys, whoever began them.
func (s *Store) finish(ctx context.Context, crawl string, keys []store.Key) error {
	b := s.batch(scriptPending, requestID{}, crawl, nil)
	for i := range keys {
		shard, _ := s.layout.ofKey(&keys[i])
		p := b.part(shard, i)
		p.blob = append(p.blob, keys[i][:]...)
	}
	if err := b.run(ctx); err != nil {
		return err
	}
	var steps []*step
	for _, p := range b.parts {
		r := reader{p.reply}
		for _, i := range p.of {
			row := r.long()
			if row == "" {
				continue
			}
			st, err := readStep(keys[i], row)
			if err != nil {
				return err
			}
			steps = append(steps, st)
		}
		if err := r.err(); err != nil {
			return err
		}
	}
	return s.deliver(ctx, crawl, steps)
}

// begin records steps of one kind at the homes of their keys. It returns those that have begun,
// how many keys were forgotten there and then, the keys that have another step to be finished before, and those
// that have changed.
func (s *Store) begin(ctx context.Context, crawl string, kind byte, list []*step) (begun []*step, gone int64, busy, changed []*step, err error) {
	id := s.requests.id()
	place := scriptPlace
	if kind == stepForget {
		place = scriptForget
	}
	b := s.batch(place, id.phase(phaseRecord), crawl, append(s.shardsHead(), kind))
	for i, st := range list {
		st.kind, st.request, st.number, st.since = kind, id.phase(phaseQueue), uint16(i), time.Now()
		p := b.keyPart(i, &st.key)
		p.blob = st.appendPlaced(p.blob)
	}
	if err := b.run(ctx); err != nil {
		return nil, 0, nil, nil, err
	}
	err = b.tell(func(i int, answer byte) {
		switch answer {
		case 'Y':
			begun = append(begun, list[i])
		case 'R':
			gone++
		case 'P':
			busy = append(busy, list[i])
		default:
			changed = append(changed, list[i])
		}
	})
	return begun, gone, busy, changed, err
}

func keysOfSteps(list []*step) []store.Key {
	keys := make([]store.Key, len(list))
	for i, st := range list {
		keys[i] = st.key
	}
	return keys
}
