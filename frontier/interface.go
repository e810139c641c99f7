package frontier

import (
	"context"
	"iter"
	"time"

	"github.com/firstseen/firstseen/store"
)

// Interface is what a crawler's loop needs of a frontier, wherever that is: in
// the process (*Frontier) or behind a daemon (*client.Client, in
// frontier/client). A crawler written against it moves from one to the other
// by its constructor and its options. Methods for operators are left
// out.
//
// The methods are described at [Frontier]. Package client describes what
// happens if an answer is lost ([Result.Resent]).
type Interface interface {
	Add(ctx context.Context, url string) (Result, error)
	AddBatch(ctx context.Context, urls []Link) ([]Result, error)
	See(ctx context.Context, urls []Link) ([]Result, error)

	Next(ctx context.Context) (*Lease, error)
	Leases(ctx context.Context) iter.Seq2[*Lease, error]
	Lease(ctx context.Context, req LeaseRequest) (leases []*Lease, next time.Time, err error)

	Done(ctx context.Context, l *Lease) error
	Retry(ctx context.Context, l *Lease, at time.Time) (again bool, err error)
	Recrawl(ctx context.Context, l *Lease, at time.Time) error
	Drop(ctx context.Context, l *Lease) error
	Release(ctx context.Context, l *Lease) error
	Redirect(ctx context.Context, l *Lease, target string) (Redirection, error)
	Settle(ctx context.Context, settlements []Settlement) ([]Settled, error)

	Configure(ctx context.Context, crawl, queue string, c store.QueueChange) error
	Lookup(ctx context.Context, u Link) (Entry, error)
	Stats(ctx context.Context, crawl string) (store.Stats, error)
	Close() error
}

var _ Interface = (*Frontier)(nil)
