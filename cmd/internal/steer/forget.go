package steer

import (
	"context"
	"fmt"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

// Forget makes URLs of a crawl new again and returns how many it forgot.
func Forget(ctx context.Context, f *frontier.Frontier, crawl string, r *wire.ForgetRequest) (int64, error) {
	if err := check(r); err != nil {
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

// check returns an error unless a request names one thing.
func check(r *wire.ForgetRequest) error {
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
