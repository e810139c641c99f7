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
	step, answer := sched.Judge(st, fact)
	var q *queue
	switch step {
	case sched.Refuse:
		return answer
	case sched.Make:
		q = s.make(s.crawl(name), st, now)
	case sched.Apply:
		q = s.apply(c, c.known[st.Key], st, now)
	case sched.Same:
		q = c.known[st.Key].queue
	}
	if st.QueueChange != nil {
		q.Configure(st.QueueChange)
	}
	q.File(now)
	return answer
}

func (c *crawl) fact(key store.Key) sched.Fact {
	k := c.known[key]
	if k == nil {
		return sched.Fact{}
	}
	f := sched.Fact{Known: true, State: k.state, Text: k.text}
	if k.state == store.Leased {
		f.Token = c.Leases[key].Token
	}
	return f
}

// make applies an outcome to a URL made from the settlement.
func (s *Store) make(c *crawl, st *store.Settlement, now int64) *queue {
	k := c.known[st.Key]
	if k == nil {
		k = c.record(st.Key, now)
	}
	k.undo(now)
	k.URL, k.Meta, k.Priority, k.Attempts = st.URL, bytes.Clone(st.Meta), 0, 0
	k.keepText(now)
	k.queue = c.queue(st.Queue)
	k.Change(st)
	s.outcome(k, st, now)
	return k.queue
}

// apply applies an outcome to a URL whose text is there.
func (s *Store) apply(c *crawl, k *known, st *store.Settlement, now int64) *queue {
	l := c.Leases[st.Key]
	if l != nil && st.Outcome == store.Extend {
		l.Change(st)
		l.Renew(l.Token, sched.MsOr(st.Due, now))
		k.Record = l.Record
		return k.queue
	}
	switch k.state {
	case store.Leased:
		k.Record = l.Record
		l.End()
	case store.Queued:
		k.queue.pull(k)
		k.queue.Add(-1, 0)
	case store.Done:
		k.undo(now)
		k.Attempts = 0
	}
	k.Change(st)
	s.outcome(k, st, now)
	return k.queue
}

// outcome applies an outcome to a URL that is held no longer.
func (s *Store) outcome(k *known, st *store.Settlement, now int64) {
	k.state = store.SeenOnly
	switch st.Outcome {
	case store.Complete:
		k.queue.Add(0, 1)
		k.state, k.Due = store.Done, 0
		k.forgetText(!s.opt.KeepURLs)
	case store.Requeue:
		k.Due = sched.MsOr(st.Due, now)
		s.push(k.queue, k)
		k.queue.Add(1, 0)
	case store.Drop:
		k.forgetText(true)
	}
}

// forgetText drops the text, if so, of a URL that is no longer held.
func (k *known) forgetText(drop bool) {
	if drop {
		k.URL, k.Meta, k.text = "", nil, false
	}
}
