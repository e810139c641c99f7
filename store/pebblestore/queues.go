package pebblestore

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Memory holds the leases and the queues that hold something, each with its state, the place of its first URL of each priority
// and a few URLs read ahead. The disk has the URLs, in order of service, and the state of every queue there ever was. So
// memory grows with the queues in use, not with the URLs, and Open reads no URLs and few queues. Package sched decides which queue is
// served; this package keeps the contents.
//
// A queue goes through these states:
//
//	no row    its name was never used: crawlQueues.names shows that without a read
//	row       it holds nothing, or was not loaded since Open (load.go); its H row has counts and settings
//	loaded    it holds something, or a step needs it: it was made, or read from its row. The end of the group drops it if it holds nothing
//	retired   it is being forgotten: another queue has its name (forget.go)
//
// Everything here is guarded by Store.mu and written by the committer alone.

// scheduler is the queue side of the whole store.
type scheduler struct {
	sched.Sched
	seq     uint64   // of the URL queued last
	token   uint64   // of the lease given last
	changed bool     // these numbers or the defaults, so that their row is to be written
	crawls  []*crawl // whose row is to be written
	queues  []*queue // whose row may have to be written, or which may be dropped
	touched []*queue // by this step, to be filed at its end
	loaded  int      // queues of all crawls that are in memory
	journal stateJournal
	places  places
	retired []*retired              // to be forgotten, oldest first
	closed  []*sched.Lease          // overtaken leases whose time is over, until the next step removes their rows
	evicted atomic.Int64            // marks evicted by newer ones, since Open
	unread  []byte                  // the next queue's row to load, while Loading
	states  map[string]journalState // that the journal has of queues, by the key of their row; nil when all are loaded
}

// crawlQueues is the queue side of one crawl.
type crawlQueues struct {
	*sched.Crawl
	next uint32 // the number of the next queue
	// The queues in memory are found by number, in pages, and by name: names has their numbers by the hash of the name. Two maps of pointers
	// to them, by number and by name, took 66 bytes a queue instead of 23, and the garbage collector came to each
	// queue three times, in the order of hashes; pages are in the order in which queues are made. Where few of many are in memory, each has a
	// page of its own: 99 bytes a queue instead of 58. With pages of 32 it was 291, and 20 instead of 23 where all are.
	loaded int              // how many
	pages  map[uint32]*page // nil before the first
	// names also has the hashes of queues that left memory, with number 0, 14 bytes each. A broad crawl finds new hosts all the time. Finding
	// out from the tables that a name has no row took a look at each level, and in the last one, which has no
	// filter, a block for each name: most of the cost of a new host.
	names   map[uint32]uint32
	twins   map[string]*queue // those in memory that names doesn't lead to, as another has the hash: one in a thousand of 10 million
	seed    maphash.Seed
	changed bool // its row is to be written
}

// page has the queues in memory of pageLen numbers.
type page [pageLen]*queue

const pageLen = 8

// queue is a queue in memory. The scheduler's part has a way back to it: see queueOf.
type queue struct {
	sched.Queue
	journal  uint64 // 1 + the number of the journal's row with its latest state; 0: its own row has that
	ahead    *ahead // nil for none
	id       uint32 // among those of the crawl, never used again
	marks    uint8
	headless uint8 // bit p: the first URL of priority p is gone
}

// Marks of a queue.
const (
	markListed  = 1 << iota // it is in scheduler.queues
	markChanged             // its row is to be written
	markTouched             // it is in scheduler.touched
	markNew                 // it has no row yet
)

// newQueue returns a stored queue of c, not loaded.
func newQueue(c *crawl, name string, id uint32, queued int64) *queue {
	q := &queue{Queue: c.queues.NewQueue(name, queued), id: id}
	q.Owner = q
	return q
}

func queueOf(q *sched.Queue) *queue { return q.Owner.(*queue) }

func (q *queue) crawl() *crawl { return q.Crawl.Owner.(*crawl) }

// queue returns a queue of c, made if need be.
func (tx *txn) queue(c *crawl, name string) (*queue, error) {
	q, err := tx.oldQueue(c, name)
	if q == nil && err == nil {
		q = tx.newQueue(c, name)
	}
	return q, err
}

func (tx *txn) newQueue(c *crawl, name string) *queue {
	qs := &c.queues
	q := newQueue(c, strings.Clone(name), qs.next, 0) // it may be a part of a large message
	qs.next++
	tx.changedCrawl(c)
	tx.set(appendOfQueue(nil, tableName, c.num, q.id), []byte(name))
	tx.load(q)
	tx.changedQueue(q)
	q.marks |= markNew
	return q
}

// oldQueue returns a queue of c, or nil if there never was one of this name.
func (tx *txn) oldQueue(c *crawl, name string) (q *queue, err error) {
	qs := &c.queues
	if q := qs.named(name); q != nil {
		return q, nil
	}
	if !qs.mayHave(tx.s, name) {
		return nil, nil
	}
	// The row of a queue that isn't loaded is never in a batch to come.
	tx.key = appendQueueRow(tx.key[:0], c.num, name)
	err = readRow(tx.s.db, tx.key, func(row []byte) (err error) {
		q, err = tx.s.stored(c, strings.Clone(name), tx.key, row)
		return err
	})
	if q == nil || err != nil {
		return nil, err
	}
	if tx.load(q); !q.Idle() {
		tx.touchQueue(q) // it was not loaded before
	}
	return q, nil
}

// stored returns the queue of a row, with the state that the journal has of it if that is newer. It is not loaded.
func (s *Store) stored(c *crawl, name string, key, value []byte) (*queue, error) {
	st, journaled := newer(s.sched.states, key, value)
	q, err := parseQueue(c, name, st.value)
	if journaled && err == nil {
		q.journal = st.row + 1
	}
	return q, err
}

// numberedQueue returns the queue of c with this number, or nil.
func (tx *txn) numberedQueue(c *crawl, num uint32) (*queue, error) {
	if q := c.queues.numbered(num); q != nil {
		return q, nil
	}
	name := ""
	err := readRow(tx.reader(), appendOfQueue(nil, tableName, c.num, num), func(row []byte) error {
		name = string(row)
		return nil
	})
	if name == "" || err != nil {
		return nil, err
	}
	return tx.oldQueue(c, name)
}

// named returns the queue of this name if it is in memory, or nil.
func (qs *crawlQueues) named(name string) *queue {
	if q := qs.likely(name); q != nil && q.Name == name {
		return q
	}
	return qs.twins[name]
}

// likely returns the queue in memory whose name has the hash of this one, or nil.
func (qs *crawlQueues) likely(name string) *queue { return qs.numbered(qs.names[qs.hash(name)]) }

// numbered returns the queue of this number if it is in memory, or nil.
func (qs *crawlQueues) numbered(num uint32) *queue {
	if p := qs.pages[num/pageLen]; p != nil {
		return p[num%pageLen]
	}
	return nil
}

// mayHave reports false for a name that is not in memory if no queue ever had it. A hash collision makes it report true.
func (qs *crawlQueues) mayHave(s *Store, name string) bool {
	_, may := qs.names[qs.hash(name)]
	return may || s.sched.Loading
}

func (qs *crawlQueues) hash(name string) uint32 { return uint32(maphash.String(qs.seed, name)) }

// name notes that there is a queue of this name, which may be in memory, and returns its place in names.
func (qs *crawlQueues) name(name string) uint32 {
	h := qs.hash(name)
	if _, known := qs.names[h]; !known {
		if qs.names == nil {
			qs.names = map[uint32]uint32{}
		}
		qs.names[h] = 0
	}
	return h
}

// load makes q known in memory. The end of the group drops it if it holds
// nothing then.
func (tx *txn) load(q *queue) {
	tx.s.sched.hold(q)
	tx.listQueue(q)
}

// hold keeps q in memory.
func (sc *scheduler) hold(q *queue) {
	qs := &q.crawl().queues
	p := qs.pages[q.id/pageLen]
	if p == nil {
		if p = new(page); qs.pages == nil {
			qs.pages = map[uint32]*page{}
		}
		qs.pages[q.id/pageLen] = p
	}
	if p[q.id%pageLen] == nil { // or rows are damaged
		p[q.id%pageLen] = q
	}
	if h := qs.name(q.Name); qs.names[h] == 0 {
		qs.names[h] = q.id
	}
	if qs.named(q.Name) != q {
		if qs.twins == nil {
			qs.twins = map[string]*queue{}
		}
		qs.twins[q.Name] = q
	}
	qs.loaded++
	if sc.loaded++; q.journal > 0 {
		sc.journal.has(q)
	}
}

// drop drops q from memory.
func (sc *scheduler) drop(q *queue) {
	qs := &q.crawl().queues
	q.ahead = nil
	if qs.named(q.Name) != q { // it was dropped before, and may have been read again
		return
	}
	qs.loaded--
	sc.loaded--
	if qs.numbered(q.id) == q { // or rows are damaged
		p := qs.pages[q.id/pageLen]
		if p[q.id%pageLen] = nil; *p == (page{}) {
			delete(qs.pages, q.id/pageLen)
		}
	}
	delete(qs.twins, q.Name)
	if h := qs.hash(q.Name); qs.names[h] == q.id {
		qs.names[h] = 0
	}
}

func (tx *txn) listQueue(q *queue) {
	if q.marks&markListed == 0 {
		q.marks |= markListed
		tx.s.sched.queues = append(tx.s.sched.queues, q)
	}
}

// changedQueue has the row of q written with the group and q filed at the end
// of the step.
func (tx *txn) changedQueue(q *queue) {
	tx.changedRow(q)
	tx.touchQueue(q)
}

// touchQueue has q filed at the end of the step, and dropped with the group if it is idle.
func (tx *txn) touchQueue(q *queue) {
	tx.listQueue(q)
	if q.marks&markTouched == 0 {
		q.marks |= markTouched
		tx.s.sched.touched = append(tx.s.sched.touched, q)
	}
}

// changedRow has the row of q written with the group.
func (tx *txn) changedRow(q *queue) {
	tx.listQueue(q)
	if q.marks&markChanged == 0 {
		q.marks |= markChanged
		tx.changedCrawl(q.crawl())
	}
}

func (tx *txn) changedCrawl(c *crawl) {
	if !c.queues.changed && !c.gone {
		c.queues.changed = true
		tx.s.sched.crawls = append(tx.s.sched.crawls, c)
	}
}

// file ends a step: it files the queues that changed, and removes the rows of expired overtaken leases.
func (tx *txn) file() {
	sc := &tx.s.sched
	for _, l := range sc.closed {
		if q := queueOf(l.Queue); !q.crawl().gone { // or they went with it
			tx.deleteLease(l)
			tx.listQueue(q)
		}
	}
	sc.closed = nil
	now := sched.Now(tx.now)
	for _, q := range sc.touched {
		q.marks &^= markTouched
		tx.findHeads(q)
		q.File(now)
	}
	clear(sc.touched)
	sc.touched = sc.touched[:0]
}

// after returns the number after the last one, which is seq or token.
func (sc *scheduler) after(last *uint64) uint64 {
	sc.changed = true
	*last++
	return *last
}

// enqueue queues a URL that is not held, as the last to arrive, and returns
// its place, which is the caller's to write.
func (tx *txn) enqueue(c *crawl, q *queue, rec *sched.Record) pointer {
	p := tx.arrive(c, q, rec)
	tx.setQueued(c, p.queue, rec)
	return p
}

// arrive is enqueue without the row of the URL.
func (tx *txn) arrive(c *crawl, q *queue, rec *sched.Record) pointer {
	rec.Seq = tx.s.sched.after(&tx.s.sched.seq)
	at := rec.Place()
	tx.s.texts.put(c.num, &rec.Key, rec.URL)
	if a := q.ahead; a != nil && a.priority == rec.Priority && a.before(at) {
		q.ahead = nil // it would be missing among them
	}
	if h := q.Head(rec.Priority); at.Due < h.Due {
		q.SetHead(rec.Priority, at)
	}
	q.Add(1)
	tx.changedQueue(q)
	return pointer{q.id, rec.Priority, at}
}

func (tx *txn) setQueued(c *crawl, queue uint32, rec *sched.Record) {
	tx.key = appendOrderRow(tx.key[:0], c.num, queue, rec.Priority, rec.Place())
	tx.value = appendRecord(tx.value[:0], rec)
	tx.set(tx.key, tx.value)
}

// release takes a known URL out of its queue, its lease, or the completed or
// dropped ones. Its record is then the caller's.
func (tx *txn) release(c *crawl, f *found) {
	q := f.queue
	switch f.state {
	case store.Queued:
		tx.singleDelete(appendOrderRow(nil, c.num, q.id, f.rec.Priority, f.ptr.at))
		q.Add(-1)
		q.ahead = nil
		if q.Head(f.rec.Priority) == f.ptr.at {
			q.headless |= 1 << f.rec.Priority
		}
	case store.Leased:
		tx.deleteLease(f.lease)
		f.lease.End()
	case store.Done, store.Dropped:
		q.End(f.state, -1)
		tx.delete(appendDoneRow(nil, c.num, q.id, &f.rec.Key))
	default:
		return
	}
	tx.s.texts.drop(c.num, &f.rec.Key)
	tx.changedQueue(q)
}

// anew begins a new round of a URL that is not held: its mark and overtaken lease are removed.
func (tx *txn) anew(c *crawl, k *store.Key) {
	tx.removeMark(c.queues.Unmark(k))
	tx.closeOvertaken(c, k)
}

func (tx *txn) removeMark(m *sched.Mark) {
	if m != nil {
		tx.delete(appendMarkRow(nil, tx.s.crawls[m.Crawl.Name].num, m.Num))
	}
}

// mark marks a key that was dropped.
func (tx *txn) mark(c *crawl, k *store.Key, spelling uint32) {
	m, went := c.queues.Mark(*k, spelling, tx.s.opt.marks)
	for _, old := range went {
		tx.removeMark(old)
	}
	tx.s.sched.evicted.Add(int64(len(went)))
	tx.set(appendMarkRow(nil, c.num, m.Num), binary.BigEndian.AppendUint32(k[:], spelling))
}

// closeOvertaken ends the overtaken lease of a key, if it has one.
func (tx *txn) closeOvertaken(c *crawl, k *store.Key) {
	if l := c.queues.Overtaken[*k]; l != nil {
		tx.deleteLease(l)
		l.Close()
		tx.touchQueue(queueOf(l.Queue))
	}
}

// findHeads finds the first URL of each priority of a queue whose first was removed: once per
// step, however many were removed. It searches from the old head on, which stays if rows are damaged:
// a lease then meets the damage.
func (tx *txn) findHeads(q *queue) {
	for ; q.headless != 0; q.headless &= q.headless - 1 {
		p := uint8(bits.TrailingZeros8(q.headless))
		head, err := tx.firstFrom(q, p)
		if err == nil {
			q.SetHead(p, head)
		} else if !tx.isDamage(err) {
			tx.fail(err)
		}
	}
}

// firstFrom returns the place of the first existing URL of a priority, from its head on.
func (tx *txn) firstFrom(q *queue, priority uint8) (head sched.Head, err error) {
	it, err := tx.reader().NewIter(bounds(appendOrderRow(nil, q.crawl().num, q.id, priority, q.Head(priority)), appendLevelEnd(nil, q.crawl().num, q.id, priority)))
	if err != nil {
		return head, err
	}
	if head.Due = sched.Never; it.First() {
		_, head, err = orderPlace(it.Key())
	}
	return head, errors.Join(err, it.Error(), it.Close())
}

// writeQueues adds the rows of the queues and crawls that changed, or a journal
// row for many, and drops from memory the queues that hold nothing. The batch is
// committed right after, so that a dropped queue can be read back at once.
func (tx *txn) writeQueues() {
	s := tx.s
	sc := &s.sched
	tx.writePlaces()
	journaled := len(sc.queues) >= s.opt.journalFrom
	rows := sc.queues[:0] // of queues that get rows
	for _, q := range sc.queues {
		switch {
		case q.crawl().gone || q.Retired(): // forgotten in the meantime
			continue
		case q.marks&markChanged == 0:
		case journaled && q.marks&markNew == 0 && q.Held() > 0: // or it needs a row, to be found by its name
			tx.journalQueue(q)
		default:
			rows = append(rows, q)
		}
		q.marks = 0
		if q.Idle() {
			q.Drop()
			sc.drop(q)
		}
	}
	// Pebble takes in sorted rows faster.
	slices.SortFunc(rows, func(a, b *queue) int { return strings.Compare(a.Name, b.Name) })
	for _, q := range rows {
		tx.setQueue(q)
	}
	tx.writeJournal()
	clear(sc.queues)
	sc.queues = sc.queues[:0]
	for _, c := range sc.crawls {
		if c.queues.changed && !c.gone {
			tx.set(appendNumbered(nil, tableCrawlQueues, c.num), appendCrawlQueues(nil, &c.queues))
		}
		c.queues.changed = false
	}
	clear(sc.crawls)
	sc.crawls = sc.crawls[:0]
	if sc.changed {
		sc.changed = false
		tx.set([]byte{tableCrawlQueues}, appendScheduler(nil, sc))
	}
}

// setQueue writes the row of a queue.
func (tx *txn) setQueue(q *queue) {
	q.journal = 0
	tx.key = appendQueueRow(tx.key[:0], q.crawl().num, q.Name)
	tx.value = appendQueue(tx.value[:0], q, tx.s.sched.journal.next)
	tx.set(tx.key, tx.value)
}

// Configure implements store.Store.
func (s *Store) Configure(ctx context.Context, crawl, queue string, ch store.QueueChange) error {
	crawl, err := sched.CheckConfigure(crawl, queue, &ch)
	if err != nil {
		return err
	}
	return s.do(ctx, firstRows, (&configureOp{crawl: crawl, queue: queue, change: ch}).apply)
}

// Recount sets the counts Completed, Dropped, Fetched and Failed of a crawl's queues, which it makes if they are missing. A migration copies
// them into the new store, so that limits continue.
func (s *Store) Recount(ctx context.Context, crawl string, queues []store.QueueInfo) error {
	return s.do(ctx, firstRows, func(tx *txn) error {
		c := tx.crawl(crawl, true)
		for i := range queues {
			q, err := tx.queue(c, queues[i].Name)
			if err != nil {
				return err
			}
			q.Recount(&queues[i])
			tx.changedQueue(q)
		}
		return nil
	})
}

// configureOp makes a change, and then refiles the queues that it may affect.
type configureOp struct {
	crawl, queue string
	change       store.QueueChange
	made         bool
	from         string // the crawl to continue with, of all, and the number of the queue in it
	num          uint32
}

func (o *configureOp) apply(tx *txn) error {
	if !o.made {
		if err := o.make(tx); err != nil || o.queue != "" || !sched.Refiles(&o.change) {
			return err
		}
		o.made = true
	}
	return o.refile(tx)
}

// make makes the change.
func (o *configureOp) make(tx *txn) error {
	s := tx.s
	if o.crawl == sched.AnyCrawl {
		sched.ChangeCrawl(&s.sched.Defaults, &o.change)
		s.sched.changed = true
		return nil
	}
	if err := o.exists(tx); err != nil {
		return err
	}
	c := tx.crawl(o.crawl, true)
	if o.queue == "" {
		sched.ChangeCrawl(&c.queues.Settings, &o.change)
		tx.changedCrawl(c)
		return nil
	}
	q, err := tx.queue(c, o.queue)
	if err != nil {
		return err
	}
	q.Configure(&o.change, sched.Now(tx.now))
	tx.changedQueue(q)
	return nil
}

// CrawlSettings implements store.Store.
func (s *Store) CrawlSettings(ctx context.Context, crawl string) (store.CrawlSettings, error) {
	crawl, err := sched.CrawlNames(crawl)
	if err != nil {
		return store.CrawlSettings{}, err
	}
	return ask(ctx, s, func(tx *txn) (set store.CrawlSettings, err error) {
		if c := s.crawls[crawl]; c != nil {
			set = c.queues.Settings
		} else if crawl == sched.AnyCrawl {
			set = s.sched.Defaults
		}
		return set, nil
	})
}

// exists returns ErrNotFound if the change is for something that must exist and does not: the queue holds and has counted
// nothing, or, with queue "", the crawl is not known.
func (o *configureOp) exists(tx *txn) (err error) {
	c := tx.s.crawls[o.crawl]
	has := c != nil
	if has && o.queue != "" {
		var q *queue
		q, err = tx.oldQueue(c, o.queue)
		has = q != nil && q.Used()
	}
	if err == nil && !has && o.change.MustExist {
		err = fmt.Errorf("cannot configure queue %q of crawl %q: %w", o.queue, o.crawl, store.ErrNotFound)
	}
	return err
}

// refile files some queues again, in order of number, so no list of them is needed. A queue that is read or made after the
// change is filed by it anyway.
func (o *configureOp) refile(tx *txn) error {
	var some []*sched.Queue
	defer func() { sched.Refile(some, sched.Now(tx.now)) }()
	for _, c := range tx.s.selected(o.crawl, o.from) {
		if c.name != o.from {
			o.from, o.num = c.name, 0
		}
		for ; o.num < c.queues.next; o.num++ {
			if tx.left.spent() {
				return errRest
			}
			tx.left.rows--
			if q := c.queues.numbered(o.num); q != nil {
				some = append(some, &q.Queue)
			}
		}
	}
	return nil
}

func bounds(lo, hi []byte) *pebble.IterOptions {
	return &pebble.IterOptions{LowerBound: lo, UpperBound: hi}
}

// isDamage reports whether a step's error is damage to rows, and notes that damage: the step then fails for that URL or
// queue only. Any other error fails the store.
func (tx *txn) isDamage(err error) bool {
	if err = corruption(err); !errors.Is(err, store.ErrCorrupt) {
		return false
	}
	tx.s.damage.note(cmp.Or(pathOf(err), "rows"), err)
	return true
}
