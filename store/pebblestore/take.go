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
	if o.req.Queue == "" {
		return o.s.sched.Take(c.queues.Crawl, nil, o.r, o.serve)
	}
	q := c.queues.loaded[o.req.Queue]
	if q == nil {
		return sched.Never, nil
	}
	return o.s.sched.Take(c.queues.Crawl, &q.Queue, o.r, o.serve)
}

// serve leases URLs of a queue: those whose lease ran out, then those due, highest
// priority first.
func (o *takeOp) serve(sq *sched.Queue, n int, room int64) (got int, bytes int64, err error) {
	q := queueOf(sq)
	if q.c.gone || q.c.queues.loaded[q.Name] != q {
		return 0, 0, nil // it went between two steps
	}
	o.room = room
	for err == nil && got < n && o.room > 0 && q.Expired() != nil {
		if err = o.renew(q.Expired()); err == nil {
			got++
		}
	}
	for err == nil && got < n && o.room > 0 {
		priority, ok := q.DueLevel(o.r.Now)
		if !ok {
			break
		}
		k := 0
		k, err = o.level(q, priority, n-got)
		got += k
	}
	if got > 0 {
		o.changedRow(q)
	}
	if err = corruption(err); errors.Is(err, store.ErrCorrupt) {
		o.putOff(q, err)
		err = nil
	}
	return got, room - o.room, err
}

// damagedPause is how long a queue waits whose first URLs cannot be read.
const damagedPause = int64(time.Minute / time.Millisecond)

// putOff tells of the damage of a queue, and serves others for now. Nothing of that is written.
func (o *takeOp) putOff(q *queue, err error) {
	o.s.damage.note(cmp.Or(pathOf(err), q.Name), fmt.Errorf("cannot lease URLs of queue %q: %w", q.Name, err))
	q.NotBefore, q.NotBeforeAt = max(q.NotBefore, o.r.Now+damagedPause), o.r.Now
}

// renew leases again a URL whose lease ran out.
func (o *takeOp) renew(l *sched.Lease) error {
	if l.Cut {
		rec := l.Record
		if err := readTexts(o.s.db, l.Token, &rec); err != nil {
			return err
		}
		l.Record = rec
	}
	o.deleteLease(l)
	l.Renew(o.s.sched.after(&o.s.sched.token), o.r.Now, o.r.Until)
	o.give(l)
	return nil
}

// give hands out a lease.
func (o *takeOp) give(l *sched.Lease) {
	l.Attempts++
	o.room -= sched.Size(&l.Record)
	o.given = append(o.given, l)
	o.taken.Leases = append(o.taken.Leases, store.Lease{Entry: l.Entry(l.Record), Token: l.Token})
}

// level leases up to n due URLs of one priority, and sets the new head.
func (o *takeOp) level(q *queue, priority uint8, n int) (int, error) {
	rows, err := o.rows(q, priority, n)
	if err != nil {
		return 0, err
	}
	got := 0
	for ; got < min(n, len(rows)) && o.room > 0 && rows[got].Due <= o.r.Now; got++ {
		rec := &rows[got]
		o.key = appendOrderRow(o.key[:0], q.c.num, q.id, priority, rec.Place())
		o.singleDelete(o.key)
		o.give(q.Lease(*rec, o.s.sched.after(&o.s.sched.token), o.r.Now, o.r.Until))
	}
	head := sched.Head{Due: sched.Never}
	if got < len(rows) {
		head = rows[got].Place()
	}
	q.SetHead(priority, head)
	o.s.sched.keepAhead(q, priority, rows, got)
	return got, nil
}

// seek puts the iterator on the URLs of one priority, beginning with the head:
// before it are only rows that are gone, which cost time to pass by.
func (o *takeOp) seek(q *queue, priority uint8) error {
	o.lo = appendOrderRow(o.lo[:0], q.c.num, q.id, priority, q.Head(priority))
	o.hi = appendLevelEnd(o.hi[:0], q.c.num, q.id, priority)
	if o.it != nil {
		o.it.SetBounds(o.lo, o.hi)
		return nil
	}
	it, err := o.s.db.NewIter(bounds(o.lo, o.hi))
	o.it = it
	return err
}
