package redisstore

import (
	"context"

	"github.com/firstseen/firstseen/store"
)

// force adds URLs that are to be queued although they were seen. Their keys differ, and there is room for so many.
func (a *adding) force(ctx context.Context, items []store.Item, verdicts []store.Verdict, room int64) error {
	left := numbers(len(items))
	return a.s.untilSettled(ctx, func(ctx context.Context) (bool, error) {
		var again []int
		list, err := a.toForce(ctx, items, left, verdicts, room)
		if err != nil || len(list) == 0 {
			return true, err
		}
		if err := a.s.carryOut(ctx, a.crawl, stepMove, list); err != nil {
			return false, err
		}
		for _, st := range list {
			v := &verdicts[st.item]
			switch {
			case st.begun != 'Y' || st.left || st.answer == 'H': // it has changed: is it held now?
				again = append(again, st.item)
			case st.answer == 'F':
				v.Status = store.Full
			case st.old.was == unknown:
				v.Status = store.New
			default:
				v.Requeued = true
			}
		}
		left = again
		return len(left) == 0, nil
	})
}

// toForce returns the steps of those items that are to be queued and aren't held. It decides the others.
func (a *adding) toForce(ctx context.Context, items []store.Item, of []int, verdicts []store.Verdict, room int64) (list []*step, err error) {
	keys := keysOf(items)
	found, err := a.s.resolve(ctx, scriptJudge, a.crawl, keys, of)
	if err != nil {
		return nil, err
	}
	entries, err := a.s.entriesOf(ctx, a.crawl, keys, found)
	if err != nil {
		return nil, err
	}
	for _, i := range of {
		v, it, e := &verdicts[i], &items[i], &entries[i]
		*v = store.Verdict{Status: store.Duplicate}
		if a.opt.WantFirst {
			v.First = e.URL
		}
		switch full, err := a.full(ctx, it, found[i]); {
		case err != nil:
			return nil, err
		case e.State == store.Queued || e.State == store.Leased:
		case room == 0 || full:
			v.Status = store.Full
		default:
			_, to := a.s.layout.ofQueue(it.Queue)
			list = append(list, &step{item: i, key: it.Key, old: found[i], mode: 'f', cap: a.cap(), entry: appendItem(nil, it, to)})
		}
	}
	return list, nil
}

// full reports whether the queue that a URL is to move to holds as much as it may. The queue decides in the end, but the
// other one has released the URL by then.
func (a *adding) full(ctx context.Context, it *store.Item, from known) (bool, error) {
	if _, to := a.s.layout.ofQueue(it.Queue); a.opt.MaxPerQueue <= 0 || from.was != queuedIn || from.queue == to {
		return false, nil
	}
	info, _, err := a.s.queueInfo(ctx, a.crawl, it.Queue)
	return info.Held >= a.opt.MaxPerQueue, err
}
