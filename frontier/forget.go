package frontier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/firstseen/firstseen/store"
)

// Selection names what to forget, in a crawl ("" is that of [Options.Crawl], "*" all).
// At most one of the other fields is set. With none, the whole crawl is forgotten.
type Selection struct {
	Crawl string
	// URLs to forget, in any variant. Their own Crawl is ignored. To forget URLs of a crawl
	// with a profile of its own, name it in Crawl: it has other keys.
	URLs []Link
	Keys []store.Key
	// Queue forgets the URLs of one queue: held ones, and completed or dropped ones where
	// the store keeps URLs.
	Queue string
	// Before forgets keys that were first recorded before this time and are not held.
	Before time.Time
}

// Forget makes URLs new again and returns how many keys were removed. Leases on them end. The
// counts of the query trap begin again, and those of refused URLs where a whole crawl is forgotten.
func (f *Frontier) Forget(ctx context.Context, sel Selection) (int64, error) {
	if err := f.enter(); err != nil {
		return 0, err
	}
	defer f.leave()
	c, err := f.crawl(ctx, oneCrawl(sel.Crawl), false)
	if err != nil {
		return 0, err
	}
	keys, id := slices.Clone(sel.Keys), f.identifier(c)
	for i := range sel.URLs {
		var r Result
		if !id.identify(&sel.URLs[i], &r) {
			return 0, refusalError(sel.URLs[i].URL, &r)
		}
		keys = append(keys, r.Key)
	}
	if len(keys) == 0 && (sel.URLs != nil || sel.Keys != nil) {
		return 0, nil // an empty list does not mean all
	}
	stored := c.stored
	if sel.Crawl == "*" {
		stored = "*"
	}
	n, err := f.store.Forget(ctx, store.Selection{Crawl: stored, Keys: keys, Queue: sel.Queue, Before: sel.Before})
	if err != nil {
		return n, err // which names what can't be forgotten
	}
	if keys == nil && sel.Queue == "" && sel.Before.IsZero() {
		f.refused.forget(sel.Crawl, c.name)
	}
	f.queries.reset()
	f.rooms.wake(f.named(sel.Crawl))
	return n, nil
}

// sweeper forgets keys older than SeenFor until Close.
type sweeper struct {
	*Frontier
	doubted bool // the store doubts its clock, which was logged
}

// clockRetry is how soon a sweep asks again whether the clock is right.
const clockRetry = time.Minute

// beginSweeps sweeps once, and then in the background. A clock in doubt is no reason
// not to open.
func (f *Frontier) beginSweeps(ctx context.Context) error {
	s := &sweeper{Frontier: f}
	if err := s.sweep(ctx); err != nil && !s.doubted {
		return err
	}
	f.working.Go(s.run)
	return nil
}

// run sweeps until Close. A sweep that fails is tried again at the next turn: nothing
// was lost by it.
func (s *sweeper) run() {
	timer := time.NewTimer(s.wait())
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			_ = s.sweep(context.Background())
			timer.Reset(s.wait())
		case <-s.closing:
			return
		}
	}
}

// wait is the time from one sweep to the next.
func (s *sweeper) wait() time.Duration {
	every := max(min(s.opt.SeenFor/8, time.Hour), time.Millisecond)
	if s.doubted {
		return min(every, clockRetry)
	}
	return every
}

func (s *sweeper) sweep(ctx context.Context) error {
	_, err := s.store.Forget(ctx, store.Selection{Crawl: "*", Age: s.opt.SeenFor})
	s.logClock(err)
	if err != nil {
		return fmt.Errorf("cannot forget what was seen more than %v ago: %w", s.opt.SeenFor, err)
	}
	return nil
}

// logClock logs when the store begins to doubt its clock, and when it trusts it again.
func (s *sweeper) logClock(err error) {
	switch {
	case errors.Is(err, store.ErrClock) && !s.doubted:
		s.doubted = true
		s.opt.Logger.Warn("URLs are not forgotten by age until the clock is trusted again", "error", err)
	case err == nil && s.doubted:
		s.doubted = false
		s.opt.Logger.Info("the clock is trusted again: URLs are forgotten by age")
	}
}
