package pebblestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

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
	err = s.do(ctx, o)
	if len(o.taken.Leases) > 0 && s.failure() == nil {
		err = nil // what the steps before leased is durable
	}
	if err != nil {
		return store.Taken{}, err
	}
	return o.taken, nil
}

// urlsOfRow is how many URLs of a queue take as long to lease as a row to find.
const urlsOfRow = 4

// takeOp reads the queues in the database alone, which flush brings up to date: within the
// step no queue is read twice.
type takeOp struct {
	crawl string
	req   store.TakeRequest
	taken store.Taken

	part sched.Part
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
	o.r.Part, o.part.Room = &o.part, urlsOfRow*tx.left.rows
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
	if o.given, o.it = o.given[:0], nil; o.part.More {
		return errMore
	}
	o.taken.Next = sched.Time(next)
	return nil
}

func (o *takeOp) take() (int64, error) {
	if o.crawl == sched.AnyCrawl {
		return o.s.sched.Take(nil, nil, o.r, o.serve)
	}
	o.part.More = false
	c := o.s.crawls[o.crawl]
	if c == nil {
		return sched.Never, nil
	}
	q := c.queues.loaded[o.req.Queue]
	if o.req.Queue != "" && q == nil {
		return sched.Never, nil
	}
	return o.s.sched.Take(c.queues.Crawl, q, o.r, o.serve)
}

// serve leases URLs of a queue: those whose lease ran out, then those due, highest
// priority first.
func (o *takeOp) serve(q *sched.Queue, n int, room int64) (got int, bytes int64, err error) {
	c := o.s.crawlOf(q)
	if c == nil || c.queues.loaded[q.Name] != q {
		return 0, 0, nil // it went between two steps
	}
	o.room = room
	for ; got < n && o.room > 0 && q.Expired() != nil; got++ {
		o.renew(q.Expired())
	}
	for got < n && o.room > 0 {
		priority, ok := q.DueLevel(o.r.Now)
		if !ok {
			break
		}
		k, err := o.level(c, q, priority, n-got)
		if err = corruption(err); errors.Is(err, store.ErrCorrupt) {
			o.putOff(q, err)
			break
		}
		if err != nil {
			return got, room - o.room, err
		}
		got += k
	}
	if got > 0 {
		o.changedRow(q)
	}
	return got, room - o.room, nil
}

// damagedPause is how long a queue waits whose first URLs cannot be read.
const damagedPause = int64(time.Minute / time.Millisecond)

// putOff tells of the damage of a queue, and serves others for now. Nothing of that is written.
func (o *takeOp) putOff(q *sched.Queue, err error) {
	o.s.damage.note(cmp.Or(pathOf(err), q.Name), fmt.Errorf("cannot lease URLs of queue %q: %w", q.Name, err))
	q.NotBefore, q.NotBeforeAt = max(q.NotBefore, o.r.Now+damagedPause), o.r.Now
}

// renew leases again a URL whose lease ran out.
func (o *takeOp) renew(l *sched.Lease) {
	if l.Cut {
		o.note(readTexts(o.s.db, l.Token, &l.Record))
	}
	o.deleteLease(l)
	l.Renew(o.s.sched.after(&o.s.sched.token), o.r.Now, o.r.Until)
	l.Rewritten = false
	o.give(l)
}

// give hands out a lease.
func (o *takeOp) give(l *sched.Lease) {
	l.Attempts++
	o.room -= sched.Size(&l.Record)
	o.given = append(o.given, l)
	o.taken.Leases = append(o.taken.Leases, store.Lease{Entry: l.Entry(l.Record), Token: l.Token})
}

// level leases up to n due URLs of one priority, and sets the new head.
func (o *takeOp) level(c *crawl, q *sched.Queue, priority uint8, n int) (int, error) {
	rows, err := o.rows(c, q, priority, n)
	if err != nil {
		return 0, err
	}
	got := 0
	for ; got < min(n, len(rows)) && o.room > 0 && rows[got].Due <= o.r.Now; got++ {
		rec := &rows[got]
		o.key = appendOrderRow(o.key[:0], c.num, uint32(q.ID), priority, rec.Place())
		o.singleDelete(o.key)
		o.give(q.Lease(*rec, o.s.sched.after(&o.s.sched.token), o.r.Now, o.r.Until))
	}
	head := sched.Head{Due: sched.Never}
	if got < len(rows) {
		head = rows[got].Place()
	}
	q.SetHead(priority, head)
	o.s.sched.keepAhead(&c.queues, q, priority, rows, got)
	return got, nil
}

// seek puts the iterator on the URLs of one priority, beginning with the head:
// before it are only rows that are gone, which cost time to pass by.
func (o *takeOp) seek(c *crawl, q *sched.Queue, priority uint8) error {
	o.lo = appendOrderRow(o.lo[:0], c.num, uint32(q.ID), priority, q.Head(priority))
	o.hi = appendLevelEnd(o.hi[:0], c.num, uint32(q.ID), priority)
	if o.it != nil {
		o.it.SetBounds(o.lo, o.hi)
		return nil
	}
	it, err := o.s.db.NewIter(bounds(o.lo, o.hi))
	o.it = it
	return err
}

func bounds(lo, hi []byte) *pebble.IterOptions {
	return &pebble.IterOptions{LowerBound: lo, UpperBound: hi}
}
