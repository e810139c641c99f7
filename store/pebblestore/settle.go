package pebblestore

import (
	"bytes"
	"context"
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Settle implements store.Store.
func (s *Store) Settle(ctx context.Context, crawl string, list []store.Settlement) ([]store.SettleStatus, error) {
	crawl, err := sched.CrawlName(crawl)
	if err != nil {
		return nil, err
	}
	if err := sched.CheckSettlements(list); err != nil {
		return nil, err
	}
	o := &settleOp{crawl: crawl, list: ownSettlements(list), answers: make([]store.SettleStatus, len(list))}
	if err := s.do(ctx, o); err != nil {
		return nil, err
	}
	return o.answers, nil
}

// ownSettlements returns a copy for a step that may be read when its caller has gone on.
func ownSettlements(list []store.Settlement) []store.Settlement {
	list = slices.Clone(list)
	for i := range list {
		st := &list[i]
		st.Meta = bytes.Clone(st.Meta)
		own(&st.Priority)
		if own(&st.QueueChange); st.QueueChange != nil {
			ownChange(st.QueueChange)
		}
	}
	return list
}

// own makes *p point to a copy.
func own[T any](p **T) {
	if *p != nil {
		*p = new(**p)
	}
}

// ownChange makes ch point to copies.
func ownChange(ch *store.QueueChange) {
	own(&ch.Delay)
	own(&ch.MaxInFlight)
	own(&ch.BlockedUntil)
	own(&ch.Limit)
	own(&ch.Weight)
	own(&ch.Paused)
	own(&ch.NotBefore)
}

type settleOp struct {
	crawl   string
	list    []store.Settlement
	answers []store.SettleStatus
}

func (o *settleOp) weight() int { return max(1, len(o.list)) }

func (o *settleOp) apply(tx *txn) error {
	if o.reads(tx) {
		tx.flush()
	}
	for i := range o.list {
		o.answers[i] = tx.settle(o.crawl, &o.list[i])
	}
	tx.file()
	return nil
}

// reads reports whether the leases in memory are not all that is needed.
func (o *settleOp) reads(tx *txn) bool {
	c := tx.s.crawls[o.crawl]
	if c == nil {
		return false
	}
	qs := tx.s.queuesOf(c)
	for i := range o.list {
		if o.list[i].Token == 0 && qs.Leases[o.list[i].Key] == nil {
			return true
		}
	}
	return false
}

func (tx *txn) settle(crawl string, st *store.Settlement) store.SettleStatus {
	c := tx.s.crawls[crawl]
	var f found
	fact := sched.Fact{Known: c != nil && tx.known(c, &st.Key)}
	if fact.Known {
		f = tx.fact(c, st)
		fact.State, fact.Text = f.state, f.text
		if f.lease != nil {
			fact.Token = f.lease.Token
		}
	}
	step, answer := sched.Judge(st, fact)
	var q *sched.Queue
	switch step {
	case sched.Refuse:
		return answer
	case sched.Same:
		q = f.queue
	case sched.Make:
		c = tx.crawl(crawl, true)
		q = tx.makeSettled(c, st, &f, fact.Known)
	case sched.Apply:
		q = tx.applySettled(c, st, &f)
	}
	if st.QueueChange != nil {
		q.Configure(st.QueueChange)
	}
	tx.changedQueue(q)
	return answer
}

// fact finds a known key; not further than to its lease if that will do.
func (tx *txn) fact(c *crawl, st *store.Settlement) found {
	if st.Token != 0 && tx.s.queuesOf(c).Leases[st.Key] == nil {
		return found{}
	}
	return tx.find(c, &st.Key)
}

// makeSettled applies an outcome to a URL made from the settlement.
func (tx *txn) makeSettled(c *crawl, st *store.Settlement, f *found, known bool) *sched.Queue {
	now := sched.Now(tx.now)
	rec := sched.Record{Key: st.Key, URL: st.URL, Meta: st.Meta, Created: now}
	rec.Change(st)
	tx.s.texts.drop(c.num, &st.Key)
	if known {
		tx.release(c, f)
		if f.text {
			rec.Created = f.rec.Created
		}
	} else {
		tx.record(c, &st.Key)
		f.gen = c.gens[len(c.gens)-1]
	}
	if st.UnicodeHost {
		tx.unicodeHosts()
	}
	f.queue, f.rec = tx.queue(c, st.Queue), rec
	tx.outcome(c, st, f, true)
	return f.queue
}

// applySettled applies an outcome to a URL whose text is there.
func (tx *txn) applySettled(c *crawl, st *store.Settlement, f *found) *sched.Queue {
	if st.Outcome == store.Extend {
		l := f.lease
		l.Change(st)
		if st.URL != "" {
			tx.s.texts.put(c.num, &st.Key, l.URL)
		}
		l.Renew(l.Token, sched.MsOr(st.Due, sched.Now(tx.now)))
		l.Rewritten = true
		tx.set(appendLeaseRow(nil, l.Token), appendLease(nil, l))
		return f.queue
	}
	tx.s.texts.drop(c.num, &st.Key)
	tx.release(c, f)
	if f.state == store.Done {
		f.rec.Attempts = 0
	}
	f.rec.Change(st)
	tx.outcome(c, st, f, false)
	return f.queue
}

// outcome applies an outcome to a URL that was released. The seen row of one
// that is made points nowhere yet.
func (tx *txn) outcome(c *crawl, st *store.Settlement, f *found, made bool) {
	switch st.Outcome {
	case store.Complete:
		f.queue.Add(0, 1)
		f.rec.Due = 0
		if made {
			tx.point(c, f, &st.Key, &pointer{queue: uint32(f.queue.ID)})
		}
		if tx.s.opt.KeepURLs {
			tx.s.texts.put(c.num, &st.Key, f.rec.URL)
			tx.set(appendDoneRow(nil, c.num, uint32(f.queue.ID), &st.Key), appendPlaced(nil, &f.rec))
		}
	case store.Requeue:
		f.rec.Due = sched.MsOr(st.Due, sched.Now(tx.now))
		p := tx.enqueue(c, f.queue, &f.rec)
		tx.point(c, f, &st.Key, &p)
	case store.Drop:
		tx.point(c, f, &st.Key, &pointer{})
	}
}
