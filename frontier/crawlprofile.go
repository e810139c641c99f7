package frontier

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// SetCrawlProfile sets the profile of a crawl before its first URL is offered, so that the crawls
// of one store can have different rules. The profile is durable, permanent, and the same for all
// frontiers on the store. If the crawl was offered a URL, or has another profile of its own, the
// error is store.ErrIdentity. Setting the profile that the crawl already uses does nothing.
//
// With canon.None the crawl is exact: its URLs are not canonicalized, and their identity is the URL
// as found together with its queue.
//
// The store keeps Profile.String. A profile with a rule file, one whose string is longer than 52
// bytes, and one that canon.ParseRecorded cannot make from its string are refused with
// store.ErrInvalid.
func (f *Frontier) SetCrawlProfile(ctx context.Context, name string, p *canon.Profile) error {
	if p.Name() == "none" {
		return f.setOwn(ctx, name, crawl{exact: true}, exactSuffix)
	}
	p = p.WithListsOf(f.Profile(name).String()) // a crawl keeps the lists that it has
	suffix := suffixOf(p)
	if made, err := profileOf(suffix); err != nil || made.String() != p.String() || len(suffix) > maxSuffix {
		return fault.As(store.ErrInvalid, "cannot set the profile of crawl %q to %.80s: the profile of a crawl cannot have a rule file, and its name has at most %d bytes", name, p, maxSuffix-3)
	}
	return f.setOwn(ctx, name, crawl{own: p}, suffix)
}

// Profile returns the profile that makes the keys of a crawl now: its own or that of the
// frontier; canon.None for an exact crawl. "" is the crawl of [Options.Crawl], and "*" stands for
// crawls without one of their own. Its method Compare names the rules that merge two URLs.
func (f *Frontier) Profile(name string) *canon.Profile {
	if name == "*" {
		return f.profile.Load()
	}
	c, ok := f.crawls.get(name)
	if ok && c.exact {
		return canon.None()
	}
	return f.profileFor(c)
}

func (f *Frontier) profileFor(c crawl) *canon.Profile {
	if c.own != nil {
		return c.own
	}
	return f.profile.Load()
}

// hidesHost reports whether the host can't be read from a profile's forms.
func hidesHost(p *canon.Profile) bool { return p.Name() == "surt" || p.Name() == "none" }

// maxSuffix is what the store's longest name of a crawl leaves beside ours.
const maxSuffix = 255 - maxCrawlName

// suffixOf marks a stored crawl as made by a profile that is not none.
func suffixOf(p *canon.Profile) string { return suffixFor(p.String(), p.Version()) }

// profileOf is the profile that a suffix names.
func profileOf(suffix string) (*canon.Profile, error) {
	name, version := madeBy(suffix)
	p, err := canon.ParseRecorded(name)
	if err != nil {
		return nil, fault.As(store.ErrIdentity, "cannot make its profile: %w", err)
	}
	if version != p.Version() {
		return nil, fault.As(store.ErrIdentity, "cannot make its keys; got profile %s version %d; want version %d", name, p.Version(), version)
	}
	return p, nil
}

// isSuffix reports whether a text, from its bar on, marks a crawl as having its own
// way of making keys: "|exact", or a bar, a name and "@" and a number.
func isSuffix(s string) bool {
	if s == exactSuffix {
		return true
	}
	name, version, ok := strings.Cut(s[1:], "@")
	if !ok || name == "" || version == "" {
		return false
	}
	return strings.Trim(version, "0123456789") == ""
}

// setOwn makes a crawl one that makes its keys as c does, marked by suffix.
func (f *Frontier) setOwn(ctx context.Context, name string, c crawl, suffix string) error {
	if err := f.enter(); err != nil {
		return err
	}
	defer f.leave()
	if err := f.learn(ctx, name); err != nil {
		return err
	}
	was, ok := f.crawls.get(name)
	if !ok {
		return crawlNameError(name)
	}
	if was.stored == was.name+suffix || was.stored == was.name && f.wayOf(was) == suffix {
		return nil
	}
	c.name, c.stored = was.name, was.name+suffix
	return f.crawls.setOwn(ctx, f.store, c, f.wayOf(was))
}

// wayOf is how a crawl makes its keys, as a suffix, whether it is marked or not.
func (f *Frontier) wayOf(c crawl) string {
	if c.exact {
		return exactSuffix
	}
	return suffixOf(f.profileFor(c))
}

func (t *crawlTable) setOwn(ctx context.Context, s store.Store, c crawl, way string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	asked := strings.TrimPrefix(c.stored[len(c.name):], "|")
	way = strings.TrimPrefix(way, "|")
	if now, ok := t.own[c.name]; ok {
		if now.stored == c.stored {
			return nil
		}
		return fault.As(store.ErrIdentity, "cannot set the profile of crawl %q to %s: it is %s permanently; use another crawl", c.name, asked, way)
	}
	stats, err := s.Stats(ctx, c.name)
	if err != nil {
		return fmt.Errorf("cannot set the profile of crawl %q to %s: %w", c.name, asked, err)
	}
	if stats.Seen > 0 {
		return fault.As(store.ErrIdentity, "cannot set the profile of crawl %q to %s: it has %d URLs by %s; use a crawl without URLs", c.name, asked, stats.Seen, way)
	}
	holds := []string{c.stored}
	if err := s.NameCrawls(ctx, []string{c.name}, holds); err != nil {
		return fmt.Errorf("cannot set the profile of crawl %q to %s: %w", c.name, asked, err)
	}
	if holds[0] != c.stored {
		if suffix := holds[0][len(c.name):]; suffix != "" {
			way = suffix[1:]
		}
		return errors.Join(fault.As(store.ErrIdentity, "cannot set the profile of crawl %q to %s: it is %s permanently; use another crawl", c.name, asked, way), t.keep(c.name, holds[0]))
	}
	off := false
	if err := s.Configure(ctx, c.stored, "", store.QueueChange{Paused: &off}); err != nil {
		return fmt.Errorf("cannot set the profile of crawl %q to %s: %w", c.name, asked, err)
	}
	t.own[c.name] = c
	return nil
}
