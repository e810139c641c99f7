package pebblestore

import (
	"errors"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
)

// forced is a known key that an item of the step forces, as it was before the step, or as an
// item without a queue recorded it. Such keys are looked for in the database, inside the step: whether they
// are held and what becomes of them is one.
type forced struct {
	found
	queued bool   // by this step
	first  string // the first-seen URL of a duplicate
}

func forces(it store.Item) bool { return it.Force }

// findForced finds the known keys among those that items force. It comes before
// all writes of the step, so that the database needs no batch on top.
func (a *adder) findForced() error {
	for i := range a.items {
		it := &a.items[i]
		if !it.Force || a.forced[it.Key] != nil {
			continue
		}
		known, err := a.c.seen.has(&it.Key)
		if errors.Is(err, runfile.ErrDamaged) {
			continue // it will not be recorded either
		}
		if err != nil {
			return err
		}
		if !known {
			continue
		}
		f := &forced{found: a.find(a.c, &it.Key)}
		f.first = f.rec.URL
		a.forced[it.Key] = f
	}
	return nil
}

// force judges an item of a known key that this item or another forces.
func (a *adder) force(i int, f *forced) {
	it, v := &a.items[i], &a.verdicts[i]
	v.Status = store.Duplicate
	if a.opt.WantFirst {
		v.First = f.first
	}
	switch {
	case !it.Force || f.held() || f.queued || it.Queue == "":
	case a.capped(it.Queue):
		v.Status = store.Full
	default:
		v.Requeued = true
		a.requeue(it, f)
	}
}

// requeue queues a known item that is not held.
func (a *adder) requeue(it *store.Item, f *forced) {
	f.queued, f.first = true, it.URL
	a.release(a.c, &f.found)
	rec := a.record(it)
	if f.text() {
		rec.Created = f.rec.Created
	}
	p := a.enqueue(a.c, a.queue(a.c, it.Queue), &rec)
	a.setPlace(a.c, &it.Key, &p)
}
