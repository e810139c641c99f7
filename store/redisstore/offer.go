package redisstore

import (
	"context"
	"time"

	"github.com/firstseen/firstseen/store"
)

// offering is one try of a wave of an Add: its keys are recorded, with a step for each URL that is new
// and to be queued, and then the steps are delivered.
type offering struct {
	*adding
	items    []store.Item
	verdicts []store.Verdict
	id       requestID

	since   time.Time
	entries [][]byte
	fresh   []*step // of those that are new, and to be queued
	told    []int   // decided, but for a queue that may be full
	pending []int   // another step has to be finished first
}

// record records keys, and begins the steps of those that are new.
func (o *offering) record(ctx context.Context, of []int) error {
	kind := byte(stepAdd)
	if o.capped() {
		kind = stepCapped
	}
	o.since, o.entries = time.Now(), make([][]byte, len(o.items))
	head := appendUint(append(o.s.shardsHead(), kind), 6, o.cap())
	b := o.s.batch(scriptOffer, o.id.phase(phaseRecord), o.crawl, head)
	hashes := hashCache{l: o.s.layout}
	for _, i := range of {
		p := b.keyPart(i, &o.items[i].Key)
		_, h := hashes.of(o.items[i].Queue)
		p.blob = appendUint(p.blob, 2, uint64(i))
		o.entries[i] = appendEntry(nil, &o.items[i], h, 0)
		p.blob = appendLong(p.blob, o.entries[i])
	}
	if err := b.run(ctx); err != nil {
		return err
	}
	answers := make([]byte, len(o.items))
	if err := b.tell(func(i int, answer byte) { answers[i] = answer }); err != nil {
		return err
	}
	for _, i := range of {
		switch answers[i] {
		case 'P':
			o.pending = append(o.pending, i)
			continue
		case 'D':
			o.verdicts[i].Status = store.Duplicate
		default:
			o.verdicts[i].Status = store.New
			if o.items[i].Queue != "" {
				o.fresh = append(o.fresh, &step{kind: kind, key: o.items[i].Key, request: o.id.phase(phaseQueue), number: uint16(i),
					cap: o.cap(), entry: o.entries[i], since: o.since})
			}
		}
		o.told = append(o.told, i)
	}
	return nil
}

func (a *adding) cap() uint64 { return uint64(max(0, a.opt.MaxPerQueue)) }

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
