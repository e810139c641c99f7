package frontier

import (
	"context"
	"time"

	"github.com/firstseen/firstseen/store"
)

// LeaseWait is LeaseFrom for those who wait: until there is something to hand
// out, or ctx ends. With untilFinished it also ends, finished and without
// leases, when the crawl asked for (all, with "*") has nothing queued or
// leased. Waiting costs nothing, as in Next.
//
// A context that ends while leases are being made doesn't take them back: they
// are returned.
func (f *Frontier) LeaseWait(ctx context.Context, req LeaseRequest, untilFinished bool) (leases []*Lease, finished bool, err error) {
	if err := f.enter(); err != nil {
		return nil, false, err
	}
	defer f.leave()
	f.line.watch(1)
	defer f.line.watch(-1)
	for {
		changed := f.line.change()
		leases, next, err := f.take(ctx, req)
		if err != nil || len(leases) > 0 {
			return leases, false, err
		}
		if untilFinished {
			if empty, err := f.holdsNothing(ctx, req.Crawl); err != nil || empty {
				return nil, empty, err
			}
		}
		f.sleep(ctx, next, changed)
		if err := f.over(ctx); err != nil {
			return nil, false, err
		}
	}
}

// over returns why waiting is over, nil if it isn't.
func (f *Frontier) over(ctx context.Context) error {
	select {
	case <-f.closing:
		return store.ErrClosed
	default:
		return ctx.Err()
	}
}

// holdsNothing says whether a crawl is finished; "" stands for any, as in a
// LeaseRequest.
func (f *Frontier) holdsNothing(ctx context.Context, crawl string) (bool, error) {
	if crawl == "" {
		crawl = "*"
	}
	stats, err := f.Stats(ctx, crawl)
	return err == nil && stats.Held == 0, err
}

// watch counts those who want to hear of changes without being in line.
func (l *line) watch(n int) { l.Locked(func(bool) { l.watching += n }) }

// change returns a channel that is closed at the next change.
func (l *line) change() (changed <-chan struct{}) {
	l.Locked(func(bool) { changed = l.wake })
	return changed
}

// sleep waits for a change, for the given time if it isn't zero, for Options.Poll, for
// the end of ctx, or for Close.
func (f *Frontier) sleep(ctx context.Context, until time.Time, changed <-chan struct{}) {
	if poll := time.Now().Add(f.opt.Poll); f.opt.Poll > 0 && (until.IsZero() || poll.Before(until)) {
		until = poll
	}
	var due <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(max(time.Until(until), time.Millisecond))
		defer t.Stop()
		due = t.C
	}
	select {
	case <-changed:
	case <-due:
	case <-ctx.Done():
	case <-f.closing:
	}
}
