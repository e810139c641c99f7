// Package sched decides which queue is served next. memstore and pebblestore share it; redisstore has the same rules in Lua, and
// shares the checks of arguments and crawl names. [Clock] is the wall clock by which memstore and pebblestore forget keys.
//
// A [Sched] keeps, in memory, the
// rotation, politeness, blocks, bounds, leases and counts of the queues that contain URLs. The backend
// keeps the contents of each queue, and everything that must survive a restart.
//
// A queue that cannot be served yet is in a heap, ordered by the time when it can. A queue that can be
// served is in another heap, ordered by its turn in a weighted rotation. A take touches only the
// queues whose time has come and those that it serves. So its cost grows with the logarithm of the
// number of ready queues and with the number of crawls that hold something, not with the number of queues. A change to the
// settings of a whole crawl visits all queues that contain URLs; a clock that was set back, all waiting queues and all leases.
//
// An empty queue is in no heap. A backend drops it from memory, keeps its [State] and settings, and loads
// them again with the next URL.
//
// Times are milliseconds since 1970. Nothing here is safe for concurrent use.
package sched

import (
	"cmp"
	"math"
	"slices"

	"github.com/firstseen/firstseen/store"
)

// Sched is the scheduler of one store.
type Sched struct {
	Defaults store.CrawlSettings // of the whole store
	// Closed is called with an overtaken lease that has expired, for the backend to remove its data; nil: nothing to do.
	Closed func(*Lease)
	// Loading: the backend has not loaded all queues yet, so members of groups wait.
	Loading bool
	late    []*Queue // that wait so, or did
	crawls  []*Crawl // those that hold something, in order of rotation
	marks   marks
}

// Crawl is the scheduler's part of one crawl.
type Crawl struct {
	Name string
	// Owner is the backend's crawl that this one is a part of.
	Owner    any
	Settings store.CrawlSettings
	Counts
	// Leases are the leases by key, expired ones included; nil before the first. The
	// backend may drop those of a retired queue.
	Leases map[store.Key]*Lease
	// Overtaken are the overtaken leases that have not ended, by key; nil before the first.
	Overtaken map[store.Key]*Lease

	sched   *Sched
	clock   int64 // the latest time of a step
	listed  bool  // it is in sched.crawls
	waiting *Heap[*Queue]
	ready   []*class
	leases  *Heap[*Lease]
	turn    uint64              // the turn of the last queue served in its turn
	hurried bool                // the last queue was served before its turn
	filed   uint64              // queues filed as ready, which settles equal turns
	leased  int64               // URLs leased
	marks   map[store.Key]*Mark // nil before the first
	expired map[*Queue]struct{} // queues with expired leases; nil before the first
	holds   [holds]int64        // queues by what holds them back
	groups  map[string]*group   // nil before the first
	swept   int                 // how many were left when unused groups were last dropped
}

// Counts are the counts of a crawl. The backend makes them durable.
type Counts struct {
	Held, Completed, Dropped, Fetched, Failed, Queues, Active int64
}

// class holds the ready queues that have n leases in flight and leave the
// bound to the request. Queues that set their own bound, or no bound, are in
// class 0.
type class struct {
	n int
	line
}

// line orders queues by turn.
type line struct {
	queues *Heap[*Queue]
	urgent *Heap[*more] // those of them with urgent URLs; nil before the first
}

func newLine() line { return line{queues: NewHeap((*Queue).turnsBefore, (*Queue).slotOf)} }

// NewCrawl returns a crawl that holds nothing.
func (s *Sched) NewCrawl(name string) *Crawl {
	return &Crawl{
		Name: name, sched: s,
		waiting: NewHeap((*Queue).wakesBefore, (*Queue).slotOf),
		leases:  NewHeap((*Lease).endsBefore, (*Lease).slotOf),
	}
}

// Restore sets the stored counts.
func (c *Crawl) Restore(n Counts) {
	c.Counts = n
	c.list()
}

// list puts the crawl into the rotation when it holds something.
func (c *Crawl) list() {
	if !c.listed && c.Held > 0 {
		c.listed = true
		c.sched.crawls = append(c.sched.crawls, c)
	}
}

// DropEmpty drops the crawls that hold nothing from the rotation.
func (s *Sched) DropEmpty() {
	s.crawls = slices.DeleteFunc(s.crawls, func(c *Crawl) bool {
		c.listed = c.Held > 0
		return !c.listed
	})
}

// class returns the ready queues of class n, made if need be.
func (c *Crawl) class(n int) *class {
	i := 0
	for i < len(c.ready) && c.ready[i].n < n {
		i++
	}
	if i == len(c.ready) || c.ready[i].n > n {
		c.ready = slices.Insert(c.ready, i, &class{n, newLine()})
	}
	return c.ready[i]
}

// pick returns the ready queue whose turn it is; with a bound, of those that
// have fewer leases. It returns nil if there is none.
func (c *Crawl) pick(bound int) *Queue {
	var best *Queue
	for i := 0; i < len(c.ready) && (bound <= 0 || c.ready[i].n < bound); i++ {
		if c.ready[i].queues.Len() == 0 {
			c.ready = slices.Delete(c.ready, i, i+1)
			i--
			continue
		}
		if q := c.ready[i].queues.Top(); best == nil || q.turnsBefore(best) {
			best = q
		}
	}
	return best
}

// Advance files the queues whose time has come and ends the leases that ran out.
func (c *Crawl) Advance(now int64) {
	c.AdvanceSome(now, math.MaxInt)
}

// AdvanceSome is [Crawl.Advance] for at most n leases and queues. It returns the unused rest of n; 0 means
// that there may be more to do.
func (c *Crawl) AdvanceSome(now int64, n int) (left int) {
	c.follow(now)
	for ; n > 0 && c.leases.Len() > 0 && c.leases.Top().Until <= now; n-- {
		c.leases.Top().expire(now)
	}
	for ; n > 0 && c.waiting.Len() > 0 && c.waiting.Top().wake() <= now; n-- {
		c.waiting.Top().File(now)
	}
	return max(n, 0)
}

// room returns how many URLs may be leased before the limit of the crawl is reached.
func (c *Crawl) room() int64 {
	return room(cmp.Or(c.Settings.Limit, c.sched.Defaults.Limit), c.Fetched, c.leased)
}

// late returns how many leased URLs have an expired lease.
func (c *Crawl) late() int64 { return c.leased - int64(c.leases.Len()-len(c.Overtaken)) }

// gives returns how many URLs of a queue may be leased under the crawl's limit. Once fetched pages and leased URLs exceed it, only
// expired leases may, up to the pages that are neither fetched nor with a fetcher.
func (c *Crawl) gives(q *Queue) int64 {
	room := c.room()
	if room >= 0 {
		return int64(q.rare().late) + room
	}
	return min(int64(q.rare().late), c.late()+room)
}

// open reports whether settings neither pause nor block.
func open(s *store.CrawlSettings, now int64) bool {
	return !s.Paused && Ms(s.BlockedUntil) <= now
}

// AddTo adds the counts to a store's. Leases in flight, which have not run out, are as of the last
// Advance.
func (c *Crawl) AddTo(s *store.Stats) {
	s.Add(store.Stats{
		Held: c.Held, InFlight: int64(c.leases.Len()), Completed: c.Completed, Dropped: c.Dropped, Fetched: c.Fetched, Failed: c.Failed,
		Queues: c.Queues, Active: c.Active, Marked: c.Marked(),
	})
}
