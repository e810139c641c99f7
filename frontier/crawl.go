package frontier

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// exactSuffix marks exact crawls in the store, so that the way their keys are
// made is as durable as the keys: a later frontier knows it, and no key of one
// kind ever meets the other. A crawl with a profile of its own is marked
// in the same way: see suffixOf.
const exactSuffix = "|exact"

// maxCrawlName is the maximum length in bytes of the name of a crawl.
const maxCrawlName = 200

// crawl is a crawl as its users and as the store name it.
type crawl struct {
	name   string
	stored string
	exact  bool
	own    *canon.Profile // nil for that of the frontier
}

// crawlTable knows which crawls make their keys otherwise than the frontier's
// profile says.
type crawlTable struct {
	mu  sync.RWMutex
	own map[string]crawl
	// plain are the crawls that the store knows to be made by the frontier's profile, for
	// good. Of those in neither map another frontier on the store may say otherwise.
	plain map[string]bool
	all   bool // the whole store is exact: its profile is none
	// unnamed is the crawl meant by the name ""; "" is store.DefaultCrawl.
	unnamed string
}

// oneCrawl returns a name unless it means all crawls.
func oneCrawl(name string) string {
	if name == "*" {
		return ""
	}
	return name
}

// named returns the name of the crawl that a name means, which may be "*".
func (t *crawlTable) named(name string) string { return cmp.Or(name, t.unnamed, store.DefaultCrawl) }

// load learns from the store which crawls there are.
func (t *crawlTable) load(ctx context.Context, s store.Store) error {
	list, err := StoredCrawls(ctx, s)
	if err != nil {
		return err
	}
	t.own, t.plain = make(map[string]crawl), make(map[string]bool)
	for _, is := range list {
		if !is.Own() {
			continue
		}
		if t.own[is.Name], err = ownCrawl(is.Name, is.Stored); err != nil {
			return err
		}
	}
	return nil
}

// ownCrawl is a crawl that is stored with a suffix.
func ownCrawl(name, stored string) (c crawl, err error) {
	c = crawl{name: name, stored: stored, exact: stored == name+exactSuffix}
	if !c.exact {
		if c.own, err = profileOf(stored[len(name):]); err != nil {
			return c, fmt.Errorf("cannot open crawl %q: %w", name, err)
		}
	}
	return c, nil
}

// get returns the crawl of a name; ok is false for a name no crawl can have.
func (t *crawlTable) get(name string) (c crawl, ok bool) {
	name = t.named(name)
	if len(name) > maxCrawlName || name == "*" || shown(name) != name {
		return crawl{}, false
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if c, ok := t.own[name]; ok {
		return c, true
	}
	return crawl{name: name, stored: name, exact: t.all}, true
}

// stored returns the store's name of a crawl, "*" being all of them.
func (f *Frontier) stored(ctx context.Context, name string) (string, error) {
	if name == "*" {
		return name, nil
	}
	if err := f.learn(ctx, name); err != nil {
		return "", err
	}
	c, ok := f.crawls.get(name)
	if !ok {
		return "", crawlNameError(name)
	}
	return c.stored, nil
}

func crawlNameError(name string) error {
	return fault.As(store.ErrInvalid, "cannot use crawl %.40q: a name has 1 to %d bytes, and does not end in %q or \"|PROFILE@NUMBER\"",
		name, maxCrawlName, exactSuffix)
}

// shown returns the users' name of a stored crawl.
func shown(stored string) string {
	if i := strings.LastIndexByte(stored, '|'); i >= 0 && isSuffix(stored[i:]) {
		return stored[:i]
	}
	return stored
}
