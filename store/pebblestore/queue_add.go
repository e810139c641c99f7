package pebblestore

import (
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// adder carries out an Add. The index reports of all keys together which are new. Keys and
// places are written in order of key and queued URLs in order of queue, which Pebble
// takes in twice as fast as rows in any order.
type adder struct {
	*txn
	*addOp
	*addSpace
	c   *crawl
	now int64
	// full are the keys that a cap refused, and that nothing took since.
	full map[store.Key]bool
}

// addSpace is what an Add needs while it is carried out, kept for the next: adds come one
// after the other.
type addSpace struct {
	recs []sched.Record
	rows []uint64 // queue number and index in recs of each new URL
	ptrs []pointer
	// into are the queues of new items, and unknown the names of those that do not exist.
	into    []*sched.Queue
	unknown map[string]bool
}

// mostSpace is the number of items from which on nothing is kept.
const mostSpace = 1 << 14

// begin makes room for n items.
func (a *addSpace) begin(n int) {
	a.recs = slices.Grow(a.recs[:0], n)
	a.rows = slices.Grow(a.rows[:0], n)
	a.ptrs = slices.Grow(a.ptrs[:0], n)[:n]
	clear(a.ptrs)
	a.into = slices.Grow(a.into[:0], n)[:n]
	clear(a.into)
}

// end drops the URLs.
func (a *addSpace) end() {
	clear(a.recs)
	clear(a.into)
	clear(a.unknown)
	if cap(a.recs) > mostSpace {
		*a = addSpace{}
	}
}

// queueItems records and queues the items and sets the verdicts.
func (tx *txn) queueItems(o *addOp) error {
	a := &adder{txn: tx, addOp: o, addSpace: &tx.s.adding, now: sched.Now(tx.now)}
	if slices.ContainsFunc(o.items, forces) {
		a.forced = map[store.Key]*forced{}
		tx.flush() // so that the database has the places of known URLs
	}
	a.c = tx.crawl(o.crawl, true)
	o.c = a.c
	if o.opt.WantFirst {
		tx.s.texts.on.Store(true)
	}
	if err := a.findForced(); err != nil {
		return err
	}
	damaged, err := a.c.seen.addReadable(a.keys, a.order, a.fresh)
	if err != nil {
		return err
	}
	if damaged != nil {
		for _, i := range damaged.at {
			a.verdicts[i].Status = store.Damaged
		}
	}
	a.begin(len(a.items))
	defer a.end()
	if err := a.readQueues(); err != nil {
		return err
	}
	a.judge()
	a.refuse()
	a.write()
	return nil
}

// readQueues finds the queues of new items, before the step changes anything that an
// error could not take back.
func (a *adder) readQueues() error {
	for i := range a.items {
		name := a.items[i].Queue
		if !a.fresh[i] || name == "" || a.unknown[name] {
			continue
		}
		if a.into[i] = a.oldQueue(a.c, name); a.into[i] == nil {
			if a.unknown == nil {
				a.unknown = map[string]bool{}
			}
			a.unknown[name] = true
		}
		if err := a.err; err != nil {
			a.err = nil
			for j := range a.items {
				if a.fresh[j] {
					a.c.seen.remove(&a.items[j].Key)
				}
			}
			return corruption(err)
		}
	}
	return nil
}

// judge goes through the items in order of arrival.
func (a *adder) judge() {
	for i := range a.items {
		switch {
		case a.verdicts[i].Status == store.Damaged:
		case a.fresh[i] || a.full[a.items[i].Key]:
			a.offered(i)
		case a.forced[a.items[i].Key] != nil:
			a.force(i, a.forced[a.items[i].Key])
		default:
			a.verdicts[i].Status = store.Duplicate
		}
	}
}

// offered judges an item whose key is not known: new, unless a cap is reached.
func (a *adder) offered(i int) {
	it := &a.items[i]
	if a.fresh[i] = it.Queue == "" || !a.capped(it.Queue); !a.fresh[i] {
		a.verdicts[i].Status = store.Full
		if a.full == nil {
			a.full = map[store.Key]bool{}
		}
		a.full[it.Key] = true
		return
	}
	delete(a.full, it.Key)
	if it.Queue != "" {
		a.queueNew(i, it)
	} else if a.forced != nil {
		a.forced[it.Key] = &forced{}
	}
}

// queueNew queues item i, which is new.
func (a *adder) queueNew(i int, it *store.Item) {
	q := a.into[i]
	switch {
	case q != nil:
	case a.unknown[it.Queue]:
		delete(a.unknown, it.Queue)
		if q = a.c.queues.loaded[it.Queue]; q == nil { // or a forced item has made it
			q = a.newQueue(a.c, it.Queue)
		}
	default:
		q = a.queue(a.c, it.Queue)
	}
	a.recs = append(a.recs, a.record(it))
	a.ptrs[i] = a.arrive(a.c, q, &a.recs[len(a.recs)-1])
	a.rows = append(a.rows, uint64(a.ptrs[i].queue)<<32|uint64(len(a.recs)-1))
}

// refuse takes the keys that a cap refused out of the index again.
func (a *adder) refuse() {
	for k := range a.full {
		a.c.seen.remove(&k)
	}
}

// write writes the rows of new items.
func (a *adder) write() {
	slices.Sort(a.rows)
	for _, row := range a.rows {
		a.setQueued(a.c, uint32(row>>32), &a.recs[uint32(row)])
	}
	a.packFresh(a.c, a.keys, a.order, a.fresh)
	for _, i := range a.order {
		if a.ptrs[i].queue != 0 {
			a.setPlace(a.c, &a.items[i].Key, &a.ptrs[i])
		}
	}
}

// capped reports whether a cap keeps anything more out of a queue.
func (a *adder) capped(queue string) bool {
	qs := &a.c.queues
	if a.opt.MaxHeld > 0 && qs.Held >= a.opt.MaxHeld {
		return true
	}
	if a.opt.MaxPerQueue <= 0 {
		return false
	}
	q := qs.loaded[queue]
	return q != nil && q.Held() >= a.opt.MaxPerQueue
}

// record returns the record of an item that is new.
func (a *adder) record(it *store.Item) sched.Record {
	return sched.Record{
		Key: it.Key, URL: it.URL, Meta: it.Meta, Priority: it.Priority,
		Due: sched.MsOr(it.Due, a.now), Created: a.now,
	}
}
