package sched

import (
	"cmp"
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/heap"
)

// Queue is a queue in memory. A backend makes one when a queue gets its first
// URL, and drops it when it holds nothing.
type Queue struct {
	Name  string
	Crawl *Crawl
	// Owner is the backend's queue that this one is a part of.
	Owner any
	// Settings are nil when none was ever set.
	Settings *store.QueueSettings
	State

	leases  *Lease             // one of all, the others come after it
	expired *heap.Heap[*Lease] // leases that ran out, earliest first; nil for none
	heads   *[store.MaxPriority + 1]Head
	head    Head // the earliest of the heads; heads is nil while it is the only one
	wake    int64
	turn    uint64
	filed   uint64
	live    int32 // leases that did not run out
	late    int32 // leases that did
	slot    int32
	class   int32
	place   place
	retired bool
	levels  uint8 // bit p: priority p has URLs queued
}

// State is what a backend keeps of a queue beside its settings.
type State struct {
	Queued    int64 // URLs waiting, leased ones not counted
	Completed int64
	Dropped   int64
	LastTake  int64 // 0: never
	LastDelay int64 // delay that the last take brought with it, in ms
	NotBefore int64 // no take before this, whatever the delay; 0: none
	// NotBeforeAt is when NotBefore was set; 0: not known.
	NotBeforeAt int64
}

// Head is the place in the queue of the first URL of one priority.
type Head struct {
	Due int64 // Never: there is no URL
	Seq uint64
}

// place is the heap of a queue.
type place uint8

const (
	nowhere place = iota
	inWaiting
	inReady
)

// NewQueue returns a queue as it was kept, for the backend's queue that it becomes a part of: from then on it must not be
// copied. It is counted already in the crawl's [Counts], so far as its state counts. It has to be filed once its Owner and
// its heads are set.
func (c *Crawl) NewQueue(name string, set *store.QueueSettings, st State) Queue {
	return Queue{Name: name, Crawl: c, Settings: set, State: st, head: Head{Due: Never}}
}

func (q *Queue) slotOf() *int32 { return &q.slot }

func (q *Queue) wakesBefore(b *Queue) bool { return q.wake < b.wake }

func (q *Queue) turnsBefore(b *Queue) bool {
	if q.turn != b.turn {
		return q.turn < b.turn
	}
	return q.filed < b.filed
}

// Held returns the number of URLs queued or leased.
func (q *Queue) Held() int64 { return q.Queued + q.Leased() }

// Leased returns the number of URLs leased, those whose lease ran out included.
func (q *Queue) Leased() int64 { return int64(q.live) + int64(q.late) }

// Used reports whether the queue holds, has completed or has dropped anything.
func (q *Queue) Used() bool { return q.Held()+q.Completed+q.Dropped > 0 }

// delta is a change of the numbers of a queue.
type delta struct {
	queued, completed, dropped int64
	live, late                 int32
}

// Add changes the number of URLs queued.
func (q *Queue) Add(queued int64) { q.count(delta{queued: queued}) }

// End counts a URL as completed or dropped, by its state; n is 1, or -1 to take
// that back.
func (q *Queue) End(s store.State, n int64) {
	switch s {
	case store.Done:
		q.count(delta{completed: n})
	case store.Dropped:
		q.count(delta{dropped: n})
	}
}

// ForgetEnds sets the numbers of URLs completed and dropped to 0.
func (q *Queue) ForgetEnds() { q.count(delta{completed: -q.Completed, dropped: -q.Dropped}) }

// Retire takes the queue out of service: its queued and ended URLs no longer count, and it is never
// served again. Its leases remain until they are ended.
func (q *Queue) Retire() {
	q.unfile()
	q.retired = true
	q.count(delta{queued: -q.Queued, completed: -q.Completed, dropped: -q.Dropped})
}

// Retired reports whether the queue is out of service.
func (q *Queue) Retired() bool { return q.retired }

// count changes the numbers of the queue, and those of its crawl with them.
func (q *Queue) count(d delta) {
	held, used := q.Held(), q.Used()
	q.Queued += d.queued
	q.live += d.live
	q.late += d.late
	q.Completed += d.completed
	q.Dropped += d.dropped
	c := q.Crawl
	c.Held += q.Held() - held
	c.Completed += d.completed
	c.Dropped += d.dropped
	c.Active += one(q.Held() > 0) - one(held > 0)
	c.Queues += one(q.Used()) - one(used)
	c.list()
}

func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// SetHead sets the first URL of a priority, after any change.
func (q *Queue) SetHead(priority uint8, h Head) {
	others := q.levels &^ (1 << priority)
	if q.heads == nil && others != 0 && h.Due != Never {
		heads := new([store.MaxPriority + 1]Head)
		for p := range heads {
			heads[p] = q.Head(uint8(p))
		}
		q.heads = heads
	}
	if q.levels = others; h.Due != Never {
		q.levels |= 1 << priority
	}
	switch {
	case q.heads != nil:
		q.heads[priority] = h
		q.head = slices.MinFunc(q.heads[:], func(a, b Head) int { return cmp.Compare(a.Due, b.Due) })
	case others == 0:
		q.head = h
	}
}

// Head returns the first URL of a priority; its Due is [Never] if there is
// none.
func (q *Queue) Head(priority uint8) Head {
	switch {
	case q.heads != nil:
		return q.heads[priority]
	case q.levels == 1<<priority:
		return q.head
	}
	return Head{Due: Never}
}

// DueLevel returns the highest priority that has a URL due, and false if none
// has.
func (q *Queue) DueLevel(now int64) (uint8, bool) {
	for p := store.MaxPriority; p >= 0; p-- {
		if q.Head(uint8(p)).Due <= now {
			return uint8(p), true
		}
	}
	return 0, false
}

// Levels has bit p set if URLs of priority p are queued.
func (q *Queue) Levels() uint8 { return q.levels }
