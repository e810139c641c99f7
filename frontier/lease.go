package frontier

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// Lease is a URL in the hands of a fetcher. Until Expires no other client gets it.
// Settle it by [Frontier.Done] or one of its siblings.
type Lease struct {
	URL           string // to be fetched unchanged
	Crawl         string
	Queue         string
	Key           store.Key
	Meta          []byte // as given with the URL
	Depth         int
	Redirects     int // hops that led here
	Discriminator string
	Priority      uint8
	Attempts      int // times it was leased, this one included
	Created       time.Time
	Expires       time.Time
	// Started is when the fetch began, for the adaptive delay: the time of the
	// lease, or what its holder sets.
	Started time.Time
	// As they were handed out by this process: how many leases before were given
	// back, and that nothing is missing.
	returned int
	whole    bool
	exempt   bool // from Options.Lower
	// Token names the lease in the store. If a lease travels by wire, Crawl, Key
	// and Token alone are enough to settle it.
	Token uint64
}

// LeaseRequest selects what to lease. The zero value asks for one URL of any queue.
type LeaseRequest struct {
	// Crawl is the crawl to take from, "*" for all. The default is that of
	// [Options.Crawl].
	Crawl string
	// Queue is the only queue to take from; Crawl must then be named. The
	// default is any, in fair rotation.
	Queue string
	// Max bounds the answer. The default is 1.
	Max int
	// MaxBytes ends the answer: its last URL is the first with which all texts and data reach
	// MaxBytes. A store in another process may send more. The default is no bound.
	MaxBytes int64
	// MaxQueues bounds the queues taken from. The default is no bound.
	MaxQueues int
	// MaxPerQueue bounds the URLs of one queue in an answer, however long its delay:
	// the fetcher must then space them. The default is 1.
	MaxPerQueue int
	// Lease is how long the URLs are held. The default is Options.Lease.
	Lease time.Duration
	// Delay is the delay of queues that have none of their own; negative is
	// none. The default is Options.Delay.
	Delay time.Duration
	// MaxInFlight is the bound of queues that have none of their own; negative
	// is none. The default is Options.MaxInFlight.
	MaxInFlight int
	// MaxExpired is how many leases of a URL may run out before it is dropped; negative is
	// no bound. The default is Options.MaxExpired.
	MaxExpired int
}

// Lease hands out URLs that may be fetched now, at most req.Max, in fair rotation of their
// queues. It does not wait: there may be none. The leases are durable when it returns. next is
// when another call may return more if nothing is added before; it is zero if nothing is
// waiting or the answer is full.
func (f *Frontier) Lease(ctx context.Context, req LeaseRequest) (leases []*Lease, next time.Time, err error) {
	if err := f.enter(); err != nil {
		return nil, time.Time{}, err
	}
	defer f.leave()
	return f.take(ctx, req)
}

// maxRounds is how often take asks the store when it must drop or put back all that it got.
const maxRounds = 16

func (f *Frontier) take(ctx context.Context, req LeaseRequest) ([]*Lease, time.Time, error) {
	from, err := f.takeRequest(ctx, req)
	if err != nil {
		return nil, time.Time{}, err
	}
	maxExpired := cmp.Or(req.MaxExpired, f.opt.MaxExpired)
	for round := 1; ; round++ {
		leases, unwanted, next, err := f.takeOnce(ctx, from, maxExpired)
		if err != nil {
			return nil, time.Time{}, err
		}
		next, failed := f.returnTaken(ctx, unwanted, next)
		if len(leases) > 0 || len(unwanted) == 0 || failed != nil || round == maxRounds || ctx.Err() != nil {
			return leases, next, nil
		}
	}
}

// takeOnce takes URLs, and separates those to hand out from those to drop or to put back.
func (f *Frontier) takeOnce(ctx context.Context, from store.TakeRequest, maxExpired int) (leases []*Lease, unwanted []Settlement, next time.Time, err error) {
	taken, err := f.store.Take(ctx, from)
	if err != nil {
		return nil, nil, next, fmt.Errorf("cannot lease URLs: %w", err)
	}
	leases = make([]*Lease, 0, len(taken.Leases))
	now, p := time.Now(), preparer{f: f}
	for i := range taken.Leases {
		l, err := leaseOf(&taken.Leases[i], now)
		if err != nil {
			return nil, nil, next, err
		}
		if reason := f.reasonToDrop(&p, l, maxExpired); reason != "" {
			unwanted = append(unwanted, Settlement{Lease: l, Outcome: Drop, reason: reason})
			continue
		}
		if f.isLowered(&p, l) {
			unwanted = append(unwanted, Settlement{Lease: l, Outcome: Release, Priority: new(uint8), lowered: true})
			continue
		}
		leases = append(leases, l)
		if f.opt.OnEvent != nil {
			f.emit(Event{Kind: EventLeased, Crawl: l.Crawl, Queue: l.Queue, URL: l.URL, Key: l.Key})
		}
	}
	return leases, unwanted, taken.Next, nil
}

func (f *Frontier) takeRequest(ctx context.Context, req LeaseRequest) (store.TakeRequest, error) {
	req.Crawl = cmp.Or(req.Crawl, f.opt.Crawl)
	if req.Crawl == "*" && req.Queue != "" {
		return store.TakeRequest{}, fault.As(store.ErrInvalid, "cannot lease from queue %q; got any crawl; want the name of one", req.Queue)
	}
	stored, err := f.stored(ctx, req.Crawl)
	if err != nil {
		return store.TakeRequest{}, err
	}
	return store.TakeRequest{
		Crawl:       stored,
		Queue:       req.Queue,
		MaxURLs:     max(req.Max, 1),
		MaxQueues:   max(req.MaxQueues, 0),
		MaxBytes:    max(req.MaxBytes, 0),
		MaxPerQueue: max(req.MaxPerQueue, 1),
		Lease:       cmp.Or(max(req.Lease, 0), f.opt.Lease),
		Delay:       max(cmp.Or(req.Delay, f.opt.Delay), 0),
		MaxInFlight: max(cmp.Or(req.MaxInFlight, f.opt.MaxInFlight), 0),
	}, nil
}

func leaseOf(l *store.Lease, now time.Time) (*Lease, error) {
	r, err := decodeRecord(l.Meta)
	if err != nil {
		return nil, fmt.Errorf("cannot lease %q: %w", l.URL, err)
	}
	return &Lease{
		URL:           l.URL,
		Crawl:         shown(l.Crawl),
		Queue:         l.Queue,
		Key:           l.Key,
		Meta:          r.meta,
		Depth:         r.depth,
		Redirects:     r.hops,
		Discriminator: r.disc,
		Priority:      l.Priority,
		Attempts:      l.Attempts,
		Created:       l.Created,
		Expires:       l.Expires,
		Started:       now,
		returned:      r.returned,
		exempt:        r.exempt,
		whole:         true,
		Token:         l.Token,
	}, nil
}
