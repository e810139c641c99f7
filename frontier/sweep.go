package frontier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/firstseen/firstseen/store"
)

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
	s.tell(err)
	if err != nil {
		return fmt.Errorf("cannot forget what was seen more than %v ago: %w", s.opt.SeenFor, err)
	}
	return nil
}

// tell logs when the clock becomes doubtful, and when it is trusted again.
func (s *sweeper) tell(err error) {
	switch {
	case errors.Is(err, store.ErrClock) && !s.doubted:
		s.doubted = true
		s.opt.Logger.Warn("URLs are not forgotten by age until the clock is trusted again", "error", err)
	case err == nil && s.doubted:
		s.doubted = false
		s.opt.Logger.Info("the clock is trusted again: URLs are forgotten by age")
	}
}
