package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/firstseen/firstseen/store"
)

// offering is one try of a wave of an Add or See: its keys are recorded, with a step for each URL that is new
// and to be queued, and then the steps are delivered.
type offering struct {
	*adding
	items    []store.Item
	verdicts []store.Verdict
	id       requestID
	cached   recall

	fresh   []*step        // of those that are new, and to be queued
	judged  []int          // decided, except by a queue that may be full
	pending []int          // to be offered again; another step may have to be finished first
	epochs  map[int]string // that the shards reported
	since   time.Time
}

// epochLen is the length of an epoch; see lua/offer.lua.
const epochLen = 10

func (o *offering) kind() byte {
	if o.capped() {
		return stepCapped
	}
	return stepAdd
}

func (o *offering) head() []byte {
	return appendUint(append(o.s.shardsHead(), o.kind()), 6, o.cap())
}

type answer struct {
	verdict byte
	request requestID // of the call
	entry   []byte    // of an item with a queue
	with    *group    // of the call's items that are new
}

// record records keys, and begins the steps of those that are new.
func (o *offering) record(ctx context.Context, of []int) error {
	o.epochs, o.since = map[int]string{}, time.Now()
	answers := make([]answer, len(o.items))
	if err := o.ask(ctx, of, answers); err != nil {
		return err
	}
	o.judge(of, answers)
	return nil
}

// ask offers some of the items, and asks whether those that the cache knows are still known.
func (o *offering) ask(ctx context.Context, of []int, answers []answer) error {
	b := o.s.batch(scriptOffer, o.id.phase(phaseRecord), o.crawl, o.head()).expect(len(of), entryRoom)
	entries := make([]byte, 0, len(of)*entryRoom)
	for _, i := range of {
		it := &o.items[i]
		p := b.keyPart(i, &it.Key)
		a := &answers[i]
		a.request, a.with = p.id, &p.group
		p.blob = appendUint(p.blob, 2, uint64(i))
		if it.Queue == "" {
			p.blob = appendLong(p.blob, append(it.Key[:], make([]byte, len(queueHash{}))...))
			continue
		}
		_, queue := o.s.layout.ofQueue(it.Queue)
		n := len(entries)
		entries = appendItem(entries, it, queue)
		a.entry = entries[n:len(entries):len(entries)]
		p.blob = appendLong(p.blob, a.entry)
	}
	for shard := range o.cached.hits {
		b.open(shard, nil) // asks for the epoch, if for nothing else
	}
	if err := b.run(ctx); err != nil {
		return err
	}
	for _, p := range b.parts {
		if len(p.reply) != len(p.of)+epochLen {
			return fmt.Errorf("got %d bytes from offer; want %d: %w", len(p.reply), len(p.of)+epochLen, store.ErrCorrupt)
		}
		for j, i := range p.of {
			answers[i].verdict = p.reply[j]
		}
		if o.epochs[p.shard] == "" { // a later part of the shard may report a later epoch
			o.epochs[p.shard] = p.reply[len(p.of):]
		}
	}
	for shard, hits := range o.cached.hits {
		if o.epochs[shard] != o.cached.epochs[shard] {
			o.pending = append(o.pending, hits...) // keys were forgotten since
			continue
		}
		for _, i := range hits {
			o.verdicts[i].Status = store.Duplicate
		}
	}
	if o.s.cache != nil {
		o.s.cache.learn(o.crawl, o.s.opt.Shards, o.epochs)
	}
	return nil
}

// judge turns answers into verdicts, in the order of the batch: in this order URLs come to their queues.
func (o *offering) judge(of []int, answers []answer) {
	for _, i := range of {
		a := &answers[i]
		if a.verdict == 'P' {
			o.pending = append(o.pending, i)
			continue
		}
		o.judged = append(o.judged, i)
		o.verdicts[i].Status = store.New
		switch {
		case a.verdict == 'D':
			o.verdicts[i].Status = store.Duplicate
		case a.entry != nil:
			o.fresh = append(o.fresh, &step{kind: o.kind(), key: o.items[i].Key, request: a.request.phase(phaseQueue), number: uint16(i),
				cap: o.cap(), entry: a.entry, since: o.since, with: a.with})
			a.with.begun++
		}
	}
}

func (o *offering) remember() {
	if o.s.cache == nil {
		return
	}
	for _, i := range o.judged {
		if o.verdicts[i].Status != store.Full {
			shard, _ := o.s.layout.ofKey(&o.items[i].Key)
			o.s.cache.put(o.crawl, o.epochs[shard], &o.items[i].Key)
		}
	}
}

func (o *offering) queue(ctx context.Context) error {
	if err := o.s.deliver(ctx, o.crawl, o.fresh); err != nil {
		return err
	}
	for _, st := range o.fresh {
		if st.answer == 'F' {
			o.verdicts[st.number].Status = store.Full
		}
	}
	return nil
}
