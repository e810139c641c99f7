package frontier

import (
	"context"
	"fmt"
)

// Frontiers in several processes can share a store, and each can set the profile of a crawl. So before
// a frontier makes the first key of a crawl, it settles the profile of the crawl in the store. The
// first setting is permanent. The frontier caches the answer, so this costs one request for each
// crawl and frontier.

// learn asks the store about a crawl that is not settled as far as this frontier knows.
func (f *Frontier) learn(ctx context.Context, name string) error {
	c, ok := f.crawls.get(name)
	if !ok || f.crawls.settled(c.name) {
		return nil
	}
	return f.crawls.settle(ctx, f, []string{c.name}, []string{""})
}

// settleCrawls settles the crawls of n links that keys are to be recorded for.
func (f *Frontier) settleCrawls(ctx context.Context, n int, link func(i int) *Link) error {
	var names, stored []string
	var asked map[string]bool
	last := ""
	for i := range n {
		name := link(i).Crawl
		if i > 0 && name == last {
			continue
		}
		last = name
		c, ok := f.crawls.get(name)
		if !ok || asked[c.name] || f.crawls.settled(c.name) {
			continue
		}
		if asked == nil {
			asked = make(map[string]bool)
		}
		asked[c.name] = true
		names, stored = append(names, c.name), append(stored, c.stored)
	}
	if len(names) == 0 {
		return nil
	}
	return f.crawls.settle(ctx, f, names, stored)
}

// settled reports whether it is decided how the keys of a crawl are made.
func (t *crawlTable) settled(name string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	_, own := t.own[name]
	return own || t.plain[name]
}

// settle proposes to the store how crawls are stored, "" for none, and keeps what holds.
func (t *crawlTable) settle(ctx context.Context, f *Frontier, names, stored []string) error {
	if err := f.store.NameCrawls(ctx, names, stored); err != nil {
		return fmt.Errorf("cannot read the profile of crawl %q: %w", names[0], err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, name := range names {
		if err := t.keep(name, stored[i]); err != nil {
			return err
		}
	}
	return nil
}

// keep notes as what a crawl is stored, "" for unknown.
func (t *crawlTable) keep(name, stored string) error {
	switch stored {
	case "":
	case name:
		t.plain[name] = true
	default:
		c, err := ownCrawl(name, stored)
		if err != nil {
			return err
		}
		t.own[name] = c
	}
	return nil
}
