package frontier

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/firstseen/firstseen/store"
)

// exactSuffix marks exact crawls in the store, so that the way their keys are
// made is as durable as the keys: a store opened without Options.Exact still
// knows, and no key of one kind ever meets the other.
const exactSuffix = "|exact"

// maxCrawlName is the greatest length in bytes of the name of a crawl.
const maxCrawlName = 200

// crawl is a crawl as its users and as the store name it.
type crawl struct {
	name   string
	stored string
	exact  bool
}

// crawlTable knows which crawls are exact.
type crawlTable struct {
	mu    sync.RWMutex
	exact map[string]bool
	all   bool // the whole store is exact: its profile is none
}

// load learns from the store which crawls there are.
func (t *crawlTable) load(ctx context.Context, s store.Store) error {
	names, err := s.Crawls(ctx)
	if err != nil {
		return fmt.Errorf("cannot list crawls: %w", err)
	}
	t.exact = make(map[string]bool)
	for _, name := range names {
		if base, ok := strings.CutSuffix(name, exactSuffix); ok {
			t.exact[base] = true
		}
	}
	return nil
}

// get returns the crawl of a name; ok is false for a name no crawl can have.
func (t *crawlTable) get(name string) (c crawl, ok bool) {
	if name == "" {
		name = store.DefaultCrawl
	}
	if len(name) > maxCrawlName || name == "*" || strings.HasSuffix(name, exactSuffix) {
		return crawl{}, false
	}
	if t.all {
		return crawl{name, name, true}, true
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.exact[name] {
		return crawl{name, name + exactSuffix, true}, true
	}
	return crawl{name, name, false}, true
}

// stored returns the store's name of a crawl, "*" being all of them.
func (t *crawlTable) stored(name string) (string, error) {
	if name == "*" {
		return name, nil
	}
	c, ok := t.get(name)
	if !ok {
		return "", crawlNameError(name)
	}
	return c.stored, nil
}

func crawlNameError(name string) error {
	return fmt.Errorf("cannot use crawl; got name %.40q; want one, of at most %d bytes, not ending in %q: %w", name, maxCrawlName, exactSuffix, store.ErrInvalid)
}

// shown returns the users' name of a stored crawl.
func shown(stored string) string { return strings.TrimSuffix(stored, exactSuffix) }

// SetExact makes a crawl exact before its first URL: without canonical dedup,
// identity being the URL as found and its queue key. It is durable, and fails
// with store.ErrIdentity for a crawl that has URLs under canonical dedup.
// Making an exact crawl exact does nothing.
func (f *Frontier) SetExact(ctx context.Context, name string) error {
	if err := f.enter(); err != nil {
		return err
	}
	defer f.leave()
	c, ok := f.crawls.get(name)
	if !ok {
		return crawlNameError(name)
	}
	if c.exact {
		return nil
	}
	return f.crawls.setExact(ctx, f.store, c.name)
}

func (t *crawlTable) setExact(ctx context.Context, s store.Store, name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	stats, err := s.Stats(ctx, name)
	if err != nil {
		return fmt.Errorf("cannot make crawl %q exact: %w", name, err)
	}
	if stats.Seen > 0 {
		return fmt.Errorf("cannot make crawl %q exact; got %d URLs seen under canonical dedup; want none: %w", name, stats.Seen, store.ErrIdentity)
	}
	off := false
	if err := s.Configure(ctx, name+exactSuffix, "", store.QueueChange{Paused: &off}); err != nil {
		return fmt.Errorf("cannot make crawl %q exact: %w", name, err)
	}
	t.exact[name] = true
	return nil
}
