package frontier

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// Entry is the state of a URL.
type Entry struct {
	store.Entry
	Canonical     string // the form asked for, from Lookup
	Depth         int
	Redirects     int
	Discriminator string
	// Reason is why a URL can't have a key, in the entry that Lookup returns with such an error.
	Reason   Reason
	returned int  // leases given back
	exempt   bool // from Options.Lower
}

// Lookup returns the entry of a URL, in any variant. If it was never seen, the error is
// store.ErrNotFound, and the entry has the Canonical, Key and Queue that the URL would have. If
// the URL cannot have a key, the error and Reason have the cause.
// URL, Crawl, Queue (in exact crawls) and Discriminator of the link matter.
func (f *Frontier) Lookup(ctx context.Context, u Link) (Entry, error) {
	if err := f.enter(); err != nil {
		return Entry{}, err
	}
	defer f.leave()
	if err := f.learn(ctx, u.Crawl); err != nil {
		return Entry{}, err
	}
	r, c := f.identify(u)
	if r.Status == StatusRefused {
		return Entry{Canonical: r.Canonical, Reason: r.Reason}, refusalError(u.URL, &r)
	}
	e, err := f.store.Lookup(ctx, c.stored, r.Key)
	if err != nil {
		of := store.Entry{Crawl: shown(c.stored), Key: r.Key, Queue: r.Queue}
		return Entry{Canonical: r.Canonical, Entry: of}, fmt.Errorf("cannot look up %q: %w", u.URL, err)
	}
	entry, err := entryOf(e)
	entry.Canonical = r.Canonical
	return entry, err
}

// identify fills in the canonical form, key and queue of a URL without looking anything
// up; the Status of the result is zero, or StatusRefused.
func (f *Frontier) identify(u Link) (Result, crawl) {
	var r Result
	p := preparer{f: f}
	if !p.resolve(u.Crawl) {
		r.refuse(ReasonCrawl)
		return r, crawl{}
	}
	o := offer{url: &u, result: &r, crawl: p.crawl}
	p.canonicalize(&o)
	return r, p.crawl
}

func refusalError(url string, r *Result) error {
	if r.Err != nil {
		return fmt.Errorf("cannot identify %q: %w", url, r.Err)
	}
	return fault.As(store.ErrInvalid, "cannot identify %q; its %s is not valid", url, r.Reason)
}

func entryOf(e store.Entry) (Entry, error) {
	r, err := decodeRecord(e.Meta)
	e.Meta, e.Crawl = r.meta, shown(e.Crawl)
	return Entry{Entry: e, Depth: r.depth, Redirects: r.hops, Discriminator: r.disc, returned: r.returned, exempt: r.exempt}, err
}

// Stats returns exact counts, whose cost does not grow with the crawl: of one crawl,
// "" being that of [Options.Crawl], or of all with "*". Completed counts URLs that were done, and those
// that redirected to another page. Duplicates are not counted: count the Results.
func (f *Frontier) Stats(ctx context.Context, crawl string) (store.Stats, error) {
	return withCrawl(ctx, f, crawl, func(stored string) (store.Stats, error) { return f.store.Stats(ctx, stored) })
}

// Queue returns the state of a queue, or store.ErrNotFound.
func (f *Frontier) Queue(ctx context.Context, crawl, queue string) (store.QueueInfo, error) {
	return withCrawl(ctx, f, crawl, func(stored string) (store.QueueInfo, error) {
		q, err := f.store.QueueInfo(ctx, stored, queue)
		q.Crawl = shown(q.Crawl)
		return q, err
	})
}

// Crawls lists the crawls in order of name.
func (f *Frontier) Crawls(ctx context.Context) ([]string, error) {
	return withCrawl(ctx, f, "*", func(string) ([]string, error) {
		names, err := f.store.Crawls(ctx)
		for i := range names {
			names[i] = shown(names[i])
		}
		slices.Sort(names)
		return slices.Compact(names), err
	})
}

// Queues lists the queues of a crawl ("*" for all) in order of crawl and name,
// beginning after the one named after ("" for the first).
func (f *Frontier) Queues(ctx context.Context, crawl, after string) iter.Seq2[store.QueueInfo, error] {
	return list(ctx, f, crawl, func(stored string) iter.Seq2[store.QueueInfo, error] {
		return mapped(f.store.Queues(ctx, stored, after), func(q store.QueueInfo) (store.QueueInfo, error) {
			q.Crawl = shown(q.Crawl)
			return q, nil
		})
	})
}

// Entries lists the URLs of a crawl whose text is kept, of one queue or, with
// queue "", of all queues by name: first the completed and dropped ones in order of
// key, then the leased ones, then the queued ones in order of service.
func (f *Frontier) Entries(ctx context.Context, crawl, queue string) iter.Seq2[Entry, error] {
	return list(ctx, f, crawl, func(stored string) iter.Seq2[Entry, error] {
		return mapped(f.store.Entries(ctx, stored, queue), entryOf)
	})
}

// withCrawl runs a call on the store with the stored name of a crawl.
func withCrawl[T any](ctx context.Context, f *Frontier, crawl string, call func(stored string) (T, error)) (T, error) {
	var none T
	if err := f.enter(); err != nil {
		return none, err
	}
	defer f.leave()
	stored, err := f.stored(ctx, crawl)
	if err != nil {
		return none, err
	}
	return call(stored)
}

// list is withCrawl for an iterator: Close waits for its end.
func list[T any](ctx context.Context, f *Frontier, crawl string, of func(stored string) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if err := f.enter(); err != nil {
			yield(none, err)
			return
		}
		defer f.leave()
		stored, err := f.stored(ctx, crawl)
		if err != nil {
			yield(none, err)
			return
		}
		of(stored)(yield)
	}
}

// mapped applies a function to what an iterator yields, and ends with the first error.
func mapped[A, B any](seq iter.Seq2[A, error], apply func(A) (B, error)) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		for a, err := range seq {
			var b B
			if err == nil {
				b, err = apply(a)
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}
