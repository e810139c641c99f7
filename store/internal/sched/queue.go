package sched

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/firstseen/firstseen/store"
)

// A backend embeds Queue in its own queue type and finds that by Owner, so nothing here depends on a backend. A queue can't be
// served while its URLs are due later, or because of its delay, its bound, a block, a pause or a limit.
// After any change File puts it into the heap of queues that wait for a time, into the heap of ready ones, or, if it waits for
// something else, into neither.

// Queue is a queue in memory. A backend makes one when a queue gets its first
// URL, and drops it when it holds nothing.
type Queue struct {
	Name  string
	Crawl *Crawl
	// Owner is the backend's queue that this one is a part of.
	Owner  any
	Queued int64 // URLs waiting, leased ones not counted
	*Past

	leases  *Lease // head of the list of all its leases
	head    Head   // the earliest of its heads
	turn    uint64
	at      uint64 // when it wakes, while it waits; as which one it was filed, which settles equal turns, while it is ready
	more    *more  // nil before it needs one
	live    int32  // leases that have not run out
	slot    int32
	class   int32
	place   place
	retired bool
	held    hold  // as counted in the crawl
	levels  uint8 // bit p: priority p has URLs queued
}

// more has what most queues do not need. A broad crawl has millions of hosts in memory, nearly all with one URL, which was never leased.
type more struct {
	*Queue
	settings *store.QueueSettings         // nil for none
	heads    *[store.MaxPriority + 1]Head // nil before it has URLs of several priorities
	expired  *Heap[*Lease]                // leases that ran out, earliest first; nil for none
	group    *group
	since    int64 // when its first urgent URL came due, or it was last served, if later; 0: not among the urgent ones now
	in       *line // whose urgent queues it is among
	slot     int32 // among them
	late     int32 // leases that ran out
	over     int32 // overtaken leases, whose URLs are not held by them
}

// noMore is the more of a queue that has none.
var noMore more

// rare returns the queue's more, never nil, to be read.
func (q *Queue) rare() *more {
	if q.more == nil {
		return &noMore
	}
	return q.more
}

// needMore returns the queue's more, to be changed.
func (q *Queue) needMore() *more {
	if q.more == nil {
		q.more = &more{Queue: q}
	}
	return q.more
}

// Past is what a backend stores of what a queue has been through. A broad crawl's hosts have none before they are served.
type Past struct {
	Completed int64
	Dropped   int64
	Fetched   int64
	Failed    int64
	LastTake  int64 // 0: never
	LastDelay int64 // delay in the request of the last take, in ms
	NotBefore int64 // no take before this, whatever the delay; 0: none
	// NotBeforeAt is when NotBefore was set; 0: not known.
	NotBeforeAt int64
}

// noPast is the past of the queues that have none; it is never written to.
var noPast Past

// past returns the queue's past, to be changed.
func (q *Queue) past() *Past {
	if q.Past == &noPast {
		q.Past = new(Past)
	}
	return q.Past
}

// SetPast sets the queue's past.
func (q *Queue) SetPast(p Past) {
	if p != *q.Past {
		*q.past() = p
	}
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
	inGroup // see group.go
	isLate  // see Sched.Loading
)

// NewQueue returns a queue that holds so many URLs, to be embedded in the backend's queue; after that it must not be
// copied. The crawl's [Counts] already include it. It has to be filed once its Owner, its past, its settings and its heads are
// set.
func (c *Crawl) NewQueue(name string, queued int64) Queue {
	return Queue{Name: name, Crawl: c, Queued: queued, Past: &noPast, head: Head{Due: Never}}
}

func (q *Queue) slotOf() *int32 { return &q.slot }

func (q *Queue) wakesBefore(b *Queue) bool { return q.at < b.at }

func (q *Queue) turnsBefore(b *Queue) bool {
	if q.turn != b.turn {
		return q.turn < b.turn
	}
	return q.at < b.at
}

// Held returns the number of URLs queued or leased.
func (q *Queue) Held() int64 { return q.Queued + q.Leased() }

// Leased returns the number of URLs leased, including those whose lease ran out.
func (q *Queue) Leased() int64 { return int64(q.live) + int64(q.rare().late) }

// Idle reports whether the queue holds nothing and no fetcher is at it, so that it need not be in memory.
func (q *Queue) Idle() bool { return q.Held() == 0 && q.rare().over == 0 }

// running returns the number of fetchers at the queue.
func (q *Queue) running() int { return int(q.live + q.rare().over) }

// fetchers returns the number of fetchers that count towards the bound on leases: at the queue, or at its group.
func (q *Queue) fetchers() int {
	if g := q.group(); g != nil {
		return g.running
	}
	return q.running()
}

// Used reports whether the queue holds or has counted anything.
func (q *Queue) Used() bool { return q.Held()+q.Completed+q.Dropped+q.Fetched+q.Failed > 0 }

// delta is a change of the numbers of a queue.
type delta struct {
	queued, completed, dropped, fetched, failed int64
	live, late, over                            int32
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

// Result counts the fetch that a settlement reports.
func (q *Queue) Result(s *store.Settlement) {
	if s.Fetched || s.Failed {
		q.count(delta{fetched: one(s.Fetched), failed: one(s.Failed)})
	}
}

// Recount sets what the queue has counted.
func (q *Queue) Recount(is *store.QueueInfo) {
	d := q.ends()
	d.completed, d.dropped, d.fetched, d.failed = d.completed+is.Completed, d.dropped+is.Dropped, d.fetched+is.Fetched, d.failed+is.Failed
	q.count(d)
}

// ForgetEnds sets all counts to 0.
func (q *Queue) ForgetEnds() { q.count(q.ends()) }

func (q *Queue) ends() delta {
	return delta{completed: -q.Completed, dropped: -q.Dropped, fetched: -q.Fetched, failed: -q.Failed}
}

// Retire takes the queue out of service: its queued and ended URLs no longer count, and it is never
// served again. Its leases remain until they are ended.
func (q *Queue) Retire() {
	q.leave(q.Crawl.clock)
	q.retired = true
	d := q.ends()
	d.queued = -q.Queued
	q.count(d)
	q.hold(free)
}

// Retired reports whether the queue is out of service.
func (q *Queue) Retired() bool { return q.retired }

// count changes the numbers of the queue and of its crawl.
func (q *Queue) count(d delta) {
	held, used := q.Held(), q.Used()
	q.Queued += d.queued
	q.live += d.live
	if g := q.group(); g != nil {
		g.running += int(d.live + d.over)
	}
	if d.late != 0 || d.over != 0 {
		m := q.needMore()
		m.late += d.late
		m.over += d.over
	}
	if d.completed|d.dropped|d.fetched|d.failed != 0 {
		p := q.past()
		p.Completed += d.completed
		p.Dropped += d.dropped
		p.Fetched += d.fetched
		p.Failed += d.failed
	}
	c := q.Crawl
	c.Held += q.Held() - held
	c.leased += int64(d.live) + int64(d.late)
	c.Completed += d.completed
	c.Dropped += d.dropped
	c.Fetched += d.fetched
	c.Failed += d.failed
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
	heads := q.rare().heads
	if heads == nil && others != 0 && h.Due != Never {
		heads = new([store.MaxPriority + 1]Head)
		for p := range heads {
			heads[p] = q.Head(uint8(p))
		}
		q.needMore().heads = heads
	}
	if q.levels = others; h.Due != Never {
		q.levels |= 1 << priority
	}
	switch {
	case heads != nil:
		heads[priority] = h
		q.head = slices.MinFunc(heads[:], func(a, b Head) int { return cmp.Compare(a.Due, b.Due) })
	case others == 0:
		q.head = h
	}
}

// Head returns the first URL of a priority; its Due is [Never] if there is
// none.
func (q *Queue) Head(priority uint8) Head {
	switch heads := q.rare().heads; {
	case heads != nil:
		return heads[priority]
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

// none stands for the settings of a queue that has none.
var none store.QueueSettings

// own returns the settings of the queue, never nil.
func (q *Queue) own() *store.QueueSettings {
	if s := q.Settings(); s != nil {
		return s
	}
	return &none
}

// Settings returns the settings of the queue, nil when none was ever set.
func (q *Queue) Settings() *store.QueueSettings { return q.rare().settings }

// SetSettings sets them.
func (q *Queue) SetSettings(s *store.QueueSettings) {
	if s != q.Settings() {
		q.needMore().settings = s
	}
}

// A queue's setting comes before its crawl's, and that before the store's; 0 is none.

// delay returns the politeness delay in ms: the one set, or else the one that
// the request asks for.
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
	return cmp.Or(q.own().Limit, q.Crawl.Settings.QueueLimit, q.Crawl.sched.Defaults.QueueLimit)
}

// room returns how many more URLs may be leased under a limit, of which fetched pages and leased URLs take up
// their part. It is negative if they exceed the limit: then that many fewer expired leases are handed out again.
func room(limit, fetched, leased int64) int64 {
	if limit <= 0 {
		return math.MaxInt32
	}
	return min(limit-fetched-leased, math.MaxInt32)
}

func (q *Queue) room() int64 { return room(q.limit(), q.Fetched, q.Leased()) }

func (q *Queue) weight() uint64 {
	return uint64(max(1, cmp.Or(q.own().Weight, q.Crawl.Settings.Weight, q.Crawl.sched.Defaults.Weight)))
}

// polite returns the time before which the delay and NotBefore allow no take.
func (q *Queue) polite() int64 {
	t := q.NotBefore
	if q.LastTake > 0 {
		t = max(t, q.LastTake+q.delay(q.LastDelay))
	}
	return t
}

// Serves returns when the queue may next be served, by its delay and its URLs; [Never] if it has no URL
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

// opens returns when the queue may next be served if nothing but time changes,
// and what holds it back until then; [Never] if it waits for something else.
func (q *Queue) opens(now int64) (int64, hold) {
	switch bound := q.bound(); {
	case q.retired || q.Held() == 0:
		return Never, free
	case q.own().Paused:
		return Never, paused
	case q.room()+int64(q.rare().late) <= 0:
		return Never, limited
	case bound > 0 && q.running() >= bound:
		return Never, free
	}
	t := q.Serves()
	if q.room() <= 0 {
		t = max(q.polite(), q.Expired().Until)
	}
	if block := Ms(q.own().BlockedUntil); block > max(t, now) && t != Never {
		return block, blocked
	}
	return t, free
}

// hold is what holds back a queue that holds something, other than its delay, its URLs and its leases.
type hold uint8

const (
	free hold = iota
	paused
	limited
	blocked
	holds
)

// hold notes what holds the queue back.
func (q *Queue) hold(h hold) {
	if q.held != h {
		q.Crawl.holds[q.held]--
		q.Crawl.holds[h]++
		q.held = h
	}
}

// File puts the queue where it belongs after any change to it. A queue that was ready and
// still is keeps its place: a new URL must not cost it its turn.
func (q *Queue) File(now int64) {
	q.Crawl.clock = max(q.Crawl.clock, now)
	q.rebase(now)
	q.join(now)
	t, h := q.opens(now)
	q.hold(h)
	if g := q.group(); g != nil {
		switch s := q.Crawl.sched; {
		case !s.Loading:
			g.file(q, t, now)
		case q.place != isLate:
			q.place = isLate
			s.late = append(s.late, q)
		}
		return
	}
	switch {
	case q.place == inReady && t <= now && q.class == q.classOf():
		q.hurry()
		return
	case q.place == inWaiting && t > now && q.wake() == t:
		return
	}
	q.unfile()
	switch {
	case t <= now:
		q.ready()
	case t != Never:
		q.wait(t)
	}
}

// wake returns when a queue that waits is to be filed again.
func (q *Queue) wake() int64 { return int64(q.at) }

func (q *Queue) wait(until int64) {
	q.at = uint64(until)
	q.place = inWaiting
	q.Crawl.waiting.Push(q)
}

func (q *Queue) ready() {
	q.class = q.classOf()
	q.enter(inReady, &q.Crawl.class(int(q.class)).line)
}

// enter puts the queue into a line.
func (q *Queue) enter(p place, l *line) {
	c := q.Crawl
	// A queue that was away does not catch up on the turns it missed.
	q.turn = max(q.turn, c.turn)
	c.filed++
	q.at = c.filed
	q.place = p
	l.queues.Push(q)
	q.hurry()
}

// classOf returns the class that the queue belongs in: the number of its leases, if the
// request bounds them.
func (q *Queue) classOf() int32 {
	if q.bound() == 0 {
		return int32(q.fetchers())
	}
	return 0
}

// line returns the line that the queue is in, nil for none.
func (q *Queue) line() *line {
	switch q.place {
	case inReady:
		return &q.Crawl.class(int(q.class)).line
	case inGroup:
		return &q.group().line
	}
	return nil
}

func (q *Queue) unfile() {
	if g := q.group(); g != nil && g.front == q {
		g.front = nil
	}
	q.out()
}

// out takes the queue out of its heap.
func (q *Queue) out() {
	if l := q.line(); l != nil {
		l.queues.Remove(q)
	} else if q.place == inWaiting {
		q.Crawl.waiting.Remove(q)
	}
	q.place = nowhere
	q.hurry()
}

// Configure applies a change to the queue. It has to be filed afterwards.
func (q *Queue) Configure(c *store.QueueChange, now int64) {
	s := *q.own()
	Change(&s, c)
	if q.SetSettings(nil); s != (store.QueueSettings{}) {
		q.SetSettings(&s)
	}
	if c.NotBefore == nil {
		return
	}
	q.rebase(now)
	if to := moved(q.NotBefore, *c.NotBefore, c.Later); to != q.NotBefore {
		q.PutOff(to, now)
	}
}

// PutOff sets NotBefore.
func (q *Queue) PutOff(until, now int64) {
	p := q.past()
	p.NotBefore, p.NotBeforeAt = until, now
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
	set(&s.Group, c.Group)
}

// ChangeCrawl applies a change to the settings of a crawl or the store.
func ChangeCrawl(s *store.CrawlSettings, c *store.QueueChange) {
	Change(&s.QueueSettings, c)
	set(&s.QueueLimit, c.QueueLimit)
	if c.Retention != nil {
		s.Retention = time.Duration(DurMs(*c.Retention)) * time.Millisecond
	}
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
	return q.Used() || q.Settings() != nil || q.NotBefore > 0
}

// Info returns the state of the queue as of the last Advance.
func (q *Queue) Info() store.QueueInfo {
	g := q.named()
	gate, next := g.gate(), q.Serves()
	if next != Never {
		next = max(next, gate)
	}
	info := store.QueueInfo{
		Crawl: q.Crawl.Name, Name: q.Name, QueueSettings: *q.own(),
		Held: q.Held(), InFlight: int64(q.running()), Completed: q.Completed, Dropped: q.Dropped,
		Fetched: q.Fetched, Failed: q.Failed,
		LastTake: Time(q.LastTake), NotBefore: Time(max(q.polite(), gate)), Next: Time(next), GroupNotBefore: Time(gate),
	}
	if g != nil {
		info.GroupInFlight = int64(g.running)
	}
	return info
}

// Refiles reports whether a change to the settings of a crawl or of the store may change
// where queues are filed. A pause, a block or the limit of a crawl doesn't: takes check these.
func Refiles(c *store.QueueChange) bool {
	return c.Delay != nil || c.MaxInFlight != nil || c.QueueLimit != nil
}

// Refile files queues again after a change to the settings of their crawl or of
// the store, ready ones in the order they had.
func Refile(queues []*Queue, now int64) {
	slices.SortFunc(queues, func(a, b *Queue) int {
		return cmp.Or(cmp.Compare(a.turn, b.turn), cmp.Compare(a.at, b.at))
	})
	for _, q := range queues {
		q.File(now)
	}
}
