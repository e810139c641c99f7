package frontier

import (
	"cmp"
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
// counts of the query trap begin again. Forgetting a whole crawl also removes its settings, exclusions and order, and its counts of refused
// URLs and failed fetches. A profile of its own stays.
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
	whole := keys == nil && sel.Queue == "" && sel.Before.IsZero()
	n, err := f.store.Forget(ctx, store.Selection{Crawl: stored, Keys: keys, Queue: sel.Queue, Before: sel.Before})
	if err != nil {
		return n, err // which names what can't be forgotten
	}
	if whole { // the rules last: what is left of a crawl must not be handed out against them
		if err := f.forgetRules(ctx, f.named(sel.Crawl)); err != nil {
			return n, err
		}
		f.refused.forget(sel.Crawl, c.name)
		f.failing.forgetCrawl(f.named(sel.Crawl))
		f.groups.reset()
	}
	f.queries.reset()
	f.rooms.wake(f.named(sel.Crawl))
	return n, nil
}

// sweeper forgets keys older than SeenFor until Close, and those of a crawl with a retention that were last fetched that long ago.
type sweeper struct {
	*Frontier
	doubted bool          // the store doubts its clock, which was logged
	least   time.Duration // the shortest age, as of the last sweep; 0 for none
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
		case <-s.sweepSoon:
			timer.Reset(0)
		case <-s.closing:
			return
		}
	}
}

// wait is the time from one sweep to the next.
func (s *sweeper) wait() time.Duration {
	every := time.Hour
	if s.least > 0 {
		every = max(min(s.least/8, time.Hour), time.Millisecond)
	}
	if s.doubted {
		return min(every, clockRetry)
	}
	return every
}

// sweep forgets URLs by age, crawl by crawl. In most stores no crawl has its own age, and one step covers all.
func (s *sweeper) sweep(ctx context.Context) error {
	ages, err := s.ages(ctx)
	if err != nil {
		return err
	}
	s.least = 0
	for _, age := range ages {
		if s.least == 0 || age < s.least {
			s.least = age
		}
	}
	var failed error
	for crawl, age := range ages { // of one that fails, the others know nothing
		_, err := s.store.Forget(ctx, store.Selection{Crawl: crawl, Age: age})
		s.logClock(err)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("cannot forget what crawl %q has seen more than %v ago: %w", crawl, age, err))
		}
	}
	return failed
}

// ages returns the age of the keys of each crawl that forgets by age, by stored names, or of all ("*") if none has an age of its own.
// A store that other processes share does not know when a key was fetched, and takes no retention.
func (s *sweeper) ages(ctx context.Context) (ages map[string]time.Duration, err error) {
	all := map[string]time.Duration{}
	if s.opt.SeenFor > 0 {
		all["*"] = s.opt.SeenFor
	}
	if s.poll > 0 {
		return all, nil
	}
	names, err := s.store.Crawls(ctx)
	if err != nil {
		return nil, err
	}
	own := false
	ages = make(map[string]time.Duration, len(names))
	for _, name := range names {
		set, err := s.store.CrawlSettings(ctx, name)
		if err != nil {
			return nil, err
		}
		own = own || set.Retention > 0
		if age := cmp.Or(set.Retention, s.opt.SeenFor); age > 0 {
			ages[name] = age
		}
	}
	if !own {
		return all, nil
	}
	return ages, nil
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
