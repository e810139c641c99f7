package pebblestore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// A lease outlives the process that issued it: with a server, the fetcher is another process and may still send its result. In
// a program with its own fetchers, the leases of the previous process are dead, and their URLs would wait in vain until the
// leases end. Only the program knows which case it is, so Open frees the leases if Options.FreeLeases is set, and
// otherwise logs how many there are.

// leftLeases frees the leases that Open found, or logs how many there are.
func (s *Store) leftLeases() error {
	s.mu.Lock()
	now := s.opt.Clock()
	var left []*sched.Lease
	running, last := 0, now
	for _, c := range s.crawls {
		for _, l := range c.queues.Leases {
			if left = append(left, l); l.Until > sched.Now(now) {
				running++
				last = sched.Time(max(l.Until, sched.Ms(last)))
			}
		}
		for _, l := range c.queues.Overtaken {
			left = append(left, l)
		}
	}
	s.mu.Unlock()
	switch {
	case s.opt.Mode == OpenReadOnly:
	case s.opt.FreeLeases && len(left) > 0:
		slices.SortFunc(left, func(a, b *sched.Lease) int { return cmp.Compare(a.Token, b.Token) })
		if err := s.do(context.Background(), firstRows, (&freeOp{left}).apply); err != nil {
			return fmt.Errorf("cannot free the leases of an earlier process: %w", err)
		}
		s.opt.Logger.Info("freed the leases of an earlier process", "leases", len(left))
	case running > 0:
		s.opt.Logger.Info("leases of an earlier process keep their URLs; if its fetchers are gone, free them: firstseen free, or Options.FreeLeases at Open",
			"leases", running, "longest", last.Sub(now).Round(time.Second))
	}
	return nil
}

// freeOp queues the URLs of leases again, due immediately; their tokens become stale. The leases no longer count as attempts: a
// program may be restarted more often than a lease may expire, with the same slow page leased each time, and must not lose
// that page. The price is that a page which kills its process is never given up.
type freeOp struct{ left []*sched.Lease }

func (o *freeOp) apply(tx *txn) error {
	tx.flush()
	now := sched.Now(tx.now)
	for ; len(o.left) > 0; o.left = o.left[1:] {
		if tx.left.spent() {
			return errRest
		}
		tx.left.rows--
		l := o.left[0]
		c := queueOf(l.Queue).crawl()
		if l.Over() {
			if c.queues.Overtaken[l.Key] != l { // its time is over
				continue
			}
			f, _, err := tx.fact(c, &store.Settlement{Key: l.Key})
			if err != nil && !tx.isDamage(err) {
				return err
			}
			if err == nil && l.Keeps(f.state, f.rec.Due) {
				tx.applySettled(c, &store.Settlement{Key: l.Key, Outcome: store.Requeue}, &f)
			}
			tx.closeOvertaken(c, &l.Key)
			continue
		}
		rec, err := tx.withTexts(l)
		if err != nil && tx.isDamage(err) {
			continue // it stays leased until its end
		}
		if err != nil {
			return err
		}
		f := leasedAt(l)
		tx.release(c, &f)
		rec.Earlier, rec.Due, rec.Attempts = nil, now, max(rec.Attempts, 1)-1
		p := tx.enqueue(c, f.queue, &rec)
		tx.setPlace(c, &rec.Key, &p)
	}
	return nil
}
