package redisstore

import (
	"context"

	"github.com/firstseen/firstseen/store"
)

// offering is one try of a wave of an Add: its keys are recorded, then what is new is
// queued, then the outbox is emptied.
type offering struct {
	*adding
	items    []store.Item
	verdicts []store.Verdict
	id       requestID

	offered *batch
	queued  *batch
	fresh   []int // new, and to be queued
	told    []int // decided, but for a queue that may be full
	pending []int // another daemon is about to decide
}

// record records keys, with what has to be queued in the outbox.
func (o *offering) record(ctx context.Context, of []int) error {
	mode := byte('-')
	if o.capped() {
		mode = 'p'
	}
	o.offered = o.s.batch(scriptOffer, o.id.phase(phaseRecord), o.crawl, append(o.s.shardsHead(), mode))
	hashes := hashCache{l: o.s.layout}
	for _, i := range of {
		p := o.offered.keyPart(i, &o.items[i].Key)
		_, h := hashes.of(o.items[i].Queue)
		p.blob = appendEntry(p.blob, &o.items[i], h, 0)
	}
	if err := o.offered.run(ctx); err != nil {
		return err
	}
	fresh := make([]bool, len(o.items))
	err := o.offered.tell(func(i int, answer byte) {
		if answer == 'P' {
			o.pending = append(o.pending, i)
			return
		}
		o.told = append(o.told, i)
		switch answer {
		case 'D':
			o.verdicts[i].Status = store.Duplicate
		default:
			o.verdicts[i].Status = store.New
			fresh[i] = o.items[i].Queue != ""
		}
	})
	for i, f := range fresh {
		if f {
			o.fresh = append(o.fresh, i)
		}
	}
	return err
}

// queue moves what is new into its queues, and empties the outbox.
func (o *offering) queue(ctx context.Context) error {
	if len(o.fresh) == 0 {
		return nil
	}
	if err := o.enqueue(ctx); err != nil {
		return err
	}
	if o.capped() {
		return o.confirm(ctx)
	}
	o.s.acknowledge(ctx, o.outboxes())
	return nil
}

func (o *offering) enqueue(ctx context.Context) error {
	head := append(appendUint(nil, 6, uint64(max(0, o.opt.MaxPerQueue))), make([]byte, 16)...)
	o.queued = o.s.batch(scriptEnqueue, o.id.phase(phaseQueue), o.crawl, head)
	hashes := hashCache{l: o.s.layout}
	for _, i := range o.fresh {
		shard, h := hashes.of(o.items[i].Queue)
		p := o.queued.part(shard, i)
		p.blob = appendEntry(p.blob, &o.items[i], h, 0)
	}
	if err := o.queued.run(ctx); err != nil {
		return err
	}
	return o.queued.tell(func(i int, answer byte) {
		if answer == 'F' {
			o.verdicts[i].Status = store.Full
		}
	})
}

// outboxes are the calls that left something in an outbox.
func (o *offering) outboxes() *batch {
	b := &batch{}
	fresh := map[int]bool{}
	for _, i := range o.fresh {
		fresh[i] = true
	}
	for _, p := range o.offered.at {
		for _, i := range p.of {
			if fresh[i] {
				b.calls = append(b.calls, p.call)
				break
			}
		}
	}
	return b
}

// confirm makes pending keys seen, or takes them back as they were full.
func (o *offering) confirm(ctx context.Context) error {
	b := o.s.confirming(o.id, o.crawl)
	for _, i := range o.fresh {
		p := b.keyPart(i, &o.items[i].Key)
		p.blob = append(append(p.blob, o.items[i].Key[:]...), flag(o.verdicts[i].Status == store.New))
	}
	return b.run(ctx)
}

// confirming is a batch that ends the pending part of a request.
func (s *Store) confirming(id requestID, crawl string) *batch {
	recorded := id.phase(phaseRecord)
	return s.batch(scriptConfirm, id.phase(phaseEnd), crawl, append(s.shardsHead(), recorded[:]...))
}

// hashCache remembers the home of the last queue: URLs often come by host.
type hashCache struct {
	l     *layout
	name  string
	shard int
	hash  queueHash
	set   bool
}

func (c *hashCache) of(name string) (int, queueHash) {
	if !c.set || c.name != name {
		c.name, c.set = name, true
		c.shard, c.hash = c.l.ofQueue(name)
	}
	return c.shard, c.hash
}
