package pebblestore

import (
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// adder carries out an Add.
type adder struct {
	*txn
	*addOp
	c   *crawl
	now int64
	// added are the items that this step queued, by key, when somebody asks.
	added map[store.Key]int
}

// queueItems records and queues the items and gives the verdicts.
func (tx *txn) queueItems(o *addOp) {
	a := &adder{txn: tx, addOp: o, now: sched.Now(tx.now)}
	if o.plain() {
		a.c = tx.crawl(o.crawl, true)
		a.addPlain()
	} else {
		tx.flush()
		a.c = tx.crawl(o.crawl, true)
		a.added = map[store.Key]int{}
		for i := range o.items {
			o.verdicts[i] = a.add(i)
		}
	}
	tx.file()
}

// plain reports whether the index alone tells all verdicts.
func (o *addOp) plain() bool {
	if o.opt.MaxHeld > 0 || o.opt.MaxPerQueue > 0 || o.opt.WantFirst {
		return false
	}
	for i := range o.items {
		if o.items[i].Force {
			return false
		}
	}
	return true
}

// addPlain asks the index for all keys at once, and queues the new ones in order
// of arrival. Seen rows are written in order of key and queued URLs in order of
// queue, which Pebble takes in twice as fast as rows in any order.
func (a *adder) addPlain() {
	a.note(a.c.seen.addSorted(a.keys, a.order, a.fresh))
	recs := make([]sched.Record, 0, len(a.items))
	rows := make([]uint64, 0, len(a.items)) // queue number and index in recs
	ptrs := make([]pointer, len(a.items))
	var n int64
	for i := range a.items {
		if !a.fresh[i] {
			a.verdicts[i].Status = store.Duplicate
			continue
		}
		n++
		if it := &a.items[i]; it.Queue != "" {
			recs = append(recs, a.record(it))
			ptrs[i] = a.arrive(a.queue(a.c, it.Queue), &recs[len(recs)-1])
			rows = append(rows, uint64(ptrs[i].queue)<<32|uint64(len(recs)-1))
		}
	}
	slices.Sort(rows)
	for _, row := range rows {
		a.setQueued(a.c, uint32(row>>32), &recs[uint32(row)])
	}
	if n == 0 {
		return
	}
	g := a.newKeys(a.c, n)
	for _, i := range a.order {
		if a.fresh[i] {
			a.setPointer(g, &a.items[i].Key, &ptrs[i])
		}
	}
}

// record returns the record of an item that is new.
func (a *adder) record(it *store.Item) sched.Record {
	return sched.Record{
		Key: it.Key, URL: it.URL, Meta: it.Meta, Priority: it.Priority,
		Due: sched.MsOr(it.Due, a.now), Created: a.now,
	}
}

// place queues a new item, if it is to be queued.
func (a *adder) place(i int) pointer {
	it := &a.items[i]
	if it.Queue == "" {
		return pointer{}
	}
	rec := a.record(it)
	return a.enqueue(a.c, a.queue(a.c, it.Queue), &rec)
}

// newKeys counts keys that are recorded now, and returns their generation.
func (tx *txn) newKeys(c *crawl, n int64) *generation {
	g := tx.generation(c)
	g.keys += n
	g.last = tx.now
	tx.touch(c, g)
	return g
}

// setPointer writes the seen row of a new key.
func (tx *txn) setPointer(g *generation, k *store.Key, p *pointer) {
	tx.key = appendSeenRow(tx.key[:0], g.num, k)
	tx.value = tx.value[:0]
	if p.queue != 0 {
		tx.value = appendPointer(tx.value, *p)
	}
	tx.set(tx.key, tx.value)
}

// add adds one item by itself.
func (a *adder) add(i int) store.Verdict {
	it := &a.items[i]
	known := a.known(a.c, &it.Key)
	var f found
	var v store.Verdict
	if known {
		v.Status = store.Duplicate
		if !a.opt.WantFirst && !it.Force {
			return v
		}
		if done := a.duplicate(it, &v, &f); done {
			return v
		}
	}
	if it.Queue != "" && a.full(it.Queue) {
		return store.Verdict{Status: store.Full, First: v.First}
	}
	if known {
		v.Requeued = it.Queue != ""
		a.requeue(i, &f)
		return v
	}
	a.note(a.c.seen.addSorted(a.keys[i:i+1], first, a.fresh[i:i+1]))
	p := a.place(i)
	a.setPointer(a.newKeys(a.c, 1), &it.Key, &p)
	a.added[it.Key] = i
	return v
}

// duplicate fills the verdict of a known key, and reports whether that is all.
func (a *adder) duplicate(it *store.Item, v *store.Verdict, f *found) bool {
	if first, ok := a.added[it.Key]; ok {
		if a.items[first].Queue != "" {
			if a.opt.WantFirst {
				v.First = a.items[first].URL
			}
			return true
		}
		// Recorded by this step and not queued.
		f.gen = a.c.gens[len(a.c.gens)-1]
	} else {
		*f = a.find(a.c, &it.Key)
		if a.opt.WantFirst {
			v.First = f.rec.URL
		}
	}
	return !it.Force || f.held()
}

// requeue queues a known item that is not held.
func (a *adder) requeue(i int, f *found) {
	it := &a.items[i]
	if it.Queue == "" {
		return
	}
	a.release(a.c, f)
	rec := a.record(it)
	if f.text {
		rec.Created = f.rec.Created
	}
	p := a.enqueue(a.c, a.queue(a.c, it.Queue), &rec)
	a.point(a.c, f, &it.Key, &p)
	a.added[it.Key] = i
}

func (a *adder) full(queue string) bool {
	qs := a.s.queuesOf(a.c)
	if a.opt.MaxHeld > 0 && qs.Held >= a.opt.MaxHeld {
		return true
	}
	if a.opt.MaxPerQueue <= 0 {
		return false
	}
	q := qs.loaded[queue]
	return q != nil && q.Held() >= a.opt.MaxPerQueue
}
