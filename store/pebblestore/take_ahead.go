package pebblestore

import (
	"github.com/firstseen/firstseen/store/internal/sched"
)

// aheadRows bounds the rows read ahead of all queues together: about 25 MB.
const aheadRows = 1 << 17

// aheadMost bounds those of one queue.
const aheadMost = 64

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
func (sc *scheduler) aheadOf(qs *queueState) int {
	return min(aheadMost, aheadRows/max(1, len(qs.loaded)))
}

// queuedAt tells that a URL was queued at a place.
func (sc *scheduler) queuedAt(q *sched.Queue, priority uint8, at sched.Head) {
	if a := sc.ahead[q]; a != nil && a.priority == priority && a.before(at) {
		delete(sc.ahead, q)
	}
}

// keepAhead keeps rows for the next take.
func (sc *scheduler) keepAhead(q *sched.Queue, priority uint8, rows []sched.Record) {
	if len(rows) < 2 { // the head alone saves nothing
		delete(sc.ahead, q)
		return
	}
	if a := sc.ahead[q]; a != nil {
		a.priority, a.rows = priority, rows
		return
	}
	sc.ahead[q] = &ahead{priority, rows}
}

// rows returns the URLs of one priority from its head on: at least n and one
// more if there are so many.
func (t *taker) rows(c *crawl, q *sched.Queue, priority uint8, n int) ([]sched.Record, error) {
	if a := t.s.sched.ahead[q]; a != nil && a.priority == priority && len(a.rows) > n {
		return a.rows, nil
	}
	want := n + 1
	if more := t.s.sched.aheadOf(&c.queues); more > 1 {
		want += more
	}
	if err := t.seek(c, q, priority); err != nil {
		return nil, err
	}
	rows := make([]sched.Record, 0, min(want, int(q.Queued)))
	for ok := t.it.First(); ok && len(rows) < want; ok = t.it.Next() {
		value, err := t.it.ValueAndErr()
		if err != nil {
			return nil, err
		}
		rec, err := recordAt(t.it.Key(), value)
		if err != nil {
			return nil, err
		}
		rows = append(rows, rec)
	}
	return rows, t.it.Error()
}
