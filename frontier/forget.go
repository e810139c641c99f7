package frontier

import (
	"context"
	"slices"
	"time"

	"github.com/firstseen/firstseen/store"
)

// Selection names what to forget, in a crawl ("" is that of [Options.Crawl], "*" all).
// At most one of the other fields is set. With none, the whole crawl is forgotten.
type Selection struct {
	Crawl string
	// URLs to forget, in any variant. Their own Crawl is ignored. To forget URLs of a crawl
	// with a profile of its own, name it in Crawl: it has other keys.
	URLs []Link
	Keys []store.Key
	// Queue forgets the URLs of one queue: held ones, and completed or dropped ones where
	// the store keeps URLs.
	Queue string
	// Before forgets keys that were first recorded before this time and are not held.
	Before time.Time
}

// Forget makes URLs new again and returns how many keys were removed. Leases on them end. The
// counts of the query trap begin again.
func (f *Frontier) Forget(ctx context.Context, sel Selection) (int64, error) {
	if err := f.learn(ctx, oneCrawl(sel.Crawl)); err != nil {
		return 0, err
	}
	keys := slices.Clone(sel.Keys)
	for _, u := range sel.URLs {
		u.Crawl = oneCrawl(sel.Crawl)
		r, _ := f.identify(u)
		if r.Status == StatusRefused {
			return 0, refusalError(u.URL, &r)
		}
		keys = append(keys, r.Key)
	}
	if len(keys) == 0 && sel.URLs != nil || len(keys) == 0 && sel.Keys != nil {
		return 0, nil // an empty list is no word for all
	}
	n, err := withCrawl(ctx, f, sel.Crawl, func(stored string) (int64, error) {
		return f.store.Forget(ctx, store.Selection{Crawl: stored, Keys: keys, Queue: sel.Queue, Before: sel.Before})
	})
	if err != nil {
		return n, err // which names what can't be forgotten
	}
	if f.queries != nil {
		f.queries.reset()
	}
	f.rooms.wake(f.crawls.named(sel.Crawl))
	return n, nil
}
