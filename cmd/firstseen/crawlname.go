package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// crawlIn finds the crawl of a store that a flag names; "*" is all of them. One that is
// not there is misuse: a name misspelt must not look like a crawl without URLs.
func crawlIn(ctx context.Context, s store.Store, name string) (frontier.StoredCrawl, error) {
	if name == "*" {
		return frontier.StoredCrawl{Name: name, Stored: name, Identity: s.Identity()}, nil
	}
	c, err := frontier.FindCrawl(ctx, s, name)
	if errors.Is(err, store.ErrNotFound) {
		err = misuse{err}
	}
	return c, err
}

// nameList returns names for a person to read, "none" if there are none.
func nameList(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = quoted(name)
	}
	return strings.Join(shown, ", ")
}

// crawlInto returns the crawl of a store that a flag names as a target, which may not exist
// yet. The keys have the given identity. If own is set, their crawl had a profile of its own,
// and so has a new crawl; otherwise a new crawl has the profile of the store.
func crawlInto(ctx context.Context, s store.Store, name string, keys store.Identity, own bool) (frontier.StoredCrawl, error) {
	c, err := frontier.FindCrawl(ctx, s, name)
	switch {
	case err == nil:
	case !errors.Is(err, store.ErrNotFound):
		return c, err
	case own:
		c = frontier.NewCrawl(s, name, keys)
	default:
		c = frontier.NewCrawl(s, name, s.Identity())
	}
	if c.Identity.Profile == keys.Profile && c.Identity.Version == keys.Version {
		return c, nil
	}
	hint := ""
	if err != nil && !c.Own() {
		hint = fmt.Sprintf("; for a new crawl that has a profile of its own, name it %q", frontier.NewCrawl(s, c.Name, keys).Stored)
	}
	return c, fault.As(store.ErrIdentity, "the keys are made by profile %q, version %d, and those of crawl %q by %q, version %d%s",
		keys.Profile, keys.Version, c.Name, c.Identity.Profile, c.Identity.Version, hint)
}
