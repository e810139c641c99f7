// Package steer changes how a frontier serves its queues. The daemon and the commands on a store
// that no daemon uses share it, so that both do the same.
package steer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

// ControlCrawl is the crawl in which the daemon stores its own state for the time after a
// restart. It is not listed. The pause of its queue activeQueue stands for the pause of all
// queues, because a store cannot be asked for the settings of all.
const ControlCrawl, activeQueue = ".serve", "active"

const (
	// MaxDelay bounds a delay.
	MaxDelay = 7 * 24 * time.Hour
	// Unbounded stands for "no bound" on the leases of a queue.
	Unbounded = 1 << 30
)

// Pause pauses or resumes all queues, durably.
func Pause(ctx context.Context, f *frontier.Frontier, paused bool) error {
	change := store.QueueChange{Paused: &paused}
	if err := f.Configure(ctx, ControlCrawl, activeQueue, change); err != nil {
		return err
	}
	return f.Configure(ctx, "*", "", change)
}

// Paused reports whether all queues are paused; known is false if neither was ever set. It asks
// for a queue by the method of a frontier or of its store.
func Paused(ctx context.Context, queue func(ctx context.Context, crawl, queue string) (store.QueueInfo, error)) (paused, known bool, err error) {
	q, err := queue(ctx, ControlCrawl, activeQueue)
	if errors.Is(err, store.ErrNotFound) {
		return false, false, nil
	}
	return q.Paused, err == nil, err
}

// ChangeOf checks settings of a queue and returns them as a change.
func ChangeOf(b *wire.QueueSettings) (store.QueueChange, error) {
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
	if n := b.MaxInFlight; n != nil && (*n < 0 || *n > Unbounded) {
		return c, invalid("got max_in_flight %d; want 0 to %d", *n, Unbounded)
	}
	if n := b.Limit; n != nil && *n < 0 {
		return c, invalid("got limit %d; want 0, for none, or more", *n)
	}
	if d := b.DelaySeconds; d != nil {
		delay, err := DelayOf(*d)
		if err != nil {
			return c, invalid("%w", err)
		}
		c.Delay = &delay
	}
	return c, nil
}

// DelayOf returns the delay of some seconds as a store has it: none is negative there, because 0
// is the default.
func DelayOf(seconds float64) (time.Duration, error) {
	switch {
	case !(seconds >= 0 && seconds <= MaxDelay.Seconds()): // nor not a number
		return 0, fmt.Errorf("got delay_seconds %v; want 0 to %v", seconds, MaxDelay.Seconds())
	case seconds == 0:
		return -1, nil
	default:
		return max(time.Duration(seconds*float64(time.Second)), time.Nanosecond), nil
	}
}
