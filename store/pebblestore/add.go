package pebblestore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// An Add goes one way, without a return:
//
//	caller     check the items, sort their keys
//	committer  for each part of the batch:
//	             find      which keys are known, and what becomes of those that are forced
//	             queues    the queues of unknown keys, from memory or from their rows, as many as the budget allows
//	             judge     each item in order of arrival: duplicate, full or new. A new one is learned, counted and given its place
//	             write     rows of URLs in order of queue, keys and places in order of key
//	caller     first-seen URLs of duplicates (first.go)
//
// Everything that can fail comes before judge, which is the first to change anything but the index. If a cap may refuse keys, they are
// learned one by one as they are judged: a key that is refused must not become known, and the second of two equal keys is a duplicate
// only if the first was not refused. Otherwise the index learns all in the look-up, which costs half as much as to look first;
// what the part then does not come to is taken out again. Rows are written in the order of their keys, which Pebble takes in twice as
// fast.
//
// A part is whole: each of its URLs is recorded and queued, or neither. Other steps run between two parts, and a
// crash may keep only the first parts. A part takes as many new URLs as the rest of the group's time is enough for, at the pace of
// the last ones: 10,000 in parts of 2,048 cost 1.3 times as much as in one, as their rows are farther apart in Pebble's
// write buffer. It takes 2,048 in any case, and at most 10,240, of which one of a new queue counts as three; a queue whose row has
// to be read counts as four of 2,048. Duplicates cost only a look-up, and the part may have about 14,000 besides: batches of mostly
// known links would otherwise go through the committer many times.

// Add implements store.Store.
func (s *Store) Add(ctx context.Context, crawl string, items []store.Item, opt store.AddOptions) ([]store.Verdict, error) {
	crawl, err := sched.CrawlName(crawl)
	if err != nil {
		return nil, err
	}
	if err := sched.CheckItems(items); err != nil {
		return nil, err
	}
	keys := make([]store.Key, len(items))
	for i := range items {
		keys[i] = items[i].Key
	}
	paths, err := s.seenIn(crawl, keys)
	if err != nil {
		return nil, err
	}
	for i := range paths {
		if items[i].Force {
			paths[i] = ""
		}
	}
	o := newAddOp(crawl, items, keys, opt, paths)
	sorter := sorters.Get().(*sorter)
	if o.order = outside(sorter.sort(keys), paths); len(o.order) == 0 {
		return o.verdicts, s.usable()
	}
	err = s.warm(ctx, crawl, keys, o.order)
	if err == nil {
		err = s.do(ctx, len(items), o.apply)
	}
	if err == nil && opt.WantFirst {
		err = s.tellFirst(o)
	}
	if err != nil {
		return nil, err
	}
	sorters.Put(sorter)
	return o.verdicts, nil
}

// addOp is an Add on its way. Its slices have a place for each item.
type addOp struct {
	crawl    string
	items    []store.Item
	opt      store.AddOptions
	keys     []store.Key
	order    []uint32 // of keys, made by the caller's goroutine
	known    []bool   // before the part of the item, or by a key file
	fresh    []bool   // recorded by it
	verdicts []store.Verdict
	done     int                // items in the parts before
	forces   map[store.Key]bool // keys that an item of the batch forces, or requeues if they ended early enough; nil for none
	unicode  bool               // an item of the batch has an internationalised host
	c        *crawl
	told     map[int]bool // items whose first-seen URL the step has set
}

// newAddOp returns an Add; the caller sets the order of its keys. Keys in a key file are duplicates.
func newAddOp(crawl string, items []store.Item, keys []store.Key, opt store.AddOptions, paths []string) *addOp {
	n := len(items)
	o := &addOp{crawl: crawl, items: items, opt: opt, keys: keys, known: make([]bool, n), fresh: make([]bool, n), verdicts: make([]store.Verdict, n)}
	for i := range items {
		it := &items[i]
		if paths != nil && paths[i] != "" {
			o.verdicts[i], o.known[i] = store.Verdict{Status: store.Duplicate, SeenIn: paths[i]}, true
			continue
		}
		o.unicode = o.unicode || it.UnicodeHost
		if it.Force || !it.EndedBefore.IsZero() {
			if o.forces == nil {
				o.forces = map[store.Key]bool{}
			}
			o.forces[it.Key] = true
		}
	}
	return o
}

// apply carries out the next part.
func (o *addOp) apply(tx *txn) error {
	a := &adder{txn: tx, addOp: o, addSpace: &tx.s.adding, now: sched.Now(tx.now), lo: o.done}
	if o.c = tx.crawl(o.crawl, true); o.opt.WantFirst {
		tx.s.texts.on.Store(true)
	}
	began := tx.s.opt.monotonic()
	a.urls = min(int(tx.rest/cmp.Or(a.pace, firstPace)), 5*mostRows)
	a.begin(min(len(a.items), a.lo+max(a.urls, seenOfRow*a.left.rows), a.lo+2*max(a.urls, urlsOfRow*a.left.rows), a.lo+partItems))
	defer a.end()
	if err := a.look(); err != nil {
		return err
	}
	a.judge()
	a.write()
	a.renew(a.c, a.again)
	if n := len(a.recs); n >= paceURLs {
		now := (tx.s.opt.monotonic() - began) / time.Duration(n)
		a.pace = (cmp.Or(a.pace, now) + now) / 2
	}
	if o.done = a.hi; a.hi < len(a.items) {
		return errRest
	}
	return nil
}

// adder carries out a part of an Add: the items from lo up to, not including, hi.
type adder struct {
	*txn
	*addOp
	*addSpace
	now    int64
	lo, hi int
	urls   int      // how many new ones it may have
	part   []uint32 // the items of the part in order of key
	// learned: the index has the new keys of the part.
	learned bool
	// again are keys that were only seen and are now queued, in a crawl that forgets by age: their URLs look new from now on.
	again []store.Key
	// forced are the known keys of the part that an item of the batch forces or respells, nil if none can be.
	forced map[store.Key]*forced
}

const (
	// partItems bounds the items of a part.
	partItems = 1 << 14
	// rowsOfQueue is the cost of making a queue, in URLs queued: its two rows.
	rowsOfQueue = 2
	// firstPace is the time of a new URL before one was measured, and paceURLs how many have to be new to measure it.
	firstPace = 4 * time.Microsecond
	paceURLs  = 512
)

// addSpace is what a part needs while it is carried out, kept for the next.
type addSpace struct {
	pace time.Duration // of a new URL, lately; 0: not known
	some []uint32      // the items of a part that are not all of the batch
	recs []sched.Record
	rows []uint64 // queue number and index in recs of each new URL
	// Of each item of the part:
	ptrs []pointer
	into []*queue // of an item that is not known, nil if it has yet to be made
	// unknown are names without a row, which took a look.
	unknown map[string]bool
}

// urlsOfRow is the cost of finding a row, in URLs queued, or leased from one queue.
const urlsOfRow = 4

// begin makes room for the items up to hi, where the part ends at the latest.
func (a *adder) begin(hi int) {
	n := hi - a.lo
	a.recs, a.rows = a.recs[:0], a.rows[:0]
	a.ptrs = slices.Grow(a.ptrs[:0], n)[:n]
	clear(a.ptrs)
	a.into = slices.Grow(a.into[:0], n)[:n]
	clear(a.into)
	a.endAt(hi)
}

// endAt ends the part before item hi.
func (a *adder) endAt(hi int) {
	if a.hi = hi; a.lo == 0 && hi == len(a.items) {
		a.part = a.order
		return
	}
	a.some = a.some[:0]
	for _, i := range a.order {
		if int(i) >= a.lo && int(i) < hi {
			a.some = append(a.some, i)
		}
	}
	a.part = a.some
}

// end drops the URLs.
func (a *addSpace) end() {
	clear(a.recs)
	clear(a.into)
	clear(a.unknown)
}

// look finds all that the part needs to know. It changes nothing.
func (a *adder) look() error {
	if err := a.findForced(); err != nil {
		return err
	}
	damaged, err := a.find()
	if err != nil {
		return err
	}
	hi := a.hi
	if err = a.findQueues(); err != nil {
		a.hi = a.lo
	}
	if a.learned && a.hi < hi {
		a.unlearn(a.hi, hi)
	}
	if err != nil || damaged == nil {
		return err
	}
	for _, i := range damaged.at {
		if int(i) < a.hi {
			a.verdicts[i].Status = store.Damaged
		}
	}
	return nil
}

// find finds the known keys of the part. The index learns the others in the same go, if it alone answers and no cap can refuse any.
func (a *adder) find() (*damagedKeys, error) {
	if a.learned = a.opt.MaxHeld <= 0 && a.opt.MaxPerQueue <= 0 && a.c.seen.alone(); !a.learned {
		return a.c.seen.find(a.keys, a.part, a.known)
	}
	a.c.seen.x.AddSorted(a.keys, a.part, a.fresh)
	for _, i := range a.part {
		a.known[i] = !a.fresh[i]
	}
	return nil, nil
}

// unlearn takes the new keys of items from lo up to, not including, hi out of the index again.
func (a *adder) unlearn(lo, hi int) {
	for i := lo; i < hi; i++ {
		if a.fresh[i] {
			a.c.seen.remove(&a.keys[i])
			a.fresh[i] = false
		}
	}
}

// findQueues finds the queues of unknown keys. The part ends where there are too many such keys, or too many queues have to be
// read.
func (a *adder) findQueues() error {
	a.findLoaded()
	urls, least := a.urls, urlsOfRow*a.left.rows
	for i := a.lo; i < a.hi; i++ {
		if a.known[i] && (a.forced == nil || a.verdicts[i].SeenIn != "" || !a.requeues(&a.items[i])) {
			continue
		}
		it := &a.items[i]
		if urls <= 0 && least <= 0 || a.left.bytes <= 0 {
			a.endAt(i)
			return nil
		}
		name := it.Queue
		urls, least, a.left.bytes = urls-1, least-1, a.left.bytes-len(it.URL)-len(it.Meta)
		if name == "" || a.into[i-a.lo] != nil || a.unknown[name] {
			continue
		}
		q := a.c.queues.named(name) // or an item before has read it
		if q == nil && a.c.queues.mayHave(a.s, name) {
			if a.left.rows--; a.left.rows < 0 {
				a.endAt(i)
				return nil
			}
			var err error
			if q, err = a.oldQueue(a.c, name); err != nil {
				return err
			}
			if q == nil {
				if a.unknown == nil {
					a.unknown = map[string]bool{}
				}
				a.unknown[name] = true
			}
		}
		if a.into[i-a.lo] = q; q == nil {
			urls -= rowsOfQueue
		}
	}
	return nil
}

// findLoaded finds the queues of unknown keys that are in memory. That takes four reads of memory one after the other, which no cache has:
// many queues are looked up side by side, a read of each at a time, so that the processor waits for them together.
func (a *adder) findLoaded() {
	var at [64]int
	var found [len(at)]*queue
	for i := a.lo; i < a.hi; {
		n := 0
		for ; n < len(at) && i < a.hi; i++ {
			if name := a.items[i].Queue; name != "" && !a.known[i] {
				at[n], found[n] = i-a.lo, a.c.queues.likely(name)
				n++
			}
		}
		for j, q := range found[:n] {
			if q != nil && len(q.Name) != len(a.items[a.lo+at[j]].Queue) {
				found[j] = nil
			}
		}
		for j, q := range found[:n] {
			if q != nil && q.Name == a.items[a.lo+at[j]].Queue {
				a.into[at[j]] = q
			}
		}
	}
}

// judge goes through the items in order of arrival.
func (a *adder) judge() {
	for i := a.lo; i < a.hi; i++ {
		it, v := &a.items[i], &a.verdicts[i]
		var f *forced
		if a.forced != nil {
			f = a.forced[it.Key]
		}
		switch {
		case v.Status == store.Damaged, v.SeenIn != "":
		case f != nil:
			a.force(i, it, v, f)
		case a.known[i]:
			v.Status = store.Duplicate
		default:
			a.offer(i, it, v)
		}
	}
}

// offer judges an item whose key was not known before the part.
func (a *adder) offer(i int, it *store.Item, v *store.Verdict) {
	if it.Queue != "" && a.capped(it.Queue) {
		v.Status = store.Full
		if twin, _ := a.c.seen.has(&it.Key); twin { // it was looked for before, without an error
			v.Status = store.Duplicate
		}
		return
	}
	if !a.learned {
		a.fresh[i] = a.c.seen.add(&it.Key)
	}
	if !a.fresh[i] {
		v.Status = store.Duplicate // of one in the part
		return
	}
	if it.Queue != "" {
		a.queueNew(i, it)
	} else if a.forced != nil {
		a.forced[it.Key] = &forced{}
	}
}

// queueNew queues item i, which is new.
func (a *adder) queueNew(i int, it *store.Item) {
	q := a.queueOf(i, it)
	a.anew(a.c, &it.Key) // a key that is forgotten by age may have left something
	a.recs = append(a.recs, a.record(it))
	p := a.arrive(a.c, q, &a.recs[len(a.recs)-1])
	a.ptrs[i-a.lo] = p
	a.rows = append(a.rows, uint64(p.queue)<<32|uint64(len(a.recs)-1))
}

// queueOf returns the queue of item i, which findQueues found or which is made now.
func (a *adder) queueOf(i int, it *store.Item) *queue {
	if q := a.into[i-a.lo]; q != nil {
		return q
	}
	if q := a.c.queues.named(it.Queue); q != nil { // an item before made it
		return q
	}
	return a.newQueue(a.c, it.Queue)
}

// write writes the rows of new items.
func (a *adder) write() {
	if a.unicode {
		a.unicodeHosts()
	}
	slices.Sort(a.rows)
	for _, row := range a.rows {
		a.setQueued(a.c, uint32(row>>32), &a.recs[uint32(row)])
	}
	a.packFresh(a.c, a.keys, a.part, a.fresh)
	for _, i := range a.part {
		if p := &a.ptrs[int(i)-a.lo]; p.queue != 0 {
			a.setPlace(a.c, &a.items[i].Key, p)
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
	q := qs.named(queue)
	return q != nil && q.Held() >= a.opt.MaxPerQueue
}

// record returns the record of an item that is new.
func (a *adder) record(it *store.Item) sched.Record {
	return sched.Record{
		Key: it.Key, URL: it.URL, Meta: it.Meta, Priority: it.Priority,
		Due: sched.MsOr(it.Due, a.now), Created: a.now,
	}
}

// requeues reports whether an item queues a known key that is not held; with EndedBefore, that depends on when the URL ended.
func (a *adder) requeues(it *store.Item) bool {
	return it.Force || !it.EndedBefore.IsZero() || a.c.queues.Respells(it)
}

// forced is a known key that an item of the batch forces, or that is marked and respelled there: its state before the part, or as an item without a queue
// recorded it. Such keys are looked up in the database inside the step, which both finds whether they are held and changes them.
type forced struct {
	found
	queued  bool   // by this part
	first   string // the first-seen URL of a duplicate
	damaged bool   // the row with its place is damaged
}

// findForced finds the known keys among those that items force or respell. It comes before
// all writes of the part, so the database can be read without a batch on top. The part ends where finding more would exceed
// its budget of rows; queues have the same budget again, or a part whose forced keys took all would do one item.
func (a *adder) findForced() error {
	respells := a.c.queues.Respells
	if a.forces == nil && (a.c.queues.Marked() == 0 || !slices.ContainsFunc(a.items[a.lo:a.hi], func(it store.Item) bool { return respells(&it) })) {
		return nil
	}
	a.forced = map[store.Key]*forced{}
	a.flush() // so that the database has the places of known URLs
	for i := a.lo; i < a.hi; i++ {
		it := &a.items[i]
		if !a.forces[it.Key] && !respells(it) || a.forced[it.Key] != nil {
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
		if rowsOfURL*len(a.forced) >= a.left.rows {
			a.endAt(i)
			return nil
		}
		f, err := a.findOne(a.c, &it.Key)
		if err != nil && !a.isDamage(err) {
			return err
		}
		a.forced[it.Key] = &forced{found: f, first: f.rec.URL, damaged: err != nil}
	}
	return nil
}

// force judges an item of a known key that this item or another forces.
func (a *adder) force(i int, it *store.Item, v *store.Verdict, f *forced) {
	v.Status = store.Duplicate
	if a.opt.WantFirst {
		if v.First = f.first; a.told == nil {
			a.told = map[int]bool{}
		}
		a.told[i] = true
	}
	switch {
	case f.damaged && a.requeues(it):
		v.Status = store.Damaged
	case !a.requeues(it) || f.held() || f.queued || it.Queue == "":
	case !it.Force && !sched.EndedBefore(it, f.state, f.rec.Ended) && !a.c.queues.Respells(it):
		if sched.Undated(it, f.state, a.s.opt.KeepURLs) {
			v.Status = store.Undated
		}
	case a.capped(it.Queue):
		v.Status = store.Full
	default:
		v.Requeued = true
		a.requeue(i, it, f)
	}
}

// requeue queues a known item that is not held.
func (a *adder) requeue(i int, it *store.Item, f *forced) {
	f.queued, f.first = true, it.URL
	respelled := !it.Force && a.c.queues.Respells(it)
	a.release(a.c, &f.found)
	a.anew(a.c, &it.Key)
	rec := a.record(it)
	rec.Respelled = respelled
	if f.text() {
		rec.Created = f.rec.Created
	} else if a.ages(a.c) {
		a.again = append(a.again, it.Key)
	}
	p := a.enqueue(a.c, a.queueOf(i, it), &rec)
	a.setPlace(a.c, &it.Key, &p)
}
