package pebblestore

import (
	"context"
	"errors"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
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
	o := &settleOp{crawl: crawl, list: list, answers: make([]store.SettleStatus, len(list))}
	if err := s.do(ctx, o); err != nil {
		return nil, err
	}
	return o.answers, nil
}

type settleOp struct {
	crawl   string
	list    []store.Settlement
	answers []store.SettleStatus
	damaged map[store.Key]bool // keys that cannot be looked up
}

func (o *settleOp) weight() int { return max(1, len(o.list)) }

func (o *settleOp) apply(tx *txn) error {
	if err := o.prepare(tx); err != nil {
		return err
	}
	for i := range o.list {
		if st := &o.list[i]; st.Token == 0 && o.damaged[st.Key] {
			o.answers[i] = store.Unreadable
		} else {
			o.answers[i] = tx.settle(o.crawl, st)
		}
	}
	return nil
}

// prepare looks up the keys that the seen-set will be asked for, so that an error leaves everything
// as it was. It makes earlier steps readable if the leases in memory do not have all that is needed.
func (o *settleOp) prepare(tx *txn) error {
	c := tx.s.crawls[o.crawl]
	if c == nil {
		return nil
	}
	reads := false
	for i := range o.list {
		st := &o.list[i]
		l := c.queues.Leases[st.Key]
		reads = reads || l == nil && st.Token == 0 || l != nil && l.Cut && tx.s.keeps(st)
		if st.Token == 0 && !c.seen.trusted() {
			_, err := c.seen.has(&st.Key)
			switch {
			case errors.Is(err, runfile.ErrDamaged):
				if o.damaged == nil {
					o.damaged = map[store.Key]bool{}
				}
				o.damaged[st.Key] = l == nil || l.Queue.Retired() // a leased key is known
			case err != nil:
				return err
			}
		}
	}
	if reads {
		tx.flush()
	}
	return nil
}

// keeps reports whether the text of a URL remains when it is settled.
func (s *Store) keeps(st *store.Settlement) bool {
	return s.opt.KeepURLs || st.Outcome == store.Requeue || st.Outcome == store.Extend
}

func (tx *txn) settle(crawl string, st *store.Settlement) store.SettleStatus {
	c := tx.s.crawls[crawl]
	f, known := tx.fact(c, st)
	fact := sched.Fact{Known: known, State: f.state}
	if f.lease != nil {
		fact.Token = f.lease.Token
	}
	step, answer := sched.Judge(st, fact, tx.s.opt.KeepURLs)
	switch step {
	case sched.Leave:
		return answer
	case sched.Make:
		c = tx.crawl(crawl, true)
		tx.makeSettled(c, st, &f, known)
	case sched.Apply:
		tx.applySettled(c, st, &f)
	}
	if st.QueueChange != nil {
		f.queue.Configure(st.QueueChange, sched.Now(tx.now))
	}
	tx.changedQueue(f.queue)
	return answer
}

// fact finds a key, and reports whether it is known; for a settlement with a token it
// looks no further than to the leases.
func (tx *txn) fact(c *crawl, st *store.Settlement) (found, bool) {
	if c == nil {
		return found{}, false
	}
	l := c.queues.Leases[st.Key]
	switch {
	case l != nil && !l.Queue.Retired(): // a leased key is known
		return leasedAt(l), true
	case st.Token != 0:
		return found{}, false
	}
	known, err := c.seen.has(&st.Key)
	if tx.note(err); !known {
		return found{}, false
	}
	return tx.find(c, &st.Key), true
}

// makeSettled applies an outcome to a URL made from the settlement.
func (tx *txn) makeSettled(c *crawl, st *store.Settlement, f *found, known bool) {
	now := sched.Now(tx.now)
	rec := sched.Record{Key: st.Key, URL: st.URL, Meta: st.Meta, Created: now}
	rec.Change(st)
	tx.s.texts.drop(c.num, &st.Key)
	if !known {
		_, err := tx.recordSorted(c, []store.Key{st.Key}, first, make([]bool, 1)) // it was looked up before
		tx.note(err)
	}
	if st.UnicodeHost {
		tx.unicodeHosts()
	}
	f.queue, f.rec = tx.queue(c, st.Queue), rec
	tx.outcome(c, st, f, true)
}

// applySettled applies an outcome to a URL whose text is there.
func (tx *txn) applySettled(c *crawl, st *store.Settlement, f *found) {
	if f.lease != nil && tx.s.keeps(st) {
		f.rec = tx.whole(f.lease)
	}
	if st.Outcome == store.Extend {
		l := f.lease
		l.Record = f.rec
		l.Change(st)
		if st.URL != "" {
			tx.s.texts.put(c.num, &st.Key, l.URL)
		}
		now := sched.Now(tx.now)
		l.Renew(l.Token, now, sched.Due(st, now))
		l.Rewritten = true
		tx.writeLease(l)
		return
	}
	tx.release(c, f)
	if !f.held() {
		f.rec.Attempts = 0
	}
	f.rec.Change(st)
	tx.outcome(c, st, f, false)
}

// outcome queues a URL that was released, or ends it as done or dropped. If the text of one that ended
// is kept, its place names the queue. One that is made has no place yet.
func (tx *txn) outcome(c *crawl, st *store.Settlement, f *found, made bool) {
	k, state := &f.rec.Key, store.Done
	switch st.Outcome {
	case store.Requeue:
		f.rec.Due = sched.Due(st, sched.Now(tx.now))
		p := tx.enqueue(c, f.queue, &f.rec)
		tx.setPlace(c, k, &p)
		return
	case store.Drop:
		state = store.Dropped
	}
	f.queue.End(state, 1)
	f.rec.Due = 0
	if !tx.s.opt.KeepURLs {
		tx.s.sched.places.remove(&placeKey{c.num, *k})
		return
	}
	p := pointer{queue: uint32(f.queue.ID)}
	tx.s.texts.put(c.num, k, f.rec.URL)
	tx.set(appendDoneRow(nil, c.num, p.queue, k), appendDone(nil, &f.rec, state))
	if made {
		tx.setPlace(c, k, &p)
	}
}
