package sched

import (
	"cmp"

	"github.com/firstseen/firstseen/store"
)

// none stands for the settings of a queue that has none.
var none store.QueueSettings

// own returns the settings of the queue, never nil.
func (q *Queue) own() *store.QueueSettings {
	if q.Settings == nil {
		return &none
	}
	return q.Settings
}

// A setting of the queue comes before that of its crawl, and that before the store's; 0 is none.

// delay returns the politeness delay in ms of a queue that leaves it to the
// request, which asks for the given one.
func (q *Queue) delay(asked int64) int64 {
	set := cmp.Or(q.own().Delay, q.Crawl.Settings.Delay, q.Crawl.sched.Defaults.Delay)
	switch {
	case set < 0:
		return 0
	case set > 0:
		return DurMs(set)
	}
	return asked
}

// bound returns the bound on leases: 0 leaves it to the request, negative is
// none.
func (q *Queue) bound() int {
	return cmp.Or(q.own().MaxInFlight, q.Crawl.Settings.MaxInFlight, q.Crawl.sched.Defaults.MaxInFlight)
}

func (q *Queue) limit() int64 {
	return cmp.Or(q.own().Limit, q.Crawl.Settings.Limit, q.Crawl.sched.Defaults.Limit)
}

func (q *Queue) weight() uint64 {
	return uint64(max(1, cmp.Or(q.own().Weight, q.Crawl.Settings.Weight, q.Crawl.sched.Defaults.Weight)))
}

// polite is the time before which the delay and NotBefore allow no take.
func (q *Queue) polite() int64 {
	t := q.NotBefore
	if q.LastTake > 0 {
		t = max(t, q.LastTake+q.delay(q.LastDelay))
	}
	return t
}

// Serves is when the queue may next be served, by its delay and by its URLs; [Never] if it has no URL
// to serve.
func (q *Queue) Serves() int64 {
	first := q.head.Due
	if l := q.Expired(); l != nil {
		first = min(first, l.Until)
	}
	if first == Never {
		return Never
	}
	return max(q.polite(), first)
}

// opens is when the queue may next be served by everything that time alone
// changes; [Never] if it is not time that it waits for.
func (q *Queue) opens() int64 {
	limit, bound := q.limit(), q.bound()
	if q.retired || limit > 0 && q.Completed >= limit || bound > 0 && int(q.live) >= bound {
		return Never
	}
	return notBefore(q.own(), q.Serves())
}

// File puts the queue where it belongs after any change to it. A queue that may be served
// before and after keeps its place: a URL that comes in must not cost it its turn.
func (q *Queue) File(now int64) {
	q.Crawl.clock = max(q.Crawl.clock, now)
	q.rebase(now)
	t := q.opens()
	switch q.place {
	case inReady:
		if t <= now && q.class == q.classOf() {
			return
		}
	case inWaiting:
		if t > now && q.wake == t && t != Never {
			return
		}
	}
	q.unfile()
	switch {
	case t == Never:
	case t > now:
		q.wake = t
		q.place = inWaiting
		q.Crawl.waiting.Push(q)
	default:
		q.ready()
	}
}

func (q *Queue) ready() {
	c := q.Crawl
	q.class = q.classOf()
	// A queue that was away does not catch up on the turns it missed.
	q.turn = max(q.turn, c.turn)
	c.filed++
	q.filed = c.filed
	q.place = inReady
	c.class(int(q.class)).Push(q)
}

// classOf is the ready heap that the queue belongs in: by the leases it has, where the
// request bounds them.
func (q *Queue) classOf() int32 {
	if q.bound() == 0 {
		return q.live
	}
	return 0
}

func (q *Queue) unfile() {
	switch q.place {
	case inWaiting:
		q.Crawl.waiting.Remove(q)
	case inReady:
		q.Crawl.class(int(q.class)).Remove(q)
	}
	q.place = nowhere
}
