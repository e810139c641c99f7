package pebblestore

import (
	"context"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Take implements store.Store.
func (s *Store) Take(ctx context.Context, req store.TakeRequest) (store.Taken, error) {
	crawl, err := sched.CrawlOfQueue(req.Crawl, req.Queue)
	if err != nil {
		return store.Taken{}, err
	}
	o := &takeOp{crawl: crawl, req: req}
	if err := s.do(ctx, o); err != nil {
		return store.Taken{}, err
	}
	return o.taken, nil
}

// takeOp reads the queues in the database alone, which flush brings up to date: within the
// step no queue is read twice.
type takeOp struct {
	crawl string
	req   store.TakeRequest
	taken store.Taken

	*txn
	r      sched.Request
	it     *pebble.Iterator
	lo, hi []byte // its bounds
	given  []*sched.Lease
	// room is how many more bytes may be leased of the queue that is served.
	room int64
}

func (o *takeOp) weight() int { return min(max(1, o.req.MaxURLs), 1<<16) }

func (o *takeOp) apply(tx *txn) error {
	tx.flush()
	o.txn, o.r = tx, sched.NewRequest(o.req, sched.Now(tx.now))
	next, err := o.take()
	tx.note(err)
	// After all other rows of the step: Pebble's write buffer takes in a row next to the one before
	// it without a search.
	for _, l := range o.given {
		tx.writeLease(l)
	}
	if o.it != nil {
		tx.note(o.it.Close())
	}
	tx.file()
	o.taken.Next = sched.Time(next)
	return nil
}

func (t *takeOp) take() (int64, error) {
	if t.crawl == sched.AnyCrawl {
		return t.s.sched.Take(nil, t.r, t.serve)
	}
	c := t.s.crawls[t.crawl]
	if c == nil {
		return sched.Never, nil
	}
	qs := &c.queues
	if t.req.Queue == "" {
		return t.s.sched.Take(qs.Crawl, t.r, t.serve)
	}
	if q := qs.loaded[t.req.Queue]; q != nil {
		return t.s.sched.TakeFrom(q, t.r, t.serve)
	}
	return sched.Never, nil
}

// serve leases URLs of a queue: those whose lease ran out, then those due, highest
// priority first.
func (t *takeOp) serve(q *sched.Queue, n int, room int64) (got int, bytes int64, err error) {
	c := t.s.crawlOf(q)
	t.room = room
	for ; got < n && t.room > 0 && q.Expired() != nil; got++ {
		t.renew(q.Expired())
	}
	for got < n && t.room > 0 {
		priority, ok := q.DueLevel(t.r.Now)
		if !ok {
			break
		}
		k, err := t.level(c, q, priority, n-got)
		if err != nil {
			return got, room - t.room, err
		}
		got += k
	}
	if got > 0 {
		t.changedRow(q)
	}
	return got, room - t.room, nil
}

// renew leases again a URL whose lease ran out.
func (t *takeOp) renew(l *sched.Lease) {
	if l.Cut {
		l.Record = t.readTexts(t.s.db, l)
	}
	t.deleteLease(l)
	l.Renew(t.s.sched.after(&t.s.sched.token), t.r.Now, t.r.Until)
	l.Rewritten = false
	t.give(l)
}

// give hands out a lease.
func (t *takeOp) give(l *sched.Lease) {
	l.Attempts++
	t.room -= sched.Size(&l.Record)
	t.given = append(t.given, l)
	t.taken.Leases = append(t.taken.Leases, store.Lease{Entry: l.Entry(l.Record), Token: l.Token})
}

// level leases up to n due URLs of one priority, and sets the new head.
func (t *takeOp) level(c *crawl, q *sched.Queue, priority uint8, n int) (int, error) {
	rows, err := t.rows(c, q, priority, n)
	if err != nil {
		return 0, err
	}
	got := 0
	for ; got < min(n, len(rows)) && t.room > 0 && rows[got].Due <= t.r.Now; got++ {
		rec := &rows[got]
		t.key = appendOrderRow(t.key[:0], c.num, uint32(q.ID), priority, rec.Place())
		t.singleDelete(t.key)
		t.give(q.Lease(*rec, t.s.sched.after(&t.s.sched.token), t.r.Now, t.r.Until))
	}
	head := sched.Head{Due: sched.Never}
	if got < len(rows) {
		head = rows[got].Place()
	}
	q.SetHead(priority, head)
	t.s.sched.keepAhead(q, priority, rows, got)
	return got, nil
}

// seek puts the iterator on the URLs of one priority, beginning with the head:
// before it are only rows that are gone, which cost time to pass by.
func (t *takeOp) seek(c *crawl, q *sched.Queue, priority uint8) error {
	t.lo = appendOrderRow(t.lo[:0], c.num, uint32(q.ID), priority, q.Head(priority))
	t.hi = appendLevelEnd(t.hi[:0], c.num, uint32(q.ID), priority)
	if t.it != nil {
		t.it.SetBounds(t.lo, t.hi)
		return nil
	}
	it, err := t.s.db.NewIter(bounds(t.lo, t.hi))
	t.it = it
	return err
}

func bounds(lo, hi []byte) *pebble.IterOptions {
	return &pebble.IterOptions{LowerBound: lo, UpperBound: hi}
}
