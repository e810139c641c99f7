package memstore

import (
	"bytes"
	"context"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Settle ends leases and reschedules or completes URLs.
func (s *Store) Settle(ctx context.Context, name string, list []store.Settlement) ([]store.SettleStatus, error) {
	name, err := sched.CrawlName(name)
	if err != nil {
		return nil, err
	}
	if err := sched.CheckSettlements(list); err != nil {
		return nil, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	now := s.now()
	answers := make([]store.SettleStatus, len(list))
	for i := range list {
		answers[i] = s.settle(name, &list[i], now)
	}
	return answers, nil
}

func (s *Store) settle(name string, st *store.Settlement, now int64) store.SettleStatus {
	c := s.crawls[name]
	fact := sched.Fact{}
	if c != nil {
		fact = c.fact(st.Key)
	}
	step, answer := sched.Judge(st, fact, s.opt.KeepURLs)
	var q *queue
	switch step {
	case sched.Leave:
		return answer
	case sched.Make:
		q = s.make(s.crawl(name), st, now)
	case sched.Apply:
		q = s.apply(c, c.known[st.Key], st, now)
	case sched.Same:
		q = c.known[st.Key].queue
	}
	if st.QueueChange != nil {
		q.Configure(st.QueueChange, now)
	}
	q.File(now)
	return answer
}

func (c *crawl) fact(key store.Key) sched.Fact {
	k := c.known[key]
	if k == nil {
		return sched.Fact{}
	}
	f := sched.Fact{Known: true, State: k.state}
	if k.state == store.Leased {
		f.Token = c.Leases[key].Token
	}
	return f
}

// make applies an outcome to a URL made from the settlement.
func (s *Store) make(c *crawl, st *store.Settlement, now int64) *queue {
	k := c.known[st.Key]
	if k == nil {
		k = c.record(st.Key, s.stamp())
	}
	k.leaveEnd(now)
	k.URL, k.Meta, k.Priority, k.Attempts = st.URL, bytes.Clone(st.Meta), 0, 0
	k.queue = c.queue(st.Queue)
	k.Change(st)
	return s.outcome(k, st, now)
}

// apply applies an outcome to a URL whose text is there.
func (s *Store) apply(c *crawl, k *known, st *store.Settlement, now int64) *queue {
	l := c.Leases[st.Key]
	if l != nil && st.Outcome == store.Extend {
		l.Change(st)
		l.Renew(l.Token, now, sched.Due(st, now))
		k.Record = l.Record
		return k.queue
	}
	switch k.state {
	case store.Leased:
		k.Record = l.Record
		l.End()
	case store.Queued:
		k.queue.pull(k)
		k.queue.Add(-1)
	default:
		k.leaveEnd(now)
		k.Attempts = 0
	}
	k.Change(st)
	return s.outcome(k, st, now)
}

// outcome applies an outcome to a URL that is not held and not counted, and returns
// its queue.
func (s *Store) outcome(k *known, st *store.Settlement, now int64) *queue {
	q := k.queue
	switch st.Outcome {
	case store.Complete:
		s.end(k, store.Done)
	case store.Drop:
		s.end(k, store.Dropped)
	case store.Requeue:
		k.Due = sched.Due(st, now)
		s.push(k)
		q.Add(1)
	}
	return q
}

// end ends a URL as done or dropped.
func (s *Store) end(k *known, state store.State) {
	k.queue.End(state, 1)
	k.state, k.Due = state, 0
	if !s.opt.KeepURLs {
		k.state, k.queue, k.Record = store.SeenOnly, nil, sched.Record{Key: k.Key}
	}
}
