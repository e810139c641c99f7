package pebblestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// A Take asks the scheduler whose turn it is, and leases the first URLs of that queue: expired leases, which are in
// memory, and then rows from the queue's head on. Finding a queue's place on disk costs ten times as much as reading the next
// row, so a take reads some rows ahead and keeps them with the queue.
//
//	caller      check
//	committer   turn    sched.Take picks a queue and says how many URLs
//	            rows    from those read ahead, or by one iterator from the head on
//	            lease   each row is deleted, its lease is in memory and gets a row
//	caller      gets copies
//
// Damage to a queue's rows is reported, and the queue waits; the others are served.

// Take implements store.Store.
func (s *Store) Take(ctx context.Context, req store.TakeRequest) (store.Taken, error) {
	crawl, err := sched.CheckTake(&req)
	if err != nil {
		return store.Taken{}, err
	}
	o := &takeOp{crawl: crawl, req: req}
	err = s.do(ctx, min(max(1, req.MaxURLs), 1<<16), o.apply)
	if err != nil && (s.failure() != nil || len(o.taken.Leases) == 0) {
		return store.Taken{}, err
	}
	return o.taken, nil // leases of the earlier parts are durable
}

// takeOp reads the queues from the database only, which flush brings up to date: within the
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
	// room is how many more bytes may be leased from the queue being served.
	room int64
}

func (o *takeOp) apply(tx *txn) error {
	tx.flush()
	o.txn, o.r = tx, sched.NewRequest(o.req, sched.Now(tx.now))
	o.r.Part, o.part.Room = &o.part, urlsOfRow*tx.left.rows
	rest, err := o.take()
	tx.fail(err)
	// After all other rows of the step: Pebble's write buffer inserts a row next to the previous
	// one without a search.
	o.taken.Leases = slices.Grow(o.taken.Leases, len(o.given))
	for _, l := range o.given {
		o.taken.Leases = append(o.taken.Leases, l.Entry(l.Record))
		tx.writeLease(l)
	}
	if o.it != nil {
		tx.fail(o.it.Close())
	}
	if o.given, o.it = o.given[:0], nil; o.part.More {
		return errMore
	}
	if o.s.sched.Filing() && tx.err == nil {
		if rest.Next = o.r.Now; len(o.taken.Leases) == 0 {
			select {
			case o.s.needed <- struct{}{}:
			default:
			}
			return errMore
		}
	}
	rest.AnswerTo(&o.taken)
	return nil
}

func (o *takeOp) take() (sched.Rest, error) {
	if o.crawl == sched.AnyCrawl {
		return o.s.sched.Take(nil, nil, o.r, o.serve)
	}
	o.part.More = false
	c := o.s.crawls[o.crawl]
	if c == nil {
		return sched.Nothing, nil
	}
	if o.req.Queue == "" {
		return o.s.sched.Take(c.queues.Crawl, nil, o.r, o.serve)
	}
	q := c.queues.named(o.req.Queue)
	if q == nil && o.s.sched.Loading {
		var err error
		if q, err = o.oldQueue(c, o.req.Queue); err != nil {
			return sched.Nothing, err
		}
	}
	if q == nil {
		return sched.Nothing, nil
	}
	return o.s.sched.Take(c.queues.Crawl, &q.Queue, o.r, o.serve)
}

// serve leases URLs of a queue: those whose lease ran out, then those due, highest
// priority first.
func (o *takeOp) serve(sq *sched.Queue, n int, room int64) (got int, bytes int64, err error) {
	q := queueOf(sq)
	if q.crawl().gone || q.crawl().queues.named(q.Name) != q {
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

// putOff reports the damage of a queue, which then waits. Nothing of this is written.
func (o *takeOp) putOff(q *queue, err error) {
	o.s.damage.note(cmp.Or(pathOf(err), q.Name), fmt.Errorf("cannot lease URLs of queue %q: %w", q.Name, err))
	q.PutOff(max(q.NotBefore, o.r.Now+damagedPause), o.r.Now)
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
	l.Client = o.r.Client
	l.Attempts++
	o.room -= sched.Size(&l.Record)
	o.given = append(o.given, l)
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
		o.key = appendOrderRow(o.key[:0], q.crawl().num, q.id, priority, rec.Place())
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
// before it are only deleted rows, which take time to skip.
func (o *takeOp) seek(q *queue, priority uint8) error {
	o.lo = appendOrderRow(o.lo[:0], q.crawl().num, q.id, priority, q.Head(priority))
	o.hi = appendLevelEnd(o.hi[:0], q.crawl().num, q.id, priority)
	if o.it != nil {
		o.it.SetBounds(o.lo, o.hi)
		return nil
	}
	it, err := o.s.db.NewIter(bounds(o.lo, o.hi))
	o.it = it
	return err
}

// aheadRows bounds the rows read ahead of all queues of all crawls together: about
// 25 MB, or a few times that once there are many queues, since rows read earlier stay
// until they are served.
const aheadRows = 1 << 17

// aheadMost bounds the rows of one queue.
const aheadMost = 64

// aheadBytes is the average size allowed for a row.
const aheadBytes = 192

// rowBytes is about what a record takes in memory: 120 is the size of a sched.Record.
func rowBytes(r *sched.Record) int { return 120 + len(r.URL) + len(r.Meta) }

// ahead holds the first URLs of one priority of a queue, read before they are
// needed. The first of them is the head.
type ahead struct {
	priority uint8
	rows     []sched.Record
}

// before reports whether a place is before the last of the rows: a URL put
// there would be missing among them.
func (a *ahead) before(at sched.Head) bool {
	last := &a.rows[len(a.rows)-1]
	return at.Due < last.Due || at.Due == last.Due && at.Seq < last.Seq
}

// aheadOf returns how many rows to read ahead per queue so that all queues in
// use get the same; fewer than two are not worth keeping.
func (sc *scheduler) aheadOf() int {
	return min(aheadMost, aheadRows/max(1, sc.loaded))
}

// worthKeeping returns as many of the rows as may be kept: the head, and those after it.
func (sc *scheduler) worthKeeping(rows []sched.Record) []sched.Record {
	n := sc.aheadOf()
	rows = rows[:min(len(rows), n+1)]
	for i, room := 0, (n+1)*aheadBytes; i < len(rows); i++ {
		if room -= rowBytes(&rows[i]); room < 0 {
			return rows[:i]
		}
	}
	return rows
}

// keepAhead keeps rows for the next take, without those that were taken, and drops the
// rest.
func (sc *scheduler) keepAhead(q *queue, priority uint8, rows []sched.Record, taken int) {
	kept := sc.worthKeeping(rows[taken:])
	if len(kept) < 2 { // the head alone saves nothing
		q.ahead = nil
		return
	}
	if clear(rows[:taken]); taken+len(kept) < len(rows) || cap(rows) > 2*len(kept) {
		kept = slices.Clone(kept)
	}
	q.ahead = &ahead{priority, kept}
}

// rows returns the URLs of one priority from its head on: at least n and one
// more if there are so many.
func (o *takeOp) rows(q *queue, priority uint8, n int) ([]sched.Record, error) {
	if a := q.ahead; a != nil && a.priority == priority && len(a.rows) > n {
		return a.rows, nil
	}
	want := n + 1
	if more := o.s.sched.aheadOf(); more > 1 {
		want += more
	}
	if err := o.seek(q, priority); err != nil {
		return nil, err
	}
	rows := make([]sched.Record, 0, max(0, min(want, int(q.Queued))))
	room := max(1, want-n-1) * aheadBytes // for rows beyond those wanted now
	left := o.room                        // for rows wanted now
	for ok := o.it.First(); ok && len(rows) < want && room > 0; ok = o.it.Next() {
		value, err := o.it.ValueAndErr()
		if err != nil {
			return nil, err
		}
		rec, err := recordAt(o.it.Key(), value)
		if err != nil {
			return nil, err
		}
		if int64(len(rows)) >= q.Queued {
			return nil, fmt.Errorf("queue %q has more URLs than its state counts, %d: %w", q.Name, q.Queued, store.ErrCorrupt)
		}
		if rows = append(rows, rec); len(rows) > n+1 {
			room -= rowBytes(&rec)
		}
		if left <= 0 {
			break // this one isn't leased, it is the next head
		}
		left -= sched.Size(&rec)
	}
	return rows, o.it.Error()
}
