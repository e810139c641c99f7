package pebblestore

import (
	"hash/maphash"
	"strings"

	"github.com/firstseen/firstseen/store/internal/sched"
)

// This file and its neighbours queue*.go, take*.go, settle*.go, recover*.go
// are the queue side.
//
// In memory are the queues that hold something, each with its state and the
// place of its first URLs, and the leases. On disk are the URLs, in order of
// service, and the state of every queue. So memory grows with the queues in
// use and not with the URLs, and opening reads no URLs.

// scheduler is the queue side's state of the whole store. Guarded by Store.mu.
type scheduler struct {
	sched.Sched
	seq      uint64         // of the URL queued last
	token    uint64         // of the lease given last
	changed  bool           // these numbers or the defaults, so that their row is to be written
	crawls   []*crawl       // whose row is to be written
	queues   []*sched.Queue // whose row may have to be written, or which may be dropped
	touched  []*sched.Queue // by this step, to be filed at its end
	unsynced bool           // rows of this group are in the database without a sync
	loaded   int            // queues of all crawls that are in memory
	journal  stateJournal
	places   places
	retired  []*retired // to be forgotten, oldest first
	seed     maphash.Seed
}

// queueState is the queue side's state of one crawl. Guarded by Store.mu.
type queueState struct {
	*sched.Crawl
	loaded map[string]*sched.Queue // those that hold something; nil before the first
	byNum  map[uint32]*sched.Queue // the same
	ahead  map[*sched.Queue]ahead
	next   uint32 // the number of the next queue
	// names are hashes of the names of all queues there ever were. A broad crawl finds new hosts all the time. To
	// learn from the tables that a name has no row took a look at each level, and at the last one, which has no
	// filter, a block for each name: most of what a new host cost.
	names   map[uint32]struct{}
	changed bool // its row is to be written
}

// Marks of a sched.Queue.
const (
	markListed  = 1 << iota // it is in scheduler.queues
	markChanged             // its row is to be written
	markTouched             // it is in scheduler.touched
	markNew                 // it has no row yet
)

// crawlOf returns the crawl of a queue, nil when it was forgotten.
func (s *Store) crawlOf(q *sched.Queue) *crawl { return s.byNum[uint32(q.Crawl.ID)] }

// queue returns a queue of c, made if need be.
func (tx *txn) queue(c *crawl, name string) *sched.Queue {
	if q := tx.oldQueue(c, name); q != nil {
		return q
	}
	return tx.newQueue(c, name)
}

func (tx *txn) newQueue(c *crawl, name string) *sched.Queue {
	qs := &c.queues
	q := qs.NewQueue(strings.Clone(name), uint64(qs.next), nil, sched.State{}) // it may be a part of a large message
	qs.next++
	tx.changedCrawl(c)
	tx.set(appendOfQueue(nil, tableName, c.num, uint32(q.ID)), []byte(name))
	tx.s.sched.name(qs, q.Name)
	tx.load(qs, q)
	tx.changedQueue(q)
	q.Marks |= markNew
	return q
}

// oldQueue returns a queue of c, or nil if there never was one of this name.
func (tx *txn) oldQueue(c *crawl, name string) *sched.Queue {
	qs := &c.queues
	if q := qs.loaded[name]; q != nil {
		return q
	}
	if _, may := qs.names[tx.s.sched.hash(name)]; !may { // or another name has the same hash
		return nil
	}
	// The row of a queue that isn't loaded is never in a batch to come.
	tx.key = appendQueueRow(tx.key[:0], c.num, name)
	var q *sched.Queue
	err := readRow(tx.s.db, tx.key, func(row []byte) (err error) {
		q, err = parseQueue(qs.Crawl, strings.Clone(name), row)
		return err
	})
	if tx.note(err); q == nil || err != nil {
		return nil
	}
	tx.load(qs, q)
	return q
}

// numberedQueue returns the queue of c with this number, or nil.
func (tx *txn) numberedQueue(c *crawl, num uint32) *sched.Queue {
	if q := c.queues.byNum[num]; q != nil {
		return q
	}
	name := ""
	tx.note(readRow(tx.reader(), appendOfQueue(nil, tableName, c.num, num), func(row []byte) error {
		name = string(row)
		return nil
	}))
	if name == "" {
		return nil
	}
	return tx.oldQueue(c, name)
}

// name notes that there is a queue of this name.
func (sc *scheduler) name(qs *queueState, name string) {
	if qs.names == nil {
		qs.names = map[uint32]struct{}{}
	}
	qs.names[sc.hash(name)] = struct{}{}
}

func (sc *scheduler) hash(name string) uint32 { return uint32(maphash.String(sc.seed, name)) }

// load makes q known in memory. The end of the group drops it if it holds
// nothing then.
func (tx *txn) load(qs *queueState, q *sched.Queue) {
	tx.s.sched.hold(qs, q)
	tx.listQueue(q)
}

// hold keeps q in memory.
func (sc *scheduler) hold(qs *queueState, q *sched.Queue) {
	if qs.loaded == nil {
		qs.loaded, qs.byNum, qs.ahead = map[string]*sched.Queue{}, map[uint32]*sched.Queue{}, map[*sched.Queue]ahead{}
	}
	qs.loaded[q.Name], qs.byNum[uint32(q.ID)] = q, q
	sc.loaded++
}

// drop drops q from memory.
func (sc *scheduler) drop(qs *queueState, q *sched.Queue) {
	if qs.loaded[q.Name] == q { // or it was retired, and another has its name
		sc.loaded--
		delete(qs.loaded, q.Name)
	}
	delete(qs.byNum, uint32(q.ID))
	delete(qs.ahead, q)
}

func (tx *txn) listQueue(q *sched.Queue) {
	if q.Marks&markListed == 0 {
		q.Marks |= markListed
		tx.s.sched.queues = append(tx.s.sched.queues, q)
	}
}

// changedQueue has the row of q written with the group and q filed at the end
// of the step.
func (tx *txn) changedQueue(q *sched.Queue) {
	tx.changedRow(q)
	if q.Marks&markTouched == 0 {
		q.Marks |= markTouched
		tx.s.sched.touched = append(tx.s.sched.touched, q)
	}
}

// changedRow has the row of q written with the group.
func (tx *txn) changedRow(q *sched.Queue) {
	tx.listQueue(q)
	if q.Marks&markChanged == 0 {
		q.Marks |= markChanged
		if c := tx.s.crawlOf(q); c != nil {
			tx.changedCrawl(c)
		}
	}
}

func (tx *txn) changedCrawl(c *crawl) {
	if !c.queues.changed {
		c.queues.changed = true
		tx.s.sched.crawls = append(tx.s.sched.crawls, c)
	}
}

// file ends a step: queues that it changed go where they belong now.
func (tx *txn) file() {
	sc := &tx.s.sched
	now := sched.Now(tx.now)
	for _, q := range sc.touched {
		q.Marks &^= markTouched
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
