package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/firstseen/firstseen/store"
)

// effective returns the settings of a queue with those of its crawl and of the
// store filled in; pause and block are those of the queue alone.
func (m *model) effective(c *modelCrawl, q *modelQueue) store.QueueSettings {
	s := q.set
	s.Delay = cmp.Or(s.Delay, c.set.Delay, m.defaults.Delay)
	s.MaxInFlight = cmp.Or(s.MaxInFlight, c.set.MaxInFlight, m.defaults.MaxInFlight)
	s.Limit = cmp.Or(s.Limit, c.set.QueueLimit, m.defaults.QueueLimit)
	return s
}

// room returns how many pages a limit leaves, with those that are leased.
func (c *modelCrawl) room(limit int64, queue string) int64 {
	if limit == 0 {
		return 1 << 40
	}
	for _, q := range c.queues {
		if queue == "" || q.name == queue {
			limit -= q.fetched
		}
	}
	for _, u := range c.held(queue) {
		limit -= one(u.State == store.Leased)
	}
	return limit
}

// late counts the leases of a queue that ran out, or of all with queue "".
func (m *model) late(c *modelCrawl, queue string) (n int64) {
	for _, u := range c.held(queue) {
		n += one(u.State == store.Leased && !u.Expires.After(m.now))
	}
	return n
}

// room returns how many URLs of a queue the limits let a take have: without room for more pages leases that ran out, and beyond a limit
// so many fewer of these.
func (m *model) room(c *modelCrawl, q *modelQueue) int64 {
	own, _ := m.rooms(c, q)
	return min(m.late(c, q.name)+own, m.ofCrawl(c, q.name))
}

// ofCrawl is room by the limit of the crawl alone, of all queues with queue "".
func (m *model) ofCrawl(c *modelCrawl, queue string) int64 {
	late, room := m.late(c, queue), c.room(cmp.Or(c.set.Limit, m.defaults.Limit), "")
	if room >= 0 {
		return late + room
	}
	return min(late, m.late(c, "")+room)
}

// full reports whether the limit of a crawl leaves nothing to lease of a queue, or of all with queue "".
func (m *model) full(c *modelCrawl, queue string) bool { return m.ofCrawl(c, queue) <= 0 }

// rooms returns the room of a queue by its own limit, and that of its crawl.
func (m *model) rooms(c *modelCrawl, q *modelQueue) (own, crawl int64) {
	return c.room(m.effective(c, q).Limit, q.name), c.room(cmp.Or(c.set.Limit, m.defaults.Limit), "")
}

// limited reports whether a limit of a queue or of its crawl lets nothing be leased of it.
func (m *model) limited(c *modelCrawl, q *modelQueue) bool {
	return m.room(c, q) <= 0
}

// polite is the time before which no take is allowed.
func (m *model) polite(c *modelCrawl, q *modelQueue) time.Time {
	t := later(q.notBefore, m.delayed(c, q))
	if by := c.by[q.set.Group]; q.set.Group != "" && by != nil {
		t = later(t, m.delayed(c, by))
	}
	return t
}

// delayed is when the delay after the last take of a queue is over.
func (m *model) delayed(c *modelCrawl, q *modelQueue) time.Time {
	if q.lastTake.IsZero() {
		return q.lastTake
	}
	delay := m.effective(c, q).Delay
	switch {
	case delay == 0:
		delay = q.lastDelay
	case delay < 0:
		delay = 0
	}
	return q.lastTake.Add(delay)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// earlier is the earlier of two times of which zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// order lists what the queue has to give at a time, first the leases that ran
// out.
func (c *modelCrawl) order(queue string, now time.Time) []*modelURL {
	var late, due []*modelURL
	for _, u := range c.held(queue) {
		if u.State == store.Leased && !u.Expires.After(now) {
			late = append(late, u)
		}
		if u.State == store.Queued && !u.Due.After(now) {
			due = append(due, u)
		}
	}
	slices.SortFunc(late, func(a, b *modelURL) int {
		return cmp.Or(a.Expires.Compare(b.Expires), cmp.Compare(a.Token, b.Token))
	})
	slices.SortFunc(due, compareService)
	return append(late, due...)
}

// serves is QueueInfo.Next.
func (m *model) serves(c *modelCrawl, q *modelQueue) time.Time {
	var first time.Time
	for _, u := range c.held(q.name) {
		switch {
		case u.State == store.Queued:
			first = earlier(first, u.Due)
		case !u.Expires.After(m.now):
			first = earlier(first, u.Expires)
		}
	}
	if first.IsZero() {
		return first
	}
	return later(first, m.polite(c, q))
}

// servesAlone is serves as if the queue were in no group.
func (m *model) servesAlone(c *modelCrawl, q *modelQueue) time.Time {
	alone := *q
	alone.set.Group = ""
	return m.serves(c, &alone)
}

// served notes the last take of a queue for its group.
func (c *modelCrawl) served(q *modelQueue) {
	by := c.by[q.set.Group]
	if by == nil || q.lastTake.After(by.lastTake) || q.lastTake.Equal(by.lastTake) && q.name > by.name {
		c.by[q.set.Group] = q
	}
}

// fetchers counts the leases that count for the bound of a queue: those of its group.
func (m *model) fetchers(c *modelCrawl, q *modelQueue) (n int) {
	for _, other := range c.queues {
		if other == q || q.set.Group != "" && other.set.Group == q.set.Group {
			n += m.live(c, other.name)
		}
	}
	return n
}

// gives returns the URLs that a request may get from a queue now.
func (m *model) gives(c *modelCrawl, q *modelQueue, req store.TakeRequest) []*modelURL {
	s := m.effective(c, q)
	if m.closed(c) || s.Paused || s.BlockedUntil.After(m.now) || m.polite(c, q).After(m.now) || m.limited(c, q) {
		return nil
	}
	list := c.order(q.name, m.now)
	n := min(len(list), max(1, req.MaxPerQueue), int(m.room(c, q)))
	bound := cmp.Or(s.MaxInFlight, req.MaxInFlight)
	if bound > 0 {
		n = min(n, bound-m.fetchers(c, q))
	}
	return list[:max(0, n)]
}

// closed reports whether nothing is served of the crawl.
func (m *model) closed(c *modelCrawl) bool {
	return m.defaults.Paused || c.set.Paused || m.defaults.BlockedUntil.After(m.now) || c.set.BlockedUntil.After(m.now)
}

// selected lists the crawls a name means.
func (m *model) selected(name string) (list []*modelCrawl) {
	for _, c := range m.crawls {
		if name == "*" || c.name == name {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *modelCrawl) int { return cmp.Compare(a.name, b.name) })
	return list
}

// take judges an answer of Take, and carries it out.
func (m *model) take(req store.TakeRequest, got store.Taken) error {
	groups := grouped(got.Leases)
	for i, g := range groups {
		if err := m.judge(req, g, i == len(groups)-1 && filled(req, got.Leases)); err != nil {
			return err
		}
		if err := m.judgeUrgent(req, g, groups[:i]); err != nil {
			return err
		}
		m.lease(req, g)
	}
	if len(got.Leases) > max(1, req.MaxURLs) || req.MaxQueues > 0 && len(groups) > req.MaxQueues {
		return fmt.Errorf("got %d URLs of %d queues; want at most %d of %d", len(got.Leases), len(groups), req.MaxURLs, req.MaxQueues)
	}
	if n := len(got.Leases); n > 0 && filled(req, got.Leases[:n-1]) {
		return fmt.Errorf("got %d URLs; want none after %d bytes", n, req.MaxBytes)
	}
	if err := m.complete(req, got, groups); err != nil {
		return err
	}
	if err := m.checkState(req, got); err != nil {
		return err
	}
	return m.checkNext(req, got)
}

// checkState judges Taken.State and Holding.
func (m *model) checkState(req store.TakeRequest, got store.Taken) error {
	if len(got.Leases) > 0 {
		if got.State != store.Served || got.Holding != (store.Holding{}) {
			return fmt.Errorf("got state %v %+v with leases; want none", got.State, got.Holding)
		}
		return nil
	}
	var sum store.Holding
	runs := false
	for _, c := range m.selected(req.Crawl) {
		crawlFull := m.full(c, req.Queue)
		for _, q := range c.queues {
			if req.Queue != "" && req.Queue != q.name || len(c.held(q.name)) == 0 {
				continue
			}
			runs = runs || m.live(c, q.name) > 0
			sum.Queues++
			bound := m.effective(c, q).MaxInFlight
			switch opens := m.servesAlone(c, q); {
			case m.defaults.Paused || c.set.Paused || q.set.Paused:
				sum.Paused++
			case crawlFull || c.room(m.effective(c, q).Limit, q.name)+m.late(c, q.name) <= 0:
				sum.Limited++
			case m.closed(c):
				sum.Blocked++
			case bound > 0 && m.live(c, q.name) >= bound:
			case !opens.IsZero() && q.set.BlockedUntil.After(later(opens, m.now)):
				sum.Blocked++
			}
		}
		if req.Queue == "" { // overtaken leases of queues that hold nothing
			runs = runs || sum.Queues > 0 && m.live(c, "") > 0
		}
	}
	want := []store.TakeState{m.state(sum, runs)}
	if want[0] == store.Delayed {
		want = m.firstHolds(req)
	}
	if got.Holding != sum || !slices.Contains(want, got.State) {
		return fmt.Errorf("got state %v %+v; want %v %+v", got.State, got.Holding, want, sum)
	}
	return nil
}

// state is the first state that holds, Delayed for Blocked too.
func (m *model) state(n store.Holding, runs bool) store.TakeState {
	switch {
	case n.Queues == 0:
		return store.Finished
	case n.Paused == n.Queues:
		return store.Paused
	case runs:
		return store.Waiting
	case n.Paused+n.Limited == n.Queues:
		return store.Limited
	}
	return store.Delayed
}

// firstHolds returns what may hold back the first queues to open: Blocked, Delayed, or either.
func (m *model) firstHolds(req store.TakeRequest) (states []store.TakeState) {
	now := m.now
	at := m.first(req)
	for _, c := range m.selected(req.Crawl) {
		for _, q := range c.queues {
			m.now = at
			opens := (req.Queue == "" || req.Queue == q.name) && len(m.gives(c, q, req)) > 0
			if m.now = now; opens {
				block := later(later(q.set.BlockedUntil, c.set.BlockedUntil), m.defaults.BlockedUntil)
				blocks := block.After(later(m.servesAlone(c, q), now))
				if blocks {
					states = append(states, store.Blocked)
				}
				if !blocks || q.set.Group != "" {
					states = append(states, store.Delayed)
				}
			}
		}
	}
	if len(states) == 0 { // nothing opens by time alone: what is blocked has no room under its crawl's limit then
		states = append(states, store.Delayed)
	}
	return states
}

// checkNext judges Taken.Next after a take.
func (m *model) checkNext(req store.TakeRequest, got store.Taken) error {
	if filled(req, got.Leases) {
		if !got.Next.IsZero() {
			return fmt.Errorf("got next %v with as much as was asked for; want none", got.Next)
		}
		return nil
	}
	early, late := m.next(req), m.first(req)
	switch {
	case got.Next.IsZero() && late.IsZero():
		return nil
	case got.Next.IsZero() || early.IsZero() || got.Next.Before(early) || !late.IsZero() && got.Next.After(late):
		until := "later, since only a change makes something due"
		if !late.IsZero() {
			until = fmt.Sprintf("%v, when the request would get something", late)
		}
		return fmt.Errorf("got next %v; want %v to %s (the time is %v)", got.Next, early, until, m.now)
	}
	return nil
}

// first is when a request would get something if nothing but the time changes, zero for never.
func (m *model) first(req store.TakeRequest) time.Time {
	now := m.now
	defer func() { m.now = now }()
	for _, m.now = range m.moments(req.Crawl) {
		for _, c := range m.selected(req.Crawl) {
			for _, q := range c.queues {
				if (req.Queue == "" || req.Queue == q.name) && len(m.gives(c, q, req)) > 0 {
					return m.now
				}
			}
		}
	}
	return time.Time{}
}

// moments lists now and all later times at which a queue may be served that was not before, in order.
func (m *model) moments(crawl string) []time.Time {
	list := []time.Time{m.now, m.defaults.BlockedUntil}
	for _, c := range m.selected(crawl) {
		list = append(list, c.set.BlockedUntil)
		for _, q := range c.queues {
			list = append(list, q.set.BlockedUntil, m.polite(c, q))
		}
		for _, u := range c.held("") {
			list = append(list, u.Due, u.Expires)
		}
		for _, o := range c.overtaken {
			list = append(list, o.expires)
		}
	}
	list = slices.DeleteFunc(list, m.now.After)
	slices.SortFunc(list, time.Time.Compare)
	return list
}

// filled reports whether an answer has all that was asked for.
func filled(req store.TakeRequest, got []store.Entry) bool {
	return len(got) == max(1, req.MaxURLs) || req.MaxBytes > 0 && sizeOf(got) >= req.MaxBytes
}

func sizeOf(leases []store.Entry) (n int64) {
	for i := range leases {
		n += int64(len(leases[i].URL) + len(leases[i].Meta))
	}
	return n
}

// grouped splits leases into runs of one queue.
func grouped(leases []store.Entry) (groups [][]store.Entry) {
	for i, l := range leases {
		if i == 0 || l.Crawl != leases[i-1].Crawl || l.Queue != leases[i-1].Queue {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], l)
	}
	return groups
}

// judge reports whether a queue may lease these URLs, and whether it leased all it must, unless
// the requested number was reached.
func (m *model) judge(req store.TakeRequest, g []store.Entry, cut bool) error {
	c := m.crawls[g[0].Crawl]
	if c == nil || req.Crawl != "*" && c.name != req.Crawl || req.Queue != "" && req.Queue != g[0].Queue {
		return fmt.Errorf("got a URL of crawl %q queue %q, which wasn't asked for", g[0].Crawl, g[0].Queue)
	}
	want := m.gives(c, c.queue(g[0].Queue), req)
	if len(g) > len(want) || len(g) < len(want) && !cut {
		return fmt.Errorf("got %d URLs of queue %q; want %d", len(g), g[0].Queue, len(want))
	}
	for i, l := range g {
		if l.Key != want[i].Key {
			return fmt.Errorf("got key %x as number %d of queue %q; want %x", l.Key[:4], i, l.Queue, want[i].Key[:4])
		}
		e := want[i].Entry
		e.State, e.Attempts, e.Expires = store.Leased, e.Attempts+1, m.now.Add(cmp.Or(req.Lease, 30*time.Second))
		e.Leased, e.Client, e.Token = m.now, req.Client, l.Token // which is the store's to choose
		if err := sameEntry(l, e); err != nil {
			return err
		}
		if l.Token == 0 {
			return fmt.Errorf("got token 0 for %x", l.Key[:4])
		}
	}
	return nil
}

// judgeUrgent reports that an urgent queue was passed over twice in a row: one of two queues served is urgent if one waits.
func (m *model) judgeUrgent(req store.TakeRequest, g []store.Entry, before [][]store.Entry) error {
	c := m.crawls[g[0].Crawl]
	if _, room := m.rooms(c, c.queue(g[0].Queue)); m.shards || req.Queue != "" || room <= 0 {
		return nil
	}
	waits := ""
	for _, q := range c.queues {
		gave := slices.ContainsFunc(before, func(b []store.Entry) bool { return b[0].Crawl == c.name && b[0].Queue == q.name })
		if !gave && q.set.Group == "" && len(m.gives(c, q, req)) > 0 && m.urgent(c, q.name) {
			waits = q.name
		}
	}
	passed := waits != "" && !m.urgent(c, g[0].Queue)
	if passed && c.passed {
		return fmt.Errorf("got queue %q, the second in a row that is not urgent, while %q is", g[0].Queue, waits)
	}
	c.passed = passed
	return nil
}

// urgent reports whether a queue has an urgent URL that is due.
func (m *model) urgent(c *modelCrawl, queue string) bool {
	return slices.ContainsFunc(c.held(queue), func(u *modelURL) bool {
		return u.State == store.Queued && u.Priority == store.Urgent && !u.Due.After(m.now)
	})
}

// complete reports a queue that had something to give and was passed over
// although more was wanted, and a queue that gave twice.
func (m *model) complete(req store.TakeRequest, got store.Taken, groups [][]store.Entry) error {
	gave := map[[2]string]bool{}
	for _, g := range groups {
		at := [2]string{g[0].Crawl, g[0].Queue}
		if gave[at] {
			return fmt.Errorf("queue %q gave twice", at[1])
		}
		gave[at] = true
	}
	if filled(req, got.Leases) || req.MaxQueues > 0 && len(groups) == req.MaxQueues {
		return nil
	}
	for _, c := range m.selected(req.Crawl) {
		for _, q := range c.queues {
			if (req.Queue == "" || req.Queue == q.name) && !gave[[2]string{c.name, q.name}] && len(m.gives(c, q, req)) > 0 {
				return fmt.Errorf("queue %q gave nothing; want %d URLs", q.name, len(m.gives(c, q, req)))
			}
		}
	}
	return nil
}

func (m *model) lease(req store.TakeRequest, g []store.Entry) {
	c := m.crawls[g[0].Crawl]
	q := c.queue(g[0].Queue)
	q.lastTake, q.lastDelay = m.now, req.Delay
	c.served(q)
	for _, l := range g {
		u := c.urls[l.Key]
		if u.State == store.Leased {
			u.earlier = append(u.earlier, u.Token)
		}
		u.State, u.Token, u.Expires, u.Leased, u.Client = store.Leased, l.Token, l.Expires, m.now, req.Client
		u.Attempts++
	}
}

// next is the earliest Taken.Next after a take that was not filled: a store may look again at a queue with a lease when the first
// lease of the crawl ends, whatever else holds the queue back.
func (m *model) next(req store.TakeRequest) (next time.Time) {
	if m.defaults.Paused {
		return next
	}
	for _, c := range m.selected(req.Crawl) {
		if c.set.Paused {
			continue
		}
		for _, q := range c.queues {
			if req.Queue == "" || req.Queue == q.name {
				next = earlier(next, m.nextOf(c, q, req))
			}
		}
	}
	return next
}

// nextOf is when a queue may have something to give that it has not now.
func (m *model) nextOf(c *modelCrawl, q *modelQueue, req store.TakeRequest) (next time.Time) {
	s := m.effective(c, q)
	live := m.fetchers(c, q)
	_, pages := m.rooms(c, q)
	if live > 0 || pages < 0 && m.late(c, q.name) > 0 { // beyond the limit of a crawl it counts how many leases ran out
		next = m.firstEnd(c)
	}
	opens := later(m.servesAlone(c, q), s.BlockedUntil)
	// When its time has come, the request's bound is looked at, and for a queue of a group the leases of the others.
	bounded := later(opens, m.polite(c, q)).After(m.now) && (s.MaxInFlight == 0 || s.Group != "" && m.live(c, q.name) < s.MaxInFlight)
	bound := cmp.Or(s.MaxInFlight, req.MaxInFlight)
	if !m.serves(c, q).IsZero() && !s.Paused && !m.limited(c, q) &&
		(bounded || bound <= 0 || live < bound) {
		next = earlier(next, later(opens, m.now))
	}
	if next.IsZero() {
		return next
	}
	return later(later(next, c.set.BlockedUntil), m.defaults.BlockedUntil)
}

// firstEnd is when the first lease of a crawl ends.
func (m *model) firstEnd(c *modelCrawl) (end time.Time) {
	for _, u := range c.held("") {
		if u.State == store.Leased && u.Expires.After(m.now) {
			end = earlier(end, u.Expires)
		}
	}
	for _, o := range c.overtaken {
		if o.expires.After(m.now) {
			end = earlier(end, o.expires)
		}
	}
	return end
}
