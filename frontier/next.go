package frontier

import (
	"context"
	"iter"

	"github.com/firstseen/firstseen/frontier/internal/waitline"
)

// line is the line of callers waiting in Next, and what wakes them. The
// goroutine that serves it sleeps until something changed, or until the time the
// store named.
type line struct {
	waitline.Line[*Lease]
	f *Frontier
	// With the line locked:
	wake     chan struct{} // closed and replaced when something changed
	watching int           // how many wait for a change in LeaseWait
}

// Next waits until something may be fetched and hands it out. It returns the
// error of ctx, or store.ErrClosed after Close. Waiting costs nothing: it ends
// with an add, a settlement, or the time a queue may be served.
func (f *Frontier) Next(ctx context.Context) (*Lease, error) { return f.next(ctx, false) }

// Leases yields what Next returns, until the crawl is finished: nothing is
// queued and nothing is leased, in any crawl. It ends with the first error.
// Several goroutines may each range over their own Leases. An unsettled lease
// keeps all of them waiting, since it may still add URLs.
func (f *Frontier) Leases(ctx context.Context) iter.Seq2[*Lease, error] {
	return waitline.All(func() (*Lease, error) { return f.next(ctx, true) })
}

func (f *Frontier) next(ctx context.Context, ends bool) (*Lease, error) {
	if err := f.enter(); err != nil {
		return nil, err
	}
	defer f.leave()
	return f.line.Wait(ctx, f.closing, &f.line, ends)
}

// Serve begins to serve the line.
func (l *line) Serve() { l.f.working.Go(l.f.serveLine) }

// Joined wakes the goroutine for one who wants to know of the end: the others would
// find what those before them found, nothing.
func (l *line) Joined(ends bool) {
	if ends {
		l.signal(true)
	}
}

// Left wakes the goroutine, which must end when nobody waits.
func (l *line) Left(int) { l.signal(true) }

// wake tells those who wait that something changed.
func (f *Frontier) wake() { f.line.Locked(f.line.signal) }

func (l *line) signal(serving bool) {
	if serving || l.watching > 0 {
		close(l.wake)
		l.wake = make(chan struct{})
	}
}

// serveLine serves those who wait until there are none.
func (f *Frontier) serveLine() {
	for {
		var changed <-chan struct{} // closed at the next change
		n := f.line.Begin(func(bool) { changed = f.line.wake })
		if n == 0 {
			return
		}
		leases, next, err := f.take(context.Background(), LeaseRequest{Max: min(n, waitline.MaxTogether)})
		switch {
		case err != nil:
			f.line.Fail(err)
		case len(leases) > 0:
			f.giveBack(f.line.Hand(leases))
		default:
			f.tellFinished()
			f.sleep(context.Background(), next, changed)
		}
	}
}

// tellFinished ends the waiting of those who want to know when nothing is held.
func (f *Frontier) tellFinished() {
	stats, err := f.store.Stats(context.Background(), "*")
	if err == nil && stats.Held > 0 {
		return
	}
	if err == nil {
		err = waitline.ErrFinished
	}
	f.line.Finish(err)
}

// giveBack releases leases nobody took.
func (f *Frontier) giveBack(left []*Lease) {
	for _, l := range left {
		// If this fails the lease runs out by itself.
		_, _ = f.settle(context.Background(), []Settlement{{Lease: l, Outcome: Release}})
	}
}
