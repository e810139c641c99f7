package sched

import (
	"bytes"
	"cmp"

	"github.com/firstseen/firstseen/store"
)

// A lease is in a heap of its crawl while it runs. When it expires it moves to a heap of its queue, from which the next take
// hands it out again. It is also in a list of its queue, for listing and forgetting a queue.

// Record is a held URL.
type Record struct {
	Key       store.Key
	URL       string
	Meta      []byte
	Due       int64
	Created   int64
	Ended     int64  // when it was completed or dropped, 0 while it is held
	Seq       uint64 // order of arrival
	Attempts  uint32
	Priority  uint8
	Respelled bool
	// Cut means that Shorten dropped the metadata, and the URL too if that is empty.
	Cut bool
	// Earlier holds the other tokens of its round, ascending. It is never changed in place.
	Earlier []uint64
}

// Shorten drops the metadata, and then the URL, until both have at most the given number of
// bytes together. The backend must have them elsewhere.
func (r *Record) Shorten(bound int64) {
	if Size(r) > bound {
		r.Meta, r.Cut = nil, true
	}
	if Size(r) > bound {
		r.URL = ""
	}
}

// Place returns the place of the URL among those of its priority.
func (r *Record) Place() Head { return Head{Due: r.Due, Seq: r.Seq} }

// Entry returns the record as callers see it, queued.
func (r *Record) Entry(q *Queue) store.Entry {
	return store.Entry{
		Key: r.Key, State: store.Queued, Crawl: q.Crawl.Name, Queue: q.Name,
		URL: r.URL, Meta: bytes.Clone(r.Meta), Due: Time(r.Due), Created: Time(r.Created), Ended: Time(r.Ended),
		Priority: r.Priority, Attempts: int(r.Attempts), Respelled: r.Respelled,
	}
}

// Lease is a URL in the hands of a fetcher.
type Lease struct {
	Record
	Queue  *Queue
	Token  uint64
	Given  int64 // when it began, or was extended; 0: not known
	Until  int64
	Client string // of the request that took it
	late   bool   // it ran out
	over   bool   // it was overtaken: the record is empty but for the key
	slot   int32
	// before and after are its neighbours among the leases of its queue.
	before, after *Lease
}

// Entry returns the lease as callers see it. r is its record, not cut.
func (l *Lease) Entry(r Record) store.Entry {
	e := r.Entry(l.Queue)
	e.State, e.Token, e.Expires, e.Leased, e.Client = store.Leased, l.Token, Time(l.Until), Time(l.Given), l.Client
	return e
}

func (l *Lease) slotOf() *int32 { return &l.slot }

func (l *Lease) endsBefore(b *Lease) bool {
	return l.Until < b.Until || l.Until == b.Until && l.Token < b.Token
}

// Compare orders leases as they are listed: by their end, then by their token.
func (l *Lease) Compare(b *Lease) int {
	return cmp.Or(cmp.Compare(l.Until, b.Until), cmp.Compare(l.Token, b.Token))
}

// Lease leases a queued URL from now until the given time. The queue has to be
// filed afterwards.
func (q *Queue) Lease(r Record, token uint64, now, until int64) *Lease {
	l := &Lease{Record: r, Queue: q, Token: token, Given: now, Until: until}
	q.count(delta{queued: -1, live: 1})
	l.run()
	return l
}

// Restore puts back a stored lease, which its crawl already counts as held.
func (q *Queue) Restore(r Record, token uint64, given, until, now int64) *Lease {
	l := &Lease{Record: r, Queue: q, Token: token, Given: given, Until: until}
	l.rebase(now)
	q.live++
	q.Crawl.leased++
	l.run()
	return l
}

func (l *Lease) run() {
	c, q := l.Queue.Crawl, l.Queue
	if c.Leases == nil {
		c.Leases = make(map[store.Key]*Lease)
	}
	if !q.retired { // or the key may be in another queue
		c.Leases[l.Key] = l
	}
	c.leases.Push(l)
	l.link()
}

// link puts the lease into the list of its queue.
func (l *Lease) link() {
	q := l.Queue
	if l.after = q.leases; l.after != nil {
		l.after.before = l
	}
	q.leases = l
}

// expire moves a lease that ran out to those that its queue hands out again. An overtaken lease just ends.
func (l *Lease) expire(now int64) {
	q := l.Queue
	if l.over {
		l.Close()
		if closed := q.Crawl.sched.Closed; closed != nil {
			closed(l)
		}
		q.File(now)
		return
	}
	q.Crawl.leases.Remove(l)
	q.count(delta{live: -1, late: 1})
	l.late = true
	m := q.needMore()
	if m.expired == nil {
		m.expired = NewHeap((*Lease).endsBefore, (*Lease).slotOf)
		if q.Crawl.expired == nil {
			q.Crawl.expired = map[*Queue]struct{}{}
		}
		q.Crawl.expired[q] = struct{}{}
	}
	m.expired.Push(l)
	q.File(now)
}

// Expired returns the lease of the queue that ran out first, nil if none did.
func (q *Queue) Expired() *Lease {
	if expired := q.rare().expired; expired != nil {
		return expired.Top()
	}
	return nil
}

// Leases returns up to n leases of the queue, overtaken ones too, in no order.
func (q *Queue) Leases(n int64) []*Lease {
	list := make([]*Lease, 0, min(n, q.Leased()+int64(q.rare().over)))
	for l := q.leases; l != nil && len(list) < cap(list); l = l.after {
		list = append(list, l)
	}
	return list
}

// heap returns the heap that the lease is in.
func (l *Lease) heap() *Heap[*Lease] {
	if l.late {
		return l.Queue.more.expired
	}
	return l.Queue.Crawl.leases
}

// out takes the lease out of its heap.
func (l *Lease) out() {
	q := l.Queue
	l.heap().Remove(l)
	q.count(delta{live: -int32(one(!l.late)), late: -int32(one(l.late))})
	l.late = false
	if m := q.more; m != nil && m.expired != nil && m.expired.Len() == 0 {
		m.expired = nil
		delete(q.Crawl.expired, q)
	}
}

// End ends the lease: the URL is no longer held. The queue has to be filed
// afterwards.
func (l *Lease) End() {
	l.out()
	if c := l.Queue.Crawl; !l.Queue.retired || c.Leases[l.Key] == l { // or the key is leased elsewhere
		delete(c.Leases, l.Key)
	}
	l.unlink()
}

func (l *Lease) unlink() {
	if l.before != nil {
		l.before.after = l.after
	} else {
		l.Queue.leases = l.after
	}
	if l.after != nil {
		l.after.before = l.before
	}
	l.before, l.after = nil, nil
}

// Renew lets the lease run under the token until the given time; a replaced token becomes an earlier one. The queue has
// to be filed afterwards.
func (l *Lease) Renew(token uint64, now, until int64) {
	l.out()
	if token != l.Token {
		l.pass(l.Token)
	}
	l.Token, l.Given, l.Until = token, now, until
	l.Queue.count(delta{live: 1})
	l.Queue.Crawl.leases.Push(l)
}

// An overtaken lease no longer holds its URL, which an earlier token completed or requeued, but its fetcher may still be at
// the host. It counts towards MaxInFlight until it is settled or expires. A key has at most one.

// Overtakes reports whether a settlement that is applied to a URL under this lease overtakes it.
func (l *Lease) Overtakes(s *store.Settlement, now int64) bool {
	return s.Token != 0 && s.Token != l.Token && l.Until > now
}

// Running returns the overtaken lease of a key if it still runs, else nil.
func (c *Crawl) Running(key *store.Key, now int64) *Lease {
	if l := c.Overtaken[*key]; l != nil && l.Until > now {
		return l
	}
	return nil
}

// Due returns when a URL that a settlement queues is due: not before the end of its overtaken lease, whose fetcher is still at the page. A URL
// that would be due now gets exactly that end, by which [Lease.Keeps] recognizes it if the lease ends earlier. One that would be due in
// between gets a millisecond more, and keeps it even if the lease ends earlier: its row has one time, and no room for the requested one.
func (c *Crawl) Due(s *store.Settlement, now int64) int64 {
	due, l := Due(s, now), c.Running(&s.Key, now)
	switch {
	case l == nil || due > l.Until:
		return due
	case due > now:
		return l.Until + 1
	}
	return l.Until
}

// Overtake ends the lease as [Lease.End] does, and returns the overtaken lease in its place. The caller closes an older one of the key.
func (l *Lease) Overtake() *Lease {
	l.End()
	return l.Queue.RestoreOvertaken(l.Key, l.Token, l.Given, l.Until, l.Queue.Crawl.clock)
}

// RestoreOvertaken puts back a stored overtaken lease. The queue has to be filed afterwards.
func (q *Queue) RestoreOvertaken(key store.Key, token uint64, given, until, now int64) *Lease {
	c := q.Crawl
	l := &Lease{Record: Record{Key: key}, Queue: q, Token: token, Given: given, Until: until, over: true}
	l.rebase(now)
	if c.Overtaken == nil {
		c.Overtaken = map[store.Key]*Lease{}
	}
	c.Overtaken[key] = l
	c.leases.Push(l)
	q.count(delta{over: 1})
	l.link()
	return l
}

// Keeps reports whether the URL of the key, with this state and due time, waits only for this overtaken lease. If the clock was
// set back since, the lease has a new end, but the URL's due time is not moved, and it waits until the old one.
func (l *Lease) Keeps(s store.State, due int64) bool { return s == store.Queued && due == l.Until }

// Over reports whether the lease was overtaken.
func (l *Lease) Over() bool { return l.over }

// Close ends an overtaken lease. The queue has to be filed afterwards.
func (l *Lease) Close() {
	c := l.Queue.Crawl
	c.leases.Remove(l)
	if c.Overtaken[l.Key] == l {
		delete(c.Overtaken, l.Key)
	}
	l.Queue.count(delta{over: -1})
	l.unlink()
}

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
	for _, leases := range []map[store.Key]*Lease{c.Leases, c.Overtaken} {
		for _, l := range leases {
			h := l.heap()
			h.Remove(l)
			if l.rebase(now); l.late {
				l.Until = min(l.Until, now)
			}
			h.Push(l)
		}
	}
	Refile(c.waiting.Members(), now)
}

// rebase counts a lease again from now if it was given while the clock was ahead.
func (l *Lease) rebase(now int64) {
	if l.Given > now {
		l.Given, l.Until = now, now+max(0, l.Until-l.Given)
	}
}

// rebase counts the delay of a queue again from now, and what NotBefore adds to it,
// if they were set while the clock was ahead.
func (q *Queue) rebase(now int64) {
	if q.LastTake > now {
		q.past().LastTake = now
	}
	if q.NotBeforeAt > now {
		q.PutOff(now+max(0, q.NotBefore-q.NotBeforeAt), now)
	}
}
