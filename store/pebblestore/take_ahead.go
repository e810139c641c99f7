package pebblestore

import (
	"fmt"
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// aheadRows bounds the rows read ahead of all queues of all crawls together: about
// 25 MB, or a few times that after queues have become many, since rows of the first
// ones stay until they are served.
const aheadRows = 1 << 17

// aheadMost bounds the rows of one queue.
const aheadMost = 64

// aheadBytes is what a row may take, on average.
const aheadBytes = 192

// rowBytes is what a row takes.
func rowBytes(r *sched.Record) int { return 96 + len(r.URL) + len(r.Meta) }

// ahead are the first URLs of one priority of a queue, read before they are
// wanted: finding a queue's place on disk costs ten times what the next row
// costs. The first of them is the head.
type ahead struct {
	priority uint8
	rows     []sched.Record
}

// before reports whether a place is before the last of the rows, so that a URL
// put there would be missing among them.
func (a *ahead) before(at sched.Head) bool {
	last := &a.rows[len(a.rows)-1]
	return at.Due < last.Due || at.Due == last.Due && at.Seq < last.Seq
}

// aheadOf returns how many rows to read ahead of a queue so that all queues in
// use have as many; less than two is not worth keeping.
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
