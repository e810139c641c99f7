package pebblestore

import (
	"context"
	"fmt"

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
	o := &settleOp{crawl: crawl, list: list, answers: make([]store.SettleStatus, len(list))}
	if err := s.do(ctx, len(list), o.apply); err != nil {
		return nil, err
	}
	return o.answers, nil
}

// Settlements are carried out one by one: each finds its URL and changes it, so two of one key are judged in turn. The first part
// settles up to 2,048 leases.

type settleOp struct {
	crawl   string
	list    []store.Settlement
	answers []store.SettleStatus
	done    int         // settlements in the parts before
	c       *crawl      // as this part finds it; nil until a settlement makes it
	aged    []store.Key // of this part: fetched, and perhaps recorded long ago
}

func (o *settleOp) apply(tx *txn) error {
	left := urlsOfRow * tx.left.rows
	part := o.list[o.done:min(o.done+left, len(o.list))]
	o.c, o.aged = tx.s.crawls[o.crawl], nil
	if o.c != nil && tx.s.readsRows(o.c, part) {
		tx.flush()
	}
	defer func() { tx.renew(o.c, o.aged) }()
	for ; o.done < len(o.list); o.done++ {
		if left <= 0 {
			return errRest
		}
		rows, aged := tx.left.rows, len(o.aged)
		o.answers[o.done] = o.settleOne(tx, &o.list[o.done])
		if left -= 1 + urlsOfRow*(rows-tx.left.rows); len(o.aged) > aged {
			left -= urlsOfRow - 1
		}
	}
	return nil
}

// readsRows reports whether the settlements need more than the leases in memory: then earlier steps must be readable.
func (s *Store) readsRows(c *crawl, list []store.Settlement) bool {
	for i := range list {
		st := &list[i]
		l := c.queues.Leases[st.Key]
		if l == nil && (st.Token == 0 || st.Late || c.queues.Overtaken[st.Key] != nil) || l != nil && l.Cut && s.keeps(st) {
			return true
		}
	}
	return false
}

// keeps reports whether the text of a URL remains when it is settled.
func (s *Store) keeps(st *store.Settlement) bool {
	return s.opt.KeepURLs || st.Outcome == store.Requeue || st.Outcome == store.Extend
}

// settleOne reads all that it needs before it changes anything. What damage makes unreadable is Unreadable, and
// unchanged.
func (o *settleOp) settleOne(tx *txn, st *store.Settlement) store.SettleStatus {
	f, known, err := tx.fact(o.c, st)
	fact := sched.Fact{Known: known, State: f.state, Due: f.rec.Due, Earlier: f.rec.Earlier}
	if f.lease != nil {
		fact.Token = f.lease.Token
	}
	if o.c != nil {
		fact.Overtaken = o.c.queues.Running(&st.Key, sched.Now(tx.now))
	}
	step, answer := sched.Judge(st, fact, tx.s.opt.KeepURLs)
	switch {
	case err != nil:
	case step == sched.Make:
		o.c = tx.crawl(o.crawl, true)
		f.queue, err = tx.queue(o.c, st.Queue)
	case step == sched.Apply && f.lease != nil && tx.s.keeps(st):
		f.rec, err = tx.withTexts(f.lease)
	}
	if err != nil {
		if !tx.isDamage(err) {
			tx.fail(err)
			return store.Unreadable
		}
		if step != sched.Close { // what is left of a lease needs no row
			return store.Unreadable
		}
	}
	o.carryOut(tx, step, st, &f, known)
	return answer
}

// carryOut changes what a settlement changes: nothing in it has to be read, or can fail for this URL alone.
func (o *settleOp) carryOut(tx *txn, step sched.Step, st *store.Settlement, f *found, known bool) {
	c, now := o.c, sched.Now(tx.now)
	switch step {
	case sched.Leave:
		return
	case sched.Close:
		tx.closeOvertaken(c, &st.Key)
		return
	case sched.Same: // an old log must not move a later end back
		if at := sched.Ended(st, f.rec.Ended, now); !st.Ended.IsZero() && at > f.rec.Ended {
			f.rec.Ended = at
			tx.set(appendDoneRow(nil, c.num, f.queue.id, &st.Key), appendDone(nil, &f.rec, store.Done))
		}
	case sched.Resume:
		st = &store.Settlement{Key: st.Key, Outcome: store.Requeue}
		tx.applySettled(c, st, f)
	case sched.Make:
		if tx.makeSettled(c, st, f, known); st.Fetched && known && tx.ages(c) {
			o.aged = append(o.aged, st.Key)
		}
	case sched.Apply:
		if tx.applySettled(c, st, f); st.Fetched && tx.aged(c, &f.rec) {
			o.aged = append(o.aged, st.Key)
		}
	}
	if st.QueueChange != nil {
		f.queue.Configure(st.QueueChange, now)
	}
	tx.changedQueue(f.queue)
}

// fact finds a key, and reports whether it is known. It looks only at the leases if the settlement has a token, is not late, and its token can't be
// an overtaken lease's. A lease may lack texts, which only its row has.
func (tx *txn) fact(c *crawl, st *store.Settlement) (f found, known bool, err error) {
	if c == nil {
		return f, false, nil
	}
	l := c.queues.Leases[st.Key]
	switch {
	case l != nil && !l.Queue.Retired(): // a leased key is known
		return leasedAt(l), true, nil
	case st.Token != 0 && !st.Late && c.queues.Overtaken[st.Key] == nil:
		return f, false, nil
	}
	tx.left.rows--
	if known, err = c.seen.has(&st.Key); known && err == nil {
		tx.left.rows -= rowsOfURL - 1
		f, err = tx.findOne(c, &st.Key)
	}
	return f, known, err
}

// makeSettled applies an outcome to a URL made from the settlement.
func (tx *txn) makeSettled(c *crawl, st *store.Settlement, f *found, known bool) {
	f.rec = sched.Record{Key: st.Key, URL: st.URL, Meta: st.Meta, Created: sched.Now(tx.now)}
	f.rec.Change(st)
	tx.anew(c, &st.Key)
	tx.s.texts.drop(c.num, &st.Key)
	if !known {
		c.seen.add(&st.Key)
		tx.packFresh(c, []store.Key{st.Key}, oneKey, []bool{true})
	}
	if st.UnicodeHost {
		tx.unicodeHosts()
	}
	tx.outcome(c, st, f, 0, true)
}

// applySettled applies an outcome to a URL whose text is there.
func (tx *txn) applySettled(c *crawl, st *store.Settlement, f *found) {
	if st.Outcome == store.Extend {
		tx.extend(c, st, f)
		return
	}
	l, was := f.lease, f.rec.Ended
	switch {
	case l == nil && !f.held():
		tx.anew(c, &st.Key)
		f.rec.Anew()
	case st.Token == 0:
		tx.closeOvertaken(c, &st.Key)
	}
	if l != nil {
		f.rec.Earlier = l.Past(st).Earlier
	}
	if l != nil && l.Overtakes(st, sched.Now(tx.now)) {
		tx.closeOvertaken(c, &st.Key)
		tx.deleteLease(l)
		tx.writeLease(l.Overtake())
		tx.s.texts.drop(c.num, &st.Key)
		tx.changedQueue(f.queue)
	} else {
		tx.release(c, f)
	}
	f.rec.Change(st)
	tx.outcome(c, st, f, was, false)
}

// extend lets a lease run on, with what the settlement changes of its record.
func (tx *txn) extend(c *crawl, st *store.Settlement, f *found) {
	l, now := f.lease, sched.Now(tx.now)
	l.Record = f.rec
	if l.Change(st); st.URL != "" {
		tx.s.texts.put(c.num, &st.Key, l.URL)
	}
	l.Renew(l.Token, now, sched.Due(st, now))
	tx.deleteLease(l)
	tx.writeLease(l)
}

// outcome queues a released URL, or ends it as done or dropped. If the text of an ended URL
// is kept, its place names the queue. made: it has no place yet; was: when it had ended before, 0 if it had not.
func (tx *txn) outcome(c *crawl, st *store.Settlement, f *found, was int64, made bool) {
	k, state := &f.rec.Key, store.Done
	f.queue.Result(st)
	if st.Mark != 0 && !f.rec.Respelled {
		tx.mark(c, k, st.Mark)
	}
	switch st.Outcome {
	case store.Requeue:
		f.rec.Due = c.queues.Due(st, sched.Now(tx.now))
		p := tx.enqueue(c, f.queue, &f.rec)
		tx.setPlace(c, k, &p)
		return
	case store.Drop:
		state = store.Dropped
	}
	f.queue.End(state, 1)
	f.rec.Due, f.rec.Ended = 0, sched.Ended(st, was, sched.Now(tx.now))
	if !tx.s.opt.KeepURLs {
		if !tx.s.sched.retiring(c) { // or it says that the URL was queued elsewhere since (ownedBy)
			tx.s.sched.places.remove(&placeKey{c.num, *k})
		}
		return
	}
	p := pointer{queue: f.queue.id}
	tx.s.texts.put(c.num, k, f.rec.URL)
	tx.set(appendDoneRow(nil, c.num, p.queue, k), appendDone(nil, &f.rec, state))
	if made {
		tx.setPlace(c, k, &p)
	}
}

// A client may lease any number of URLs, each with a URL and metadata of 128 KiB. So a lease keeps at most leaseBytes
// of them in memory. Longer ones are read from the row of the lease, which exists as long as the lease.

// withTexts returns the record of a lease, with texts that only its row has.
func (tx *txn) withTexts(l *sched.Lease) (sched.Record, error) {
	rec := l.Record
	if !rec.Cut { // reader costs a batch its speed
		return rec, nil
	}
	err := readTexts(tx.reader(), l.Token, &rec)
	return rec, err
}

// readTexts reads the texts of a lease from its row.
func readTexts(rows rowGetter, token uint64, rec *sched.Record) error {
	key, k := appendLongRow(nil, tableLease, token), rec.Key
	rec.Cut = true
	err := readRow(rows, key, func(value []byte) error {
		row, err := parseLease(key, value)
		rec.URL, rec.Meta, rec.Cut = row.rec.URL, row.rec.Meta, false
		return err
	})
	if err == nil && rec.Cut {
		err = fmt.Errorf("cannot read lease %d of key %x; got no row: %w", token, k[:], store.ErrCorrupt)
	}
	return err
}

// writeLease writes the row of a lease, and shortens the lease.
func (tx *txn) writeLease(l *sched.Lease) {
	tx.key = appendLongRow(tx.key[:0], tableLease, l.Token)
	tx.value = appendLease(tx.value[:0], l)
	tx.set(tx.key, tx.value)
	l.Shorten(tx.s.opt.leaseBytes)
}

func (tx *txn) deleteLease(l *sched.Lease) {
	tx.key = appendLongRow(tx.key[:0], tableLease, l.Token)
	tx.singleDelete(tx.key)
}
