package pebblestore

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Forgetting removes keys and the rows that lead to them: by name (here), by queue (below), a whole crawl (by range deletions), or by
// age (expire.go). All but a crawl is done in parts.

// Forget implements store.Store.
//
// A crawl is forgotten immediately, whatever its size; but if it has thousands of leases, their URLs are forgotten
// before the rest, in steps. Keys are forgotten by age in whole generations: a
// generation whose last key was recorded before the time is dropped, with range deletions.
// Its rows are read once (not rewritten), to remove them from the index. So a key
// may outlive the time by up to the span of a generation. Keys held in a queue stay, and
// count as recorded again.
//
// Forgetting by age takes durable steps of a few thousand keys. So does forgetting a queue, or
// named keys, of more than a thousand URLs, and forgetting anything in all crawls. Other steps run between
// them. The first step empties a queue: URLs that are added later stay. If the call is interrupted or the
// machine stops, the rest of a queue is still forgotten; remaining keys by age or by name, and those of all
// crawls, only if the call is repeated.
func (s *Store) Forget(ctx context.Context, sel store.Selection) (int64, error) {
	if _, err := sched.CheckSelection(sel); err != nil {
		return 0, err
	}
	if !sel.Before.IsZero() || sel.Age > 0 {
		return s.forgetOld(ctx, sel)
	}
	o := &forgetOp{sel: sel}
	err := s.do(ctx, firstRows, o.apply)
	if err != nil && s.isStuck() {
		return 0, err
	}
	if err != nil {
		s.forgetLater(o.left)
	}
	return o.n, err
}

// forgetOp forgets a selection, in as many steps as it takes.
type forgetOp struct {
	sel    store.Selection // of its keys, those that are left
	from   string          // the crawl to continue with, of all
	part   int             // how many of the keys are being looked for in the crawls
	leases int             // of the crawl, still to be forgotten before it
	left   []*retired      // queues to forget before anything else
	done   bool            // nothing else is to be forgotten
	n      int64
}

func (o *forgetOp) apply(tx *txn) error {
	if tx.flush(); tx.err != nil {
		return tx.err
	}
	for len(o.left) > 0 && !tx.left.spent() {
		r := o.left[0]
		if !r.finished {
			n, err := tx.forgetSome(r)
			if err != nil {
				return err
			}
			o.n += n
		}
		if r.finished {
			o.left = o.left[1:]
		}
	}
	if len(o.left) == 0 && !o.done && !tx.left.spent() {
		if err := o.forgetCrawls(tx); err != nil {
			return err
		}
	}
	if !o.done || len(o.left) > 0 {
		return errMore
	}
	return nil
}

// forgetCrawls forgets what is selected in some crawls.
func (o *forgetOp) forgetCrawls(tx *txn) error {
	defer tx.s.pruneCrawls()
	if o.from == "" {
		o.part = min(len(o.sel.Keys), tx.left.rows)
	}
	for _, c := range tx.s.selected(o.sel.Crawl, o.from) {
		if o.from = c.name; tx.left.spent() {
			return nil
		}
		tx.left.rows--
		n, all, err := o.forget(tx, c)
		if o.n += n; err != nil || !all {
			return err
		}
	}
	o.from = ""
	o.sel.Keys = o.sel.Keys[o.part:]
	o.done = len(o.sel.Keys) == 0
	return nil
}

// forget forgets what is selected in a crawl, and returns the number of keys and whether that was all.
func (o *forgetOp) forget(tx *txn, c *crawl) (n int64, all bool, err error) {
	switch {
	case o.sel.Keys != nil:
		n, err = tx.forgetKeys(c, o.sel.Keys[:o.part])
		return n, true, err
	case o.sel.Queue != "":
		n, left, err := tx.forgetQueue(c, o.sel.Queue)
		o.left = append(o.left, slices.DeleteFunc(left, func(r *retired) bool { return r.finished })...)
		return n, true, err
	}
	// A few range deletions remove everything else of a crawl, but the rows of its leases are among those of all crawls. If
	// there are many, they are forgotten first: as many as there are now, since more may be issued meanwhile.
	if n := len(c.queues.Leases); o.leases == 0 || o.leases > n {
		o.leases = n
	}
	if o.leases > mostRows {
		keys := make([]store.Key, 0, tx.left.rows)
		for k := range c.queues.Leases {
			if keys = append(keys, k); len(keys) == cap(keys) {
				break
			}
		}
		o.leases -= len(keys)
		n, err = tx.forgetKeys(c, keys)
		return n, false, err
	}
	o.leases = 0
	return tx.forgetCrawl(c), true, nil
}

// forgetCrawl drops a crawl with all it has; pruneCrawls must follow.
func (tx *txn) forgetCrawl(c *crawl) int64 {
	n := c.count()
	for _, g := range c.gens {
		tx.dropGeneration(g)
	}
	tx.forgetQueues(c)
	tx.delete(appendNumbered(nil, tableCrawl, c.num))
	delete(tx.s.crawls, c.name)
	delete(tx.s.byNum, c.num)
	c.gone = true
	if x := c.seen.x; x != nil {
		c.seen.x = nil
		tx.s.keeper.releasing.Go(x.Close) // which takes long for a large one
	}
	c.seen.close()
	return n
}

// forgetKeys removes single keys. The rows are looked for first, so that an
// error leaves everything as it was.
func (tx *txn) forgetKeys(c *crawl, keys []store.Key) (int64, error) {
	tx.left.rows -= len(keys)
	in, err := tx.s.recordedIn(c, keys)
	if err != nil {
		return 0, err
	}
	list := make([]sought, len(in))
	for i := range in {
		list[i].key = in[i].key
	}
	if err := tx.findAll(c, list); err != nil {
		return 0, err
	}
	for _, r := range tx.s.sched.retired {
		if r.q.crawl() == c {
			r.since = 0 // its rows stay, and one of its keys may be recorded again without a place
		}
	}
	for i := range list {
		f, k := &list[i].found, &list[i].key
		tx.release(c, f)
		if f.lease != nil || f.ptr.queue != 0 {
			tx.deletePlace(c, k)
		}
		tx.dropKey(c, &in[i])
	}
	return int64(len(list)), nil
}

// dropKey removes a key.
func (tx *txn) dropKey(c *crawl, r *recorded) {
	tx.anew(c, &r.key)
	tx.s.texts.drop(c.num, &r.key)
	c.seen.remove(&r.key)
	tx.kill(r)
}

// forgetQueues removes the queue rows and state of a whole crawl, within a
// Forget; forgetCrawl removes its keys.
func (tx *txn) forgetQueues(c *crawl) {
	qs := &c.queues
	tx.delete(appendNumbered(nil, tableCrawlQueues, c.num))
	qs.changed = false
	if qs.next == 1 {
		return // it never had a queue
	}
	for _, leases := range []map[store.Key]*sched.Lease{qs.Leases, qs.Overtaken} {
		for _, l := range leases {
			if !l.Queue.Retired() { // or it is below
				tx.deleteLease(l)
			}
		}
	}
	for _, l := range tx.s.sched.closed {
		if queueOf(l.Queue).crawl() == c {
			tx.deleteLease(l)
		}
	}
	qs.UnmarkAll()
	tx.s.sched.loaded -= qs.loaded
	qs.loaded, qs.pages, qs.names, qs.twins = 0, nil, nil, nil // without a look at each
	for _, table := range []byte{tablePlace, tableOrder, tableQueue, tableName, tableDone, tableRetired, tableMark} {
		tx.deleteRange(appendNumbered(nil, table, c.num), afterNumbered(table, c.num))
	}
	for _, r := range slices.Clone(tx.s.sched.retired) {
		if r.q.crawl() == c {
			for _, l := range r.q.Leases(math.MaxInt64) {
				tx.deleteLease(l)
			}
			tx.s.sched.finish(r)
		}
	}
	qs.Restore(sched.Counts{}) // the scheduler drops a crawl that holds nothing
}

// # Forgetting a queue
//
// A queue may hold more than one step can forget. So the first step moves the name to
// an empty queue with another number, which takes new URLs from then on, and retires the
// old one: it is no longer served, and a row marks it as to be forgotten. Further steps
// forget its keys, some at a time. After a crash the row is still there, and the next Open
// continues. A key is new again after its step.
//
// Until then a retired queue's key counts as seen and not held, also if it is leased. If it is forced
// or queued again, its place is in another queue and the key stays.

// retired is a queue that is being forgotten. It is the committer's.
type retired struct {
	q *queue
	// since is the row of the journal of places from which on all rows are newer than the retirement; 0: not known, or a key
	// that was queued elsewhere since has lost its place.
	since uint64
	// queued and ended are the rows to continue from, nil: the first. Finding that again would pass by
	// all that were deleted.
	queued, ended []byte
	finished      bool
}

// retire takes q out of service and moves its name to an empty queue.
func (tx *txn) retire(c *crawl, q *queue) {
	tx.s.sched.drop(q)
	heir := tx.newQueue(c, q.Name)
	heir.SetSettings(q.Settings())
	heir.SetPast(sched.Past{LastTake: q.LastTake, LastDelay: q.LastDelay, NotBefore: q.NotBefore, NotBeforeAt: q.NotBeforeAt})
	q.Retire()
	q.marks = 0
	tx.delete(appendOfQueue(nil, tableName, c.num, q.id))
	tx.set(appendOfQueue(nil, tableRetired, c.num, q.id), []byte(q.Name))
	places := &tx.s.sched.places
	places.close(tx)
	tx.s.sched.retired = append(tx.s.sched.retired, &retired{q: q, since: places.next})
}

// forgetQueue begins to forget a queue, and continues earlier calls. It returns how many
// keys it forgot, and the retired queues that further steps must forget.
func (tx *txn) forgetQueue(c *crawl, name string) (n int64, left []*retired, err error) {
	q, err := tx.oldQueue(c, name)
	if err != nil {
		return 0, nil, err
	}
	if q != nil && q.Used() {
		tx.retire(c, q)
	}
	for _, r := range tx.s.sched.retired {
		if r.q.crawl() == c && r.q.Name == name {
			left = append(left, r)
		}
	}
	if len(left) == 1 { // a small one goes in one step
		n, err = tx.forgetSome(left[0])
	}
	return n, left, err
}

// remains are some leases and rows of a retired queue.
type remains struct {
	leases, over  []*sched.Lease // over: overtaken, so that their keys may stay
	list          []sought
	ranges        [][2][]byte // of the rows
	queued, ended []byte      // how far it came among the rows
}

// forgetSome forgets some of a retired queue, and returns how many keys.
func (tx *txn) forgetSome(r *retired) (int64, error) {
	some, err := tx.remains(r)
	if err != nil {
		return 0, err
	}
	found, err := tx.ownedBy(r, len(some.leases), some.list)
	if err != nil {
		return 0, err
	}
	for _, l := range some.leases {
		tx.deleteLease(l)
		l.End()
	}
	for _, l := range some.over {
		tx.deleteLease(l)
		l.Close()
	}
	for _, rows := range some.ranges {
		tx.deleteRange(rows[0], rows[1])
	}
	for i := range found { // a table after the other
		tx.deletePlace(r.q.crawl(), &found[i].key)
	}
	for i := range found {
		tx.dropKey(r.q.crawl(), &found[i])
	}
	tx.changedCrawl(r.q.crawl())
	r.queued, r.ended = some.queued, some.ended
	if !tx.left.spent() {
		tx.delete(appendOfQueue(nil, tableRetired, r.q.crawl().num, r.q.id))
		tx.s.sched.finish(r)
	}
	return int64(len(found)), nil
}

// finish removes r from the list of retired queues.
func (sc *scheduler) finish(r *retired) {
	r.finished = true
	sc.retired = slices.DeleteFunc(sc.retired, func(other *retired) bool { return other == r })
}

// retiring reports whether a queue of c is being forgotten.
func (sc *scheduler) retiring(c *crawl) bool {
	return slices.ContainsFunc(sc.retired, func(r *retired) bool { return r.q.crawl() == c })
}

// remains reads what a step may forget. It changes nothing.
func (tx *txn) remains(r *retired) (some *remains, err error) {
	some = &remains{}
	for _, l := range r.q.Leases(int64(max(0, tx.left.rows))) {
		if tx.left.rows--; l.Over() {
			some.over = append(some.over, l)
			continue
		}
		some.leases = append(some.leases, l)
		some.list = append(some.list, sought{key: l.Key})
	}
	if some.queued, err = some.read(tx, r, tableOrder, r.queued); err == nil {
		some.ended, err = some.read(tx, r, tableDone, r.ended)
	}
	return some, err
}

// read takes the next rows of a table, and returns the row to continue from.
func (some *remains) read(tx *txn, r *retired, table byte, from []byte) ([]byte, error) {
	lo, hi := queueBounds(table, r.q.crawl().num, r.q.id)
	if from != nil {
		lo = from
	}
	n := len(some.list)
	next, err := tx.s.walk(lo, hi, &tx.left, func(key, value []byte) error {
		k, err := keyOf(key, value)
		some.list = append(some.list, sought{key: k})
		return err
	})
	if len(some.list) > n {
		some.ranges = append(some.ranges, [2][]byte{lo, next})
	}
	return next, err
}

// ownedBy returns the keys of those URLs whose place is in the queue. Others were queued elsewhere
// since, or forgotten.
//
// When the queue was retired, the place of each URL in a row was there. So while the journal has all places that were
// written since, it says without a read which URLs were queued elsewhere: those whose latest place is in a newer row. (To
// read the place of each took nine tenths of the time of forgetting a queue.) A lease may have lost its key since, so it is looked up.
func (tx *txn) ownedBy(r *retired, leases int, list []sought) ([]recorded, error) {
	c, places := r.q.crawl(), &tx.s.sched.places
	c.locate(tx.s, list)
	owned := make([]store.Key, 0, len(list))
	read := list
	if r.since > 0 && places.oldest() <= r.since {
		read = list[:leases]
		for i := range list[leases:] {
			if l := &list[leases+i]; l.lease == nil && l.row < r.since {
				owned = append(owned, l.key)
			}
		}
	}
	placed, err := findPlaces(tx.reader(), c.num, read)
	if err != nil {
		return nil, err
	}
	for _, l := range placed {
		if l.ptr.queue == r.q.id {
			owned = append(owned, l.key)
		}
	}
	return tx.s.recordedIn(c, owned)
}

// forgetLater forgets the rest of queues in the background, until the store closes or fails.
func (s *Store) forgetLater(left []*retired) {
	if len(left) == 0 {
		return
	}
	done, err := s.linger()
	if err != nil {
		return
	}
	go func() {
		defer done()
		_ = s.do(context.Background(), firstRows, (&forgetOp{left: left, done: true}).apply) // the next Forget of the queue returns the error
	}()
}

// loadRetired reads which queues are to be forgotten, and takes their leases from the
// map.
func (s *Store) loadRetired(leases map[queueNum][]leaseRow, now int64) error {
	return s.scan([]byte{tableRetired}, rowBound(tableRetired), func(key, value []byte) error {
		c := s.numbered(key, 9)
		if c == nil || len(key) != 9 {
			return fmt.Errorf("cannot load the row of a queue to forget, %x; got no such crawl: %w", key, store.ErrCorrupt)
		}
		num := queueNumber(key)
		q := newQueue(c, string(value), num, 0)
		q.Retire()
		at := queueNum{c.num, num}
		for _, l := range leases[at] {
			l.restore(q, now)
		}
		delete(leases, at)
		s.sched.retired = append(s.sched.retired, &retired{q: q})
		return nil
	})
}
