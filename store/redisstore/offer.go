package redisstore

import (
	"context"
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

	fresh   []*step // of those that are new, and to be queued
	told    []int   // decided, except by a queue that may be full
	pending []int   // another step has to be finished first
}

// record records keys, and begins the steps of those that are new.
func (o *offering) record(ctx context.Context, of []int) error {
	kind := byte(stepAdd)
	if o.capped() {
		kind = stepCapped
	}
	since, entries := time.Now(), make([][]byte, len(o.items))
	head := appendUint(append(o.s.shardsHead(), kind), 6, o.cap())
	b := o.s.batch(scriptOffer, o.id.phase(phaseRecord), o.crawl, head)
	hashes := hashCache{l: o.s.layout}
	for _, i := range of {
		it := &o.items[i]
		p := b.keyPart(i, &it.Key)
		p.blob = appendUint(p.blob, 2, uint64(i))
		if it.Queue == "" {
			p.blob = appendLong(p.blob, it.Key[:])
			continue
		}
		entries[i] = appendEntry(nil, it, hashes.of(it.Queue))
		p.blob = appendLong(p.blob, entries[i])
	}
	if err := b.run(ctx); err != nil {
		o.owe(b)
		return err
	}
	answers := make([]byte, len(o.items))
	if err := b.tell(func(i int, answer byte) { answers[i] = answer }); err != nil {
		return err
	}
	for _, i := range of { // in the order of the batch: so they come to their queues
		if answers[i] == 'P' {
			o.pending = append(o.pending, i)
			continue
		}
		owed := o.items[i].Queue == "" && o.s.owed.pay(o.crawl, o.items[i].Key) // "new" settles it, too
		switch {
		case answers[i] == 'D' && !owed:
			o.verdicts[i].Status = store.Duplicate
		default:
			o.verdicts[i].Status = store.New
			if o.items[i].Queue != "" {
				o.fresh = append(o.fresh, &step{kind: kind, key: o.items[i].Key, request: o.id.phase(phaseQueue), number: uint16(i),
					cap: o.cap(), entry: entries[i], since: since})
			}
		}
		o.told = append(o.told, i)
	}
	return nil
}

// owe notes the keys that a failed call recorded as new, if only on the master. A URL that is to be queued is not
// among them: its step is recorded, and the same call again says "duplicate" of a URL that is queued.
func (o *offering) owe(b *batch) {
	for _, p := range b.parts {
		for j, i := range p.of {
			if len(p.reply) == len(p.of) && p.reply[j] == 'N' && o.items[i].Queue == "" {
				o.s.owed.add(o.crawl, o.items[i].Key)
			}
		}
	}
}

// queue delivers the steps.
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

// hashCache remembers the hash of the last queue: URLs often come by host.
type hashCache struct {
	l    *layout
	name string
	hash queueHash
}

func (c *hashCache) of(name string) queueHash {
	if c.name != name {
		c.name = name
		_, c.hash = c.l.ofQueue(name)
	}
	return c.hash
}
