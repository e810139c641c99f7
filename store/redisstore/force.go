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
	st := a.forceStep(it, k)
	begun, _, _, _, err := a.s.begin(ctx, a.crawl, stepMove, []*step{st})
	if err != nil || len(begun) == 0 {
		return false, err
	}
	if err := a.s.deliver(accepted(ctx), a.crawl, begun); err != nil || st.left {
		return false, err
	}
	if st.answer == 'F' {
		v.Status = store.Full
		return true, nil
	}
	v.Requeued = st.answer == 'Q'
	return v.Requeued, nil
}

// forceStep is the step of a URL that isn't held to a queue, which may be the one that had it.
func (a *adding) forceStep(it *store.Item, from known) *step {
	_, to := a.s.layout.ofQueue(it.Queue)
	return &step{key: it.Key, old: from, mode: 'f', cap: a.cap(), entry: appendEntry(nil, it, to, 0)}
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
