package frontier

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

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
	// Failures, Deferrals, Releases and Expiries are those of [Lease].
	Failures, Deferrals, Releases, Expiries int
	// Status is the HTTP status of the latest fetch in this round that brought no page, 0 if it is not known.
	Status int
	// AsCanonical is set of a page that is fetched as its canonical form, since the spelling that was offered
	// first was not found. [store.Entry.Respelled] is the chance after that.
	AsCanonical bool
	// Fetched is when the URL was last fetched or given up: became done or dropped, or was queued for a recrawl. It is zero if it was
	// not yet, and where that is not known.
	Fetched time.Time
	// Redirected is set of a URL that is done because it redirected to another page. RedirectedTo is that page in the entry that Lookup
	// returns, "" if it is not known.
	Redirected   bool
	RedirectedTo string
	// Reason is why a URL can't have a key, in the entry that Lookup returns with such an error, or
	// why the frontier gave a dropped URL up.
	Reason Reason

	kept record
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
	c, err := f.crawl(ctx, u.Crawl, false)
	if errors.Is(err, store.ErrInvalid) {
		return Entry{Reason: ReasonCrawl}, err
	}
	if err != nil {
		return Entry{}, err
	}
	var r Result
	id := f.identifier(c)
	if !id.identify(&u, &r) {
		return Entry{Canonical: r.Canonical, Reason: r.Reason}, refusalError(u.URL, &r)
	}
	entries, err := f.store.Lookup(ctx, c.stored, []store.Key{r.Key})
	if err == nil && !entries[0].Known() {
		err = store.ErrNotFound
	}
	if err != nil {
		of := store.Entry{Crawl: c.name, Key: r.Key, Queue: r.Queue}
		return Entry{Canonical: r.Canonical, Entry: of}, fmt.Errorf("cannot look up %q: %w", u.URL, err)
	}
	entry, err := entryOf(entries[0])
	entry.Canonical = r.Canonical
	if target, ok := entry.kept.redirectedTo(entry.State); ok && target != (store.Key{}) && err == nil {
		if to, err := f.lookup(ctx, c, target); err == nil { // it may have been forgotten since
			entry.RedirectedTo = to[0].URL
		}
	}
	return entry, err
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
	if isOrder(e.Due) {
		e.Due = e.Created
	}
	fetched := e.Ended
	if fetched.IsZero() && r.fetched != 0 {
		fetched = time.UnixMilli(r.fetched).UTC()
	}
	reason := r.reason
	if e.State != store.Dropped { // a late result ended it otherwise
		reason = ""
	}
	_, redirected := r.redirectedTo(e.State)
	return Entry{Entry: e, Fetched: fetched, Redirected: redirected, Depth: r.depth, Redirects: r.hops, Discriminator: r.disc, Status: r.status, AsCanonical: r.first != 0, Reason: reason, kept: r,
		Failures: r.failures, Deferrals: r.deferrals, Releases: r.releases, Expiries: max(e.Attempts-r.running(e.State)-r.sum(), 0)}, err
}

// Stats returns exact counts, whose cost does not grow with the crawl: of one crawl,
// "" being that of [Options.Crawl], or of all with "*". Completed counts URLs that were done, and those
// that redirected to another page. Duplicates are not counted: count the Results.
func (f *Frontier) Stats(ctx context.Context, crawl string) (store.Stats, error) {
	return withCrawl(ctx, f, crawl, func(stored string) (store.Stats, error) { return f.store.Stats(ctx, stored) })
}

// Settings returns the settings of a crawl, or those of the store for "*".
func (f *Frontier) Settings(ctx context.Context, crawl string) (store.CrawlSettings, error) {
	return withCrawl(ctx, f, crawl, func(stored string) (store.CrawlSettings, error) { return f.store.CrawlSettings(ctx, stored) })
}

// Queue returns the state of a queue, or store.ErrNotFound.
func (f *Frontier) Queue(ctx context.Context, crawl, queue string) (store.QueueInfo, error) {
	return withCrawl(ctx, f, crawl, func(stored string) (store.QueueInfo, error) {
		q, err := f.store.QueueInfo(ctx, stored, queue)
		q.Crawl = shown(q.Crawl)
		return q, err
	})
}

// Full reports whether a new URL of a queue would be refused as [ReasonFull].
func (f *Frontier) Full(ctx context.Context, crawl, queue string) (bool, error) {
	q, err := f.Queue(ctx, crawl, queue)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return false, err
	}
	st, err := f.Stats(ctx, crawl)
	return f.opt.MaxPerQueue > 0 && q.Held >= f.opt.MaxPerQueue || f.opt.MaxHeld > 0 && st.Held >= f.opt.MaxHeld, err
}

// Crawls lists the crawls in order of name, but for hidden ones ([StoredCrawl.Hidden]).
func (f *Frontier) Crawls(ctx context.Context) ([]string, error) {
	return withCrawl(ctx, f, "*", func(string) ([]string, error) {
		names, err := f.store.Crawls(ctx)
		for i := range names {
			names[i] = shown(names[i])
		}
		slices.Sort(names)
		return slices.DeleteFunc(slices.Compact(names), isHidden), err
	})
}

// Queues lists the queues of a crawl ("*" for all that are not hidden) in order of crawl and name,
// beginning after the one named after ("" for the first).
func (f *Frontier) Queues(ctx context.Context, crawl, after string) iter.Seq2[store.QueueInfo, error] {
	of := func(stored string) iter.Seq2[store.QueueInfo, error] {
		if queues := f.store.Queues(ctx, stored, after); stored != "*" {
			return queues
		} else {
			return func(yield func(store.QueueInfo, error) bool) {
				for q, err := range queues {
					if !isHidden(q.Crawl) && !yield(q, err) {
						return
					}
				}
			}
		}
	}
	return list(ctx, f, crawl, of, func(q store.QueueInfo) (store.QueueInfo, error) {
		q.Crawl = shown(q.Crawl)
		return q, nil
	})
}

// Entries lists the URLs of a crawl whose text is kept, of one queue or, with
// queue "", of all queues by name: first the completed and dropped ones in order of
// key, then the leased ones, then the queued ones in order of service.
func (f *Frontier) Entries(ctx context.Context, crawl, queue string) iter.Seq2[Entry, error] {
	of := func(stored string) iter.Seq2[store.Entry, error] { return f.store.Entries(ctx, stored, queue) }
	return list(ctx, f, crawl, of, entryOf)
}

// Configure changes the settings of a queue, of a crawl (queue "") or of all (crawl "*", queue ""),
// durably. Nil fields keep their settings. A pointer to 0 resets a setting: then that of the next
// level applies (queue, crawl, all, Options). A BlockedUntil that is over unblocks a queue, and ends its wait after
// fetches that failed or, with Options.Adaptive, were slow: its host is up again.
func (f *Frontier) Configure(ctx context.Context, crawl, queue string, c store.QueueChange) error {
	if c.Retention != nil && f.poll > 0 {
		return fault.As(store.ErrInvalid, "cannot set a retention in a store that other processes share, which does not know when URLs were fetched; want Options.SeenFor")
	}
	unblocks := queue != "" && c.BlockedUntil != nil && !c.Later && !c.BlockedUntil.After(f.clock())
	if unblocks && c.NotBefore == nil {
		c.NotBefore = &time.Time{}
	}
	_, err := withCrawl(ctx, f, crawl, func(stored string) (struct{}, error) {
		return struct{}{}, f.store.Configure(ctx, stored, queue, c)
	})
	if err != nil {
		return err // which names what can't be configured
	}
	if unblocks {
		f.failing.end(queueName{f.named(crawl), queue})
	}
	f.rooms.wake(f.named(crawl))
	if c.Retention != nil {
		select {
		case f.sweepSoon <- struct{}{}:
		default: // it will
		}
	}
	return nil
}

// withCrawl runs a call on the store with the stored name of a crawl.
func withCrawl[T any](ctx context.Context, f *Frontier, crawl string, call func(stored string) (T, error)) (result T, err error) {
	if err := f.enter(); err != nil {
		return result, err
	}
	defer f.leave()
	c, err := f.crawlOrAll(ctx, crawl)
	if err != nil {
		return result, err
	}
	return call(c.stored)
}

// list is withCrawl for an iterator, whose items it converts: Close waits for its end.
func list[A, B any](ctx context.Context, f *Frontier, crawl string, of func(stored string) iter.Seq2[A, error], convert func(A) (B, error)) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		_, err := withCrawl(ctx, f, crawl, func(stored string) (none struct{}, err error) {
			for a, err := range of(stored) {
				var b B
				if err == nil {
					b, err = convert(a)
				}
				if !yield(b, err) || err != nil {
					return none, nil
				}
			}
			return none, nil
		})
		if err != nil {
			var none B
			yield(none, err)
		}
	}
}
