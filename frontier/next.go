package frontier

import (
	"context"
	"errors"
	"iter"

	"github.com/firstseen/firstseen/frontier/internal/waitline"
)

// Next waits until something of [Options.Crawl] may be fetched and hands it out. It
// returns the error of ctx, or store.ErrClosed after Close. Waiting costs nothing: it
// ends with an add, a settlement, or the time a queue may be served.
func (f *Frontier) Next(ctx context.Context) (*Lease, error) { return f.next(ctx, false) }

// Leases yields what Next returns, until the crawl is finished: nothing of it is
// queued or leased. It ends with the first error.
// Several goroutines may each range over their own Leases. An unsettled lease
// keeps all of them waiting, since it may still add URLs.
func (f *Frontier) Leases(ctx context.Context) iter.Seq2[*Lease, error] {
	return waitline.All(func() (*Lease, error) { return f.next(ctx, true) })
}

// next returns waitline.ErrFinished when nothing is held and ends is set.
func (f *Frontier) next(ctx context.Context, ends bool) (*Lease, error) {
	leases, err := f.wait(ctx, LeaseRequest{Max: 1}, ends)
	if err != nil {
		return nil, err
	}
	return leases[0], nil
}

// LeaseWait is like Lease, but waits until there is something to lease or ctx ends. Servers with many fetchers use it.
// With untilFinished it also returns, finished and without leases, when the
// crawl asked for (all of them, with "*") has nothing queued or leased. Waiting costs
// nothing, as in Next.
//
// Callers that wait with the same request are served in the order in which they came.
func (f *Frontier) LeaseWait(ctx context.Context, req LeaseRequest, untilFinished bool) (leases []*Lease, finished bool, err error) {
	leases, err = f.wait(ctx, req, untilFinished)
	if errors.Is(err, waitline.ErrFinished) {
		return nil, true, nil
	}
	return leases, false, err
}

func (f *Frontier) wait(ctx context.Context, req LeaseRequest, ends bool) ([]*Lease, error) {
	if err := f.enter(); err != nil {
		return nil, err
	}
	defer f.leave()
	room := f.rooms.join(f, req)
	defer f.rooms.leave(room)
	return room.line.Wait(ctx, f.closing, room, max(req.Max, 1), ends)
}
