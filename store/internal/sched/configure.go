package sched

import (
	"cmp"
	"slices"
	"time"

	"github.com/firstseen/firstseen/store"
)

// Configure applies a change to the queue. It has to be filed afterwards.
func (q *Queue) Configure(c *store.QueueChange, now int64) {
	s := *q.own()
	Change(&s, c)
	q.Settings = nil
	if s != (store.QueueSettings{}) {
		q.Settings = &s
	}
	if c.NotBefore == nil {
		return
	}
	q.rebase(now)
	if to := moved(q.NotBefore, *c.NotBefore, c.Later); to != q.NotBefore {
		q.NotBefore, q.NotBeforeAt = to, now
	}
}

// Change applies a change to settings. Times are kept in whole milliseconds.
func Change(s *store.QueueSettings, c *store.QueueChange) {
	if c.Delay != nil {
		s.Delay = time.Duration(DurMs(*c.Delay)) * time.Millisecond
	}
	if c.BlockedUntil != nil {
		s.BlockedUntil = Time(moved(Ms(s.BlockedUntil), *c.BlockedUntil, c.Later))
	}
	set(&s.MaxInFlight, c.MaxInFlight)
	set(&s.Limit, c.Limit)
	set(&s.Weight, c.Weight)
	set(&s.Paused, c.Paused)
}

// moved returns a time of a queue after a change to it.
func moved(from int64, to time.Time, later bool) int64 {
	if later {
		return max(from, Ms(to))
	}
	return Ms(to)
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// Exists reports whether the queue has any state.
func (q *Queue) Exists() bool {
	return q.Used() || q.Settings != nil || q.NotBefore > 0
}

// Info returns the state of the queue as of the last Advance.
func (q *Queue) Info() store.QueueInfo {
	return store.QueueInfo{
		Crawl: q.Crawl.Name, Name: q.Name, QueueSettings: *q.own(),
		Held: q.Held(), InFlight: int64(q.live), Completed: q.Completed, Dropped: q.Dropped,
		LastTake: Time(q.LastTake), NotBefore: Time(q.polite()), Next: Time(q.Serves()),
	}
}

// Refiles reports whether a change to the settings of a crawl or of the store may change
// where queues are filed. A pause or block doesn't: it is asked for when they are served.
func Refiles(c *store.QueueChange) bool {
	return c.Delay != nil || c.MaxInFlight != nil || c.Limit != nil
}

// Refile files queues again after a change to the settings of their crawl or of
// the store, ready ones in the order they had.
func Refile(queues []*Queue, now int64) {
	slices.SortFunc(queues, func(a, b *Queue) int {
		return cmp.Or(cmp.Compare(a.turn, b.turn), cmp.Compare(a.filed, b.filed))
	})
	for _, q := range queues {
		q.File(now)
	}
}
