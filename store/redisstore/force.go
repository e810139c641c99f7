package redisstore

import (
	"context"

	"github.com/firstseen/firstseen/store"
)

// force adds one URL that is to be queued although it was seen.
func (a *adding) force(ctx context.Context, it *store.Item, v *store.Verdict) error {
	return a.s.untilSettled(ctx, func(ctx context.Context) (bool, error) {
		*v = store.Verdict{}
		found, err := a.s.judge(ctx, a.crawl, []store.Key{it.Key})
		if err != nil {
			return false, err
		}
		if found[0].was == unknown {
			plain := *it
			plain.Force = false
			told := make([]store.Verdict, 1)
			_, err := a.wave(ctx, []store.Item{plain}, told)
			*v = told[0]
			return true, err
		}
		return a.forceKnown(ctx, it, v, found[0])
	})
}

// forceKnown queues a URL that was seen; false when it has changed meanwhile.
func (a *adding) forceKnown(ctx context.Context, it *store.Item, v *store.Verdict, k known) (bool, error) {
	v.Status = store.Duplicate
	e, err := a.s.lookupIn(ctx, a.crawl, it.Key, k)
	if err != nil {
		return false, err
	}
	if a.opt.WantFirst {
		v.First = e.URL
	}
	if e.State == store.Queued || e.State == store.Leased {
		return true, nil
	}
	if full, err := a.full(ctx, it.Queue); full || err != nil {
		if full {
			v.Status = store.Full
		}
		return true, err
	}
	if it.Queue == "" {
		return true, nil
	}
	m := &forced{adding: a, id: a.s.requests.id(), it: it, from: k}
	moved, err := m.place(accepted(ctx))
	if err == nil && moved {
		moved, err = m.queue(accepted(ctx))
	}
	v.Requeued = moved
	return moved, err
}

// forced is a URL that isn't held, on its way to a queue, which may be the one that had it.
type forced struct {
	*adding
	id   requestID
	it   *store.Item
	from known

	entry    []byte
	recorded *batch
}

// place takes the URL from the queue that had it, and gives it to the new one, in the outbox; false
// when it has changed meanwhile.
func (m *forced) place(ctx context.Context) (bool, error) {
	keys := []store.Key{m.it.Key}
	heldKeys, created, err := m.s.release(ctx, m.id, m.crawl, 'f', keys, []known{m.from})
	if err != nil || heldKeys[0] {
		return false, err
	}
	_, to := m.s.layout.ofQueue(m.it.Queue)
	m.entry = appendEntry(nil, m.it, to, created[0])
	done, recorded, err := m.s.place(ctx, m.id, m.crawl, 'A', []placing{{keys[0], m.from, to, m.entry}})
	if err != nil {
		return false, err
	}
	m.recorded = recorded
	return done[0], nil
}

// queue moves the URL into its queue; false when another daemon has done so at the same time.
func (m *forced) queue(ctx context.Context) (bool, error) {
	s := m.s
	shard, _ := s.layout.ofQueue(m.it.Queue)
	c := &call{shard: shard, script: scriptEnqueue, id: m.id.phase(phaseQueue), crawl: m.crawl, blob: append(make([]byte, 22), m.entry...)}
	if err := s.run(ctx, []*call{c}); err != nil {
		return false, err
	}
	if err := c.answers(1); err != nil {
		return false, err
	}
	s.acknowledge(ctx, m.recorded)
	return c.reply[0] == 'Q', nil
}

// full reports whether a queue, or the crawl, holds as much as it may.
func (a *adding) full(ctx context.Context, queue string) (bool, error) {
	if queue == "" || !a.capped() {
		return false, nil
	}
	if a.opt.MaxHeld > 0 {
		st, err := a.s.stats(ctx, a.crawl)
		if err != nil || st.Held >= a.opt.MaxHeld {
			return err == nil, err
		}
	}
	info, there, err := a.s.queueInfo(ctx, a.crawl, queue)
	return there && a.opt.MaxPerQueue > 0 && info.Held >= a.opt.MaxPerQueue, err
}

// first tells the first spelling of duplicates, while it is kept.
func (a *adding) first(ctx context.Context, items []store.Item, verdicts []store.Verdict) error {
	var keys []store.Key
	var of []int
	for i := range items {
		if verdicts[i].Status == store.Duplicate {
			keys, of = append(keys, items[i].Key), append(of, i)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	found := make([]known, len(keys))
	if _, err := a.s.resolveOnce(ctx, scriptResolve, a.crawl, keys, numbers(len(keys)), found, false); err != nil {
		return err
	}
	entries, err := a.s.entriesOf(ctx, a.crawl, keys, found)
	for j, i := range of {
		if err == nil {
			verdicts[i].First = entries[j].URL
		}
	}
	return err
}
