package sched

import "cmp"

// Queues of one server, such as the hosts behind one address, are a group and share a gate: after a take from one of them, none
// is served until that one's delay is over, and the leases of all count towards the bound on leases. They take turns. Limits,
// pauses, blocks and NotBefore remain per queue.
//
// A group may have 100,000 queues, and a take must not look at each. So at most one of them, the front, is in the heaps of the
// crawl, where it waits for the gate, and then for its turn among the other queues of the crawl. Once it has been served, or
// can't be, choose takes another.
//
//	waiting   until its own delay or due time: in the crawl's heap of waiting queues
//	inGroup   ready but for the gate, in a line of the group
//	front     ready but for the gate: in the crawl's heaps, or in none while the group has as many leases as the front's bound
//
// Only the name of a group is stored, in the settings of its queues: the gate follows from their last takes and their
// leases. So a backend that loads a store also reports queues that hold nothing: see Recall.

type group struct {
	name    string
	line           // of those inGroup
	front   *Queue // nil: no queue is ready but for the gate
	hurries bool   // the front was chosen before its turn
	hurried bool   // the queue served last was
	by      *Queue // served last; nil: none yet
	running int    // fetchers at the queues
	members int    // queues in memory
}

// group returns the group that the queue has joined, nil for none.
func (q *Queue) group() *group { return q.rare().group }

// named returns the group that the queue's settings name, even if the queue, being idle, has not joined it; nil for none.
func (q *Queue) named() *group {
	if g := q.group(); g != nil || q.retired {
		return g
	}
	return q.Crawl.groups[q.own().Group]
}

// join puts the queue into the group of its settings.
func (q *Queue) join(now int64) {
	name, g := q.own().Group, q.group()
	if g == nil && name == "" || g != nil && g.name == name || q.retired {
		return
	}
	q.leave(now)
	if name == "" {
		return
	}
	g = q.Crawl.group(name, now)
	q.needMore().group = g
	g.running += q.running()
	g.members++
	g.recall(q)
}

// leave takes the queue out of its group and all heaps.
func (q *Queue) leave(now int64) {
	q.unfile()
	if g := q.group(); g != nil {
		q.more.group = nil
		g.running -= q.running()
		g.members--
		g.choose(now)
	}
}

// Drop takes an idle queue, which is dropped from memory, out of its group.
func (q *Queue) Drop() {
	if g := q.group(); g != nil {
		q.leave(q.Crawl.clock)
	}
}

// Recall notes the last take of a queue that does not stay in memory, for its group.
func (q *Queue) Recall(now int64) {
	q.join(now)
	q.Drop()
}

// FileLate files up to n members of groups that waited until all queues were loaded. It returns the unused rest of n.
func (s *Sched) FileLate(now int64, n int) int {
	for ; n > 0 && len(s.late) > 0; n-- {
		q := s.late[0]
		if s.late = s.late[1:]; q.place == isLate { // or it was filed, or dropped
			q.File(now)
		}
	}
	if len(s.late) == 0 {
		s.late = nil
	}
	return n
}

// Filing reports whether some queues that may be served are not filed yet.
func (s *Sched) Filing() bool { return s.Loading || len(s.late) > 0 }

// recall notes the last take of a queue, unless another was served later. Ties are broken by name, so a restart changes nothing.
func (g *group) recall(q *Queue) {
	if q.LastTake > 0 && (g.by == nil || q.LastTake > g.by.LastTake || q.LastTake == g.by.LastTake && q.Name >= g.by.Name) {
		g.by = q
	}
}

// gateOf returns when the gate opens after the last take of a queue.
func gateOf(q *Queue) int64 { return q.LastTake + q.delay(q.LastDelay) }

// gate returns when the gate of a group opens, 0 without one.
func (g *group) gate() int64 {
	if g == nil || g.by == nil {
		return 0
	}
	return gateOf(g.by)
}

// group returns a group, made if need be. It drops unused groups once there are many.
func (c *Crawl) group(name string, now int64) *group {
	g := c.groups[name]
	if g != nil {
		return g
	}
	if len(c.groups) > 2*c.swept+1000 {
		for name, g := range c.groups {
			if g.members == 0 && (g.by == nil || gateOf(g.by) <= now) {
				delete(c.groups, name)
			}
		}
		c.swept = len(c.groups)
	}
	if c.groups == nil {
		c.groups = map[string]*group{}
	}
	g = &group{name: name, line: newLine()}
	c.groups[name] = g
	return g
}

// has reports whether the queue is ready but for the gate.
func (g *group) has(q *Queue) bool { return g != nil && (g.front == q || q.place == inGroup) }

// opens reports whether such a queue may be served now, with the bound of a request.
func (g *group) opens(q *Queue, bound int, now int64) bool {
	bound = cmp.Or(q.bound(), bound)
	return g.gate() <= now && (bound <= 0 || g.running < bound)
}

// passes returns when the queue and the gate of its group are open.
func (q *Queue) passes(now int64) (int64, hold) {
	t, h := q.opens(now)
	if g := q.group(); g != nil && t != Never {
		if bound := q.bound(); bound > 0 && g.running >= bound {
			return Never, free
		}
		t = max(t, g.gate())
	}
	return t, h
}

// file puts a queue, which but for the gate may be served from t on, where it belongs.
func (g *group) file(q *Queue, t, now int64) {
	switch {
	case t <= now && g.has(q):
		q.hurry()
	case t <= now:
		q.unfile()
		q.enter(inGroup, &g.line)
	case q.place == inWaiting && g.front != q && q.wake() == t:
	default:
		if q.unfile(); t != Never {
			q.wait(t)
		}
	}
	g.choose(now)
}

// served notes that a queue, which is in no heap, was served and gave got leases.
func (g *group) served(q *Queue, got int, now int64) {
	if got > 0 {
		g.recall(q)
		g.hurried = g.hurries
	}
	g.hurries = false
	g.choose(now)
}

// choose chooses the front, and files it.
func (g *group) choose(now int64) {
	u := g.hasty(now)
	if g.hurried {
		u = nil
	}
	if q := g.front; q != nil && u != nil && !g.hurries {
		q.unfile()
		q.enter(inGroup, &g.line)
	}
	if g.front == nil {
		switch g.hurries = u != nil; {
		case u != nil:
			g.front = u.Queue
		case g.queues.Len() > 0:
			g.front = g.queues.Top()
		default:
			return
		}
		g.front.out()
	}
	q := g.front
	if g.by != nil {
		g.by.rebase(now)
	}
	gate, bound := g.gate(), q.bound()
	switch {
	case bound > 0 && g.running >= bound:
		q.out()
	case gate > now:
		if q.place != inWaiting || q.wake() != gate {
			q.out()
			q.wait(gate)
		}
	case q.place == inReady && q.class == q.classOf():
		q.hurry()
	default:
		q.out()
		q.ready()
	}
}
