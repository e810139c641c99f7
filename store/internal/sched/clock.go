package sched

// A clock may be ahead for a while and then be put right. What was written while
// it was ahead must not hold anything up for as long as it was ahead. So each time
// that is counted from a reading of the clock is kept with that reading. If the
// reading is later than now, the clock was set back since: the time is counted
// again from now.

// slack is how far, in ms, the clock may go back without a look at the leases and
// queues that wait: they then wait longer by no more than this.
const slack = 1000

// follow notes the time. If the clock was set back, it looks at the leases and at
// the queues that wait.
func (c *Crawl) follow(now int64) {
	if now+slack < c.clock {
		c.clock = now
		c.setBack(now)
	}
	c.clock = max(c.clock, now)
}

func (c *Crawl) setBack(now int64) {
	for _, l := range c.Leases {
		if l.late {
			l.Queue.expired.Remove(l)
			l.Until = min(l.Until, now)
			l.Queue.expired.Push(l)
		} else if l.Given > now {
			c.leases.Remove(l)
			l.rebase(now)
			c.leases.Push(l)
		}
	}
	Refile(c.waiting.Members(), now)
}

// rebase counts a lease again from now if it was given by a clock that was ahead.
func (l *Lease) rebase(now int64) {
	if l.Given > now {
		l.Given, l.Until = now, now+max(0, l.Until-l.Given)
	}
}

// rebase counts the delay of a queue again from now, and what NotBefore adds to it,
// if they were written by a clock that was ahead.
func (q *Queue) rebase(now int64) {
	q.LastTake = min(q.LastTake, now)
	if q.NotBeforeAt > now {
		q.NotBefore, q.NotBeforeAt = now+max(0, q.NotBefore-q.NotBeforeAt), now
	}
}
