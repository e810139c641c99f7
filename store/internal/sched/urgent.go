package sched

import (
	"github.com/firstseen/firstseen/store"
)

// A URL of priority store.Urgent is leased next, not when its queue's turn comes: with 5,000 ready queues, that is
// after 5,000 others. So a ready queue with such a URL is also in a second heap of its class, and is served from there, before its
// turn and without using it up. A queue that is not ready holds back its urgent URLs too.
//
// The others must not starve. Of two queues that a crawl serves in a row, at most one is served before its turn: a queue
// waits at most twice as long for its turn as it would without urgent URLs, however many there are. Urgent queues are served in the order in
// which they became urgent or were last served: one with many urgent URLs takes turns with the others.
//
// A backend stores nothing of this: it follows from the heads of the queues, and from their last takes.

// hurry puts the queue among the urgent ones of its line, or removes it, after any change to its place, last take or heads.
func (q *Queue) hurry() {
	since, in := int64(0), (*line)(nil)
	if q.levels&(1<<store.Urgent) != 0 {
		if in = q.line(); in != nil {
			since = max(1, q.Head(store.Urgent).Due, q.LastTake)
			q.needMore()
		}
	}
	u := q.more
	if u == nil || u.since == since && u.in == in {
		return
	}
	if u.in != nil {
		u.in.urgent.Remove(u)
	}
	if u.since, u.in = since, in; in != nil {
		if in.urgent == nil {
			in.urgent = NewHeap((*more).before, func(u *more) *int32 { return &u.slot })
		}
		in.urgent.Push(u)
	}
}

func (u *more) before(b *more) bool {
	if u.since != b.since {
		return u.since < b.since
	}
	return u.at < b.at
}

// hasty returns the first of a line's urgent queues, nil if none is urgent yet.
func (l *line) hasty(now int64) *more {
	if l.urgent == nil || l.urgent.Len() == 0 || l.urgent.Top().since > now {
		return nil
	}
	return l.urgent.Top()
}

// pickUrgent returns the ready queue to be served before its turn; with a bound, of those that have fewer leases. It returns nil
// if there is none, or if the last queue was served so.
func (c *Crawl) pickUrgent(bound int, now int64) *Queue {
	var best *more
	for i := 0; i < len(c.ready) && !c.hurried && (bound <= 0 || c.ready[i].n < bound); i++ {
		if u := c.ready[i].hasty(now); u != nil && (best == nil || u.before(best)) {
			best = u
		}
	}
	if best == nil {
		return nil
	}
	return best.Queue
}
