package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

// activeQueue is a queue of controlCrawl: its pause stands for the pause of all queues, because a store cannot be
// asked for the settings of all.
const activeQueue = "active"

// maxDelay bounds a delay.
const maxDelay = 7 * 24 * time.Hour

// pauseAll pauses or resumes all queues, durably.
func pauseAll(ctx context.Context, f *frontier.Frontier, paused bool) error {
	change := store.QueueChange{Paused: &paused}
	if err := f.Configure(ctx, controlCrawl, activeQueue, change); err != nil {
		return err
	}
	return f.Configure(ctx, "*", "", change)
}

// allPaused reports whether all queues are paused; known is false if neither was ever set. It asks
// for a queue by the method of a frontier or of its store.
func allPaused(ctx context.Context, queue func(ctx context.Context, crawl, queue string) (store.QueueInfo, error)) (paused, known bool, err error) {
	q, err := queue(ctx, controlCrawl, activeQueue)
	if errors.Is(err, store.ErrNotFound) {
		return false, false, nil
	}
	return q.Paused, err == nil, err
}

// changeOf checks settings of a queue and returns them as a change.
func changeOf(b *wire.QueueSettings) (store.QueueChange, error) {
	c := store.QueueChange{MaxInFlight: b.MaxInFlight, BlockedUntil: b.BlockedUntil, Limit: b.Limit, Paused: b.Paused}
	invalid := func(format string, args ...any) error {
		return fault.As(store.ErrInvalid, "cannot change a queue; "+format, args...)
	}
	if b.Queue == "" {
		return c, invalid("got no queue; want the name of one")
	}
	if len(b.Queue) > store.MaxQueueKey {
		return c, invalid("got a queue with a name of %d bytes; want at most %d", len(b.Queue), store.MaxQueueKey)
	}
	if n := b.MaxInFlight; n != nil && (*n < 0 || *n > unbounded) {
		return c, invalid("got max_in_flight %d; want 0 to %d", *n, unbounded)
	}
	if n := b.Limit; n != nil && *n < 0 {
		return c, invalid("got limit %d; want 0, for none, or more", *n)
	}
	if d := b.DelaySeconds; d != nil {
		delay, err := delayOf(*d)
		if err != nil {
			return c, invalid("%w", err)
		}
		c.Delay = &delay
	}
	return c, nil
}

// delayOf returns the delay of some seconds as a store has it: none is negative there, because 0
// is the default.
func delayOf(seconds float64) (time.Duration, error) {
	switch {
	case !(seconds >= 0 && seconds <= maxDelay.Seconds()): // nor not a number
		return 0, fmt.Errorf("got delay_seconds %v; want 0 to %v", seconds, maxDelay.Seconds())
	case seconds == 0:
		return -1, nil
	default:
		return max(time.Duration(seconds*float64(time.Second)), time.Nanosecond), nil
	}
}

// forgetIn makes URLs of a crawl new again and returns how many it forgot.
func forgetIn(ctx context.Context, f *frontier.Frontier, crawl string, r *wire.ForgetRequest) (int64, error) {
	if err := checkForget(r); err != nil {
		return 0, fault.As(store.ErrInvalid, "cannot forget; %w", err)
	}
	if r.Held {
		return purge(ctx, f, crawl, r.Queue, r.Before)
	}
	sel := frontier.Selection{Crawl: crawl, Queue: r.Queue, Before: r.Before}
	for _, u := range r.URLs {
		sel.URLs = append(sel.URLs, frontier.Link{URL: wire.TextOr(u.URL, u.URLBytes), Queue: u.Queue, Discriminator: u.Discriminator})
	}
	return f.Forget(ctx, sel)
}

// checkForget returns an error unless a request names one thing.
func checkForget(r *wire.ForgetRequest) error {
	named := 0
	for _, is := range []bool{len(r.URLs) > 0, r.Queue != "" && !r.Held, !r.Before.IsZero(), r.All} {
		if is {
			named++
		}
	}
	switch {
	case named != 1:
		return fmt.Errorf("got %d of urls, queue, before and all; want one", named)
	case r.Held && r.Before.IsZero():
		return fmt.Errorf("got held without before; want the time before which held URLs were found")
	}
	return nil
}

// purgeAtOnce bounds the keys that a purge holds in memory.
const purgeAtOnce = 100_000

// purge forgets URLs by age, whatever their state. Those whose text is kept are found by a scan;
// the rest by the store's own means, where no queue is named.
func purge(ctx context.Context, f *frontier.Frontier, crawl, queue string, before time.Time) (sum int64, err error) {
	for {
		keys, err := olderThan(ctx, f, crawl, queue, before)
		if err != nil {
			return sum, err
		}
		if len(keys) == 0 {
			break
		}
		n, err := f.Forget(ctx, frontier.Selection{Crawl: crawl, Keys: keys})
		if sum += n; err != nil {
			return sum, err
		}
		if len(keys) < purgeAtOnce || n == 0 {
			break
		}
	}
	if queue != "" {
		return sum, nil
	}
	rest, err := f.Forget(ctx, frontier.Selection{Crawl: crawl, Before: before})
	return sum + rest, err
}

// olderThan returns the first keys of URLs recorded before a time.
func olderThan(ctx context.Context, f *frontier.Frontier, crawl, queue string, before time.Time) ([]store.Key, error) {
	var keys []store.Key
	for e, err := range f.Entries(ctx, crawl, queue) {
		if err != nil {
			return nil, err
		}
		if e.Created.Before(before) {
			keys = append(keys, e.Key)
		}
		if len(keys) == purgeAtOnce {
			break
		}
	}
	return keys, nil
}

// oneCrawl returns the crawl that a call changes. It refuses "*", which stands for all
// crawls: no call of the protocol changes all of them.
func oneCrawl(id string) (string, error) {
	crawl := crawlName(id)
	if crawl == "*" || crawl == controlCrawl {
		return "", status.Errorf(codes.InvalidArgument, "cannot change crawl %q; want the name of one crawl of URLs", crawl)
	}
	return crawl, nil
}

func (s *service) forget(ctx context.Context, crawl string, r *wire.ForgetRequest) (int64, error) {
	n, err := s.f.Forget(ctx, crawl, r)
	if err == nil {
		s.log.Info("forgot URLs", "crawl", crawl, "queue", r.Queue, "urls", n)
	}
	return n, err
}

// pause pauses or resumes all queues.
func (s *service) pause(ctx context.Context, paused bool) error {
	if err := pauseAll(ctx, s.f.own, paused); err != nil {
		return err
	}
	s.paused.Store(paused)
	s.log.Info("changed whether queues may be served", "active", !paused)
	return nil
}

// localPause records whether this one of several daemons leases nothing. Safe for
// concurrent use; the zero value is not paused.
type localPause struct {
	mu      sync.Mutex
	paused  bool
	changed chan struct{} // closed at the next change, nil while no goroutine waits
}

func (l *localPause) set(paused bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed != nil && paused != l.paused {
		close(l.changed)
		l.changed = nil
	}
	l.paused = paused
}

// look returns the state, and a channel that is closed when it changes.
func (l *localPause) look() (paused bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.paused, l.changed
}

func (l *localPause) now() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.paused
}

// recallPause applies the pause that was set before a restart; again, since a
// crash may have come between its two halves.
func (s *service) recallPause(ctx context.Context) error {
	known, err := s.readPause(ctx)
	if err != nil || !known {
		return err
	}
	return pauseAll(ctx, s.f.own, s.paused.Load())
}

// readPause asks the store for the pause, which another daemon may have set. known
// reports whether it was ever set.
func (s *service) readPause(ctx context.Context) (known bool, err error) {
	paused, known, err := allPaused(ctx, s.f.reader.Queue)
	if err == nil {
		s.paused.Store(paused)
	}
	return known, err
}
