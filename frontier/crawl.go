package frontier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/zerocopy"
	"github.com/firstseen/firstseen/store"
)

// A store has many crawls, each with its own seen URLs, queues and, if it was given one, profile.
// Which profile made a key must be as durable as the key, or a later frontier would make other keys
// for the same URLs. So a crawl with its own profile has another name in the store: its own name,
// then the profile ("news|whatwg@1"). Keys by two profiles never meet, and any store
// can keep it.
//
// Frontiers in several processes can share a store, and each can set the profile of a crawl. So
// before a frontier makes the first key of a crawl it claims the crawl's stored name
// (store.Store.NameCrawls): the first claim holds permanently. The frontier remembers what holds, so
// this costs one request for each crawl and frontier.

// crawl is a crawl as its users and as the store name it. It does not change.
type crawl struct {
	name    string
	stored  string
	profile *canon.Profile // its own; nil: the frontier's
}

// maxCrawlName is the maximum length of the name of a crawl, in bytes, and maxSuffix what the store's
// longest name leaves for the profile.
const (
	maxCrawlName = 200
	maxSuffix    = 255 - maxCrawlName
)

// crawls remembers the crawls whose stored name holds permanently. For any other, another frontier
// on the store may still set a profile.
type crawls struct {
	mu    sync.RWMutex
	known map[string]*crawl // by name
}

// load reads from the store which crawls have their own profiles.
func (t *crawls) load(ctx context.Context, s store.Store) error {
	list, err := StoredCrawls(ctx, s)
	if err != nil {
		return err
	}
	for _, c := range list {
		if c.Own() {
			if _, err := t.keep(c.Name, c.Stored); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep remembers under which name the store keeps a crawl, and returns the crawl.
func (t *crawls) keep(name, stored string) (*crawl, error) {
	c := &crawl{name: name, stored: stored}
	if stored != name {
		var err error
		if c.profile, err = profileOfSuffix(stored[len(name):]); err != nil {
			return nil, fmt.Errorf("cannot open crawl %q: %w", name, err)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if have := t.known[name]; have != nil && have.stored == stored {
		return have, nil
	}
	t.known[name] = c
	return c, nil
}

func (t *crawls) get(name string) *crawl {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.known[name]
}

// ofStored returns the crawl that the store keeps under a name; nil if this program can't make its
// profile.
func (t *crawls) ofStored(stored string) *crawl {
	name := shown(stored)
	if c := t.get(name); c != nil && c.stored == stored {
		return c
	}
	if stored == name {
		return &crawl{name: name, stored: stored}
	}
	c, err := t.keep(name, stored)
	if err != nil {
		return nil
	}
	return c
}

// named returns the name of the crawl that a name means: for "" that of Options.Crawl. It may be "*".
func (f *Frontier) named(name string) string {
	return cmp.Or(name, oneCrawl(f.opt.Crawl), store.DefaultCrawl)
}

// oneCrawl returns a name unless it means all crawls.
func oneCrawl(name string) string {
	if name == "*" {
		return ""
	}
	return name
}

// resolve returns the crawls of these names, nil for a name that no crawl can have. It asks the store about
// unknown names in one request. With claim, crawls that have no profile yet get the frontier's.
func (f *Frontier) resolve(ctx context.Context, names []string, claim bool) ([]*crawl, error) {
	found := make([]*crawl, len(names))
	var unknown []string
	var places []int
	for i, name := range names {
		name = f.named(name)
		if len(name) > maxCrawlName || name == "*" || shown(name) != name {
			continue
		}
		if found[i] = f.crawls.get(name); found[i] == nil {
			unknown, places = append(unknown, name), append(places, i)
		}
	}
	if len(unknown) == 0 {
		return found, nil
	}
	holds := make([]string, len(unknown))
	if claim {
		copy(holds, unknown)
	}
	if err := f.store.NameCrawls(ctx, unknown, holds); err != nil {
		return nil, fmt.Errorf("cannot read the profile of crawl %q: %w", unknown[0], err)
	}
	for k, name := range unknown {
		c, err := &crawl{name: name, stored: name}, error(nil)
		if holds[k] != "" {
			if c, err = f.crawls.keep(name, holds[k]); err != nil {
				return nil, err
			}
		}
		found[places[k]] = c
	}
	return found, nil
}

// crawl is resolve for one name, which must be that of a crawl.
func (f *Frontier) crawl(ctx context.Context, name string, claim bool) (*crawl, error) {
	found, err := f.resolve(ctx, []string{name}, claim)
	if err != nil {
		return nil, err
	}
	if found[0] == nil {
		return nil, fault.As(store.ErrInvalid, "cannot use crawl %.40q: a name has 1 to %d bytes, and does not end in %q or \"|PROFILE@NUMBER\"",
			name, maxCrawlName, exactSuffix)
	}
	return found[0], nil
}

// crawlOrAll is crawl for calls that may mean all crawls, by "*".
func (f *Frontier) crawlOrAll(ctx context.Context, name string) (*crawl, error) {
	if name == "*" {
		return &crawl{name: name, stored: name}, nil
	}
	return f.crawl(ctx, name, false)
}

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
	if err := f.enter(); err != nil {
		return err
	}
	defer f.leave()
	c, err := f.crawl(ctx, name, false)
	if err != nil {
		return err
	}
	has := f.profileOf(c)
	p = p.WithListsOf(has.String()) // a crawl keeps the lists that it has
	suffix := suffixFor(p.String(), p.Version())
	if made, err := profileOfSuffix(suffix); err != nil || made.String() != p.String() || len(suffix) > maxSuffix {
		return fault.As(store.ErrInvalid, "cannot set the profile of crawl %q to %.80s: the profile of a crawl cannot have a rule file, and its name has at most %d bytes", name, p, maxSuffix-3)
	}
	hasSuffix := suffixFor(has.String(), has.Version())
	if hasSuffix == suffix {
		return nil
	}
	if err := f.claimAs(ctx, c, suffix, hasSuffix[1:]); err != nil {
		return fmt.Errorf("cannot set the profile of crawl %q to %s: %w", c.name, suffix[1:], err)
	}
	return nil
}

// claimAs claims for a crawl the stored name with a suffix; has is the profile that it has now.
func (f *Frontier) claimAs(ctx context.Context, c *crawl, suffix, has string) error {
	if c.profile != nil {
		return fault.As(store.ErrIdentity, "it is %s permanently; use another crawl", has)
	}
	// A store that one process opens forgets claims, so URLs count as one.
	stats, err := f.store.Stats(ctx, c.name)
	if err != nil {
		return err
	}
	if stats.Seen > 0 {
		return fault.As(store.ErrIdentity, "it has %d URLs by %s; use a crawl without URLs", stats.Seen, has)
	}
	holds := []string{c.name + suffix}
	if err := f.store.NameCrawls(ctx, []string{c.name}, holds); err != nil {
		return err
	}
	if holds[0] != c.name+suffix {
		if holds[0] != c.name {
			has = holds[0][len(c.name)+1:]
		}
		_, err := f.crawls.keep(c.name, holds[0])
		return errors.Join(fault.As(store.ErrIdentity, "it is %s permanently; use another crawl", has), err)
	}
	// A setting that changes nothing makes the crawl, and so its name durable.
	off := false
	if err := f.store.Configure(ctx, holds[0], "", store.QueueChange{Paused: &off}); err != nil {
		return err
	}
	_, err = f.crawls.keep(c.name, holds[0])
	return err
}

// Profile returns the profile that makes the keys of a crawl now: its own or that of the
// frontier; canon.None for an exact crawl. "" is the crawl of [Options.Crawl], and "*" stands for
// crawls without one of their own. Its method Compare names the rules that merge two URLs.
func (f *Frontier) Profile(name string) *canon.Profile {
	if c := f.crawls.get(f.named(name)); c != nil {
		return f.profileOf(c)
	}
	return f.profile.Load()
}

func (f *Frontier) profileOf(c *crawl) *canon.Profile {
	if c.profile != nil {
		return c.profile
	}
	return f.profile.Load()
}

// SetProfile replaces the profile from the next call on, for rules of hosts and paths that change
// during a crawl. The profile must have the name and version of [Options.Profile], or the error is
// store.ErrIdentity; the store's identity stays that of Options.Profile. So call New with the
// profile without rule files, then SetProfile with them.
//
// Keys made before stay as they are. If the new rules change the form of a URL that was seen under
// the old ones, the URL is new once more; if its old entry is still queued, it is fetched also.
func (f *Frontier) SetProfile(p *canon.Profile) error {
	was := f.opt.Profile
	if p.Name() != was.Name() || p.Version() != was.Version() {
		return fault.As(store.ErrIdentity, "cannot replace profile %s, version %d, by %s, version %d; want one that differs only in its rule files", was.Name(), was.Version(), p.Name(), p.Version())
	}
	f.profile.Store(p.WithListsOf(was.String()))
	return nil
}

// part is what one call has for one crawl. The call does it in one step of the store.
type part struct {
	crawl *crawl
	at    []int // places among the arguments of the call
}

// parts splits the n arguments of a call by crawl, in the order of first arguments, and keeps the
// order within a crawl. invalid are the places of names that no crawl can have.
func (f *Frontier) parts(ctx context.Context, n int, nameOf func(i int) string, claim bool) (parts []part, invalid []int, err error) {
	var names []string
	var at [][]int
	index, k, last := make(map[string]int), 0, ""
	for i := range n {
		if given := nameOf(i); i == 0 || given != last {
			name, ok := f.named(given), false
			last = given
			if k, ok = index[name]; !ok {
				k = len(names)
				index[name] = k
				names, at = append(names, name), append(at, nil)
			}
		}
		if at[k] == nil && k == 0 { // most calls are of one crawl
			at[k] = make([]int, 0, n)
		}
		at[k] = append(at[k], i)
	}
	found, err := f.resolve(ctx, names, claim)
	if err != nil {
		return nil, nil, err
	}
	for k, c := range found {
		if c != nil {
			parts = append(parts, part{c, at[k]})
		} else {
			invalid = append(invalid, at[k]...)
		}
	}
	return parts, invalid, nil
}

// partsAtOnce bounds how many crawls, or rules, of one call are written at the same time.
// Their steps share the syncs of the disk.
const partsAtOnce = 32

// each calls do with each part of a call, up to partsAtOnce of them at the same time. After ctx ends, or a
// part fails, it begins no other. It returns the first error, or that of ctx.
func each[T any](ctx context.Context, parts []T, do func(context.Context, T) error) error {
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return do(ctx, parts[0])
	}
	steps, stepCtx := errgroup.WithContext(ctx)
	steps.SetLimit(partsAtOnce)
	for _, p := range parts {
		if stepCtx.Err() != nil {
			break
		}
		steps.Go(func() error { return do(stepCtx, p) })
	}
	if err := steps.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// exactSuffix ends the stored name of a crawl whose profile is canon.None.
const exactSuffix = "|exact"

// StoredCrawl is a crawl as a store has it, for programs that work on the store
// itself. If a crawl has a profile of its own, its name in the store contains the profile.
type StoredCrawl struct {
	Name     string         // as users know it: "news"
	Stored   string         // as the store knows it: "news", "news|whatwg@1", "news|exact"
	Identity store.Identity // what its keys are made by
}

// Own reports whether the crawl has a profile of its own.
func (c StoredCrawl) Own() bool { return c.Stored != c.Name }

// StoredCrawls lists the crawls of a store in order of name.
func StoredCrawls(ctx context.Context, s store.Store) ([]StoredCrawl, error) {
	names, err := s.Crawls(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot list crawls: %w", err)
	}
	var list []StoredCrawl
	for _, stored := range names {
		c := StoredCrawl{Name: shown(stored), Stored: stored, Identity: s.Identity()}
		if suffix := stored[len(c.Name):]; suffix != "" {
			c.Identity.Profile, c.Identity.Version = madeBy(suffix)
		}
		list = append(list, c)
	}
	// A plain crawl beside one of its name that makes its own keys has only settings from
	// before that was said.
	slices.SortStableFunc(list, func(a, b StoredCrawl) int {
		if n := strings.Compare(a.Name, b.Name); n != 0 {
			return n
		}
		return strings.Compare(b.Stored, a.Stored)
	})
	return slices.CompactFunc(list, func(a, b StoredCrawl) bool { return a.Name == b.Name }), nil
}

// FindCrawl finds a crawl by the name that users know, or by the name under which it is stored; ""
// is store.DefaultCrawl. If there is none, the error is store.ErrNotFound and lists the names of
// all crawls.
func FindCrawl(ctx context.Context, s store.Store, name string) (StoredCrawl, error) {
	if name == "" {
		name = store.DefaultCrawl
	}
	list, err := StoredCrawls(ctx, s)
	if err != nil {
		return StoredCrawl{}, err
	}
	i := slices.IndexFunc(list, func(c StoredCrawl) bool { return c.Name == name || c.Stored == name })
	if i < 0 {
		return StoredCrawl{}, noCrawl(name, list)
	}
	return list[i], nil
}

func noCrawl(name string, list []StoredCrawl) error {
	var names []string
	for _, c := range list {
		if !c.Hidden() {
			names = append(names, strconv.Quote(c.Name))
		}
	}
	there := "which has no crawl"
	if len(names) > 0 {
		there = "which has " + strings.Join(names, ", ")
	}
	return fault.As(store.ErrNotFound, "cannot find crawl %q in the store, %s", name, there)
}

// Hidden reports whether it is [OwnCrawl]: programs use it internally, and
// it holds no URLs of users.
func (c StoredCrawl) Hidden() bool { return isHidden(c.Name) }

// OwnCrawl is the hidden crawl in which frontiers and daemons keep settings of their own. It holds no
// URLs.
const OwnCrawl = ".serve"

func isHidden(crawl string) bool { return crawl == OwnCrawl }

// NewCrawl returns a crawl that the store s does not have yet, with keys of the given identity. A
// name that is a StoredCrawl's Stored already contains the profile.
func NewCrawl(s store.Store, name string, keys store.Identity) StoredCrawl {
	c := StoredCrawl{Name: shown(name), Stored: name, Identity: keys}
	own := s.Identity()
	switch {
	case c.Own():
		c.Identity.Profile, c.Identity.Version = madeBy(name[len(c.Name):])
	case keys.Profile != own.Profile || keys.Version != own.Version:
		c.Stored += suffixFor(keys.Profile, keys.Version)
	}
	return c
}

// suffixFor marks a stored crawl as made by a profile: "|exact" for none, else its name
// as typed and its version, "|whatwg@1". The version is in it because another one makes
// other keys.
func suffixFor(profile string, version int) string {
	if profile == canon.None().Name() {
		return exactSuffix
	}
	// The name of a crawl leaves little room: the version of the lists is written shorter.
	return "|" + strings.Replace(profile, listsIn, ";", 1) + "@" + strconv.Itoa(version)
}

// listsIn is how canon.Profile.String names the version of the lists.
const listsIn = ",lists="

// madeBy is the inverse of suffixFor.
func madeBy(suffix string) (profile string, version int) {
	if suffix == exactSuffix {
		return canon.None().String(), canon.None().Version()
	}
	profile, number, _ := strings.Cut(suffix[1:], "@")
	version, _ = strconv.Atoi(number) // isSuffix saw that it is a number
	return strings.Replace(profile, ";", listsIn, 1), version
}

// profileOfSuffix makes the profile that a suffix names.
func profileOfSuffix(suffix string) (*canon.Profile, error) {
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

// shown returns the name that users know of a stored crawl.
func shown(stored string) string {
	if i := strings.LastIndexByte(stored, '|'); i >= 0 && isSuffix(stored[i:]) {
		return stored[:i]
	}
	return stored
}

// isSuffix reports whether a text that begins with a bar names a profile: "|exact", or a name, "@" and
// a number.
func isSuffix(s string) bool {
	if s == exactSuffix {
		return true
	}
	name, version, ok := strings.Cut(s[1:], "@")
	return ok && name != "" && version != "" && strings.Trim(version, "0123456789") == ""
}

// KeyOf returns the key and the canonical form that the URL of an entry, as a store lists it, has
// in a crawl whose keys are made by profile p.
func KeyOf(p *canon.Profile, e store.Entry) (key store.Key, canonical string, err error) {
	r, err := decodeRecord(e.Meta)
	if err != nil {
		return key, "", err
	}
	form, err := p.AppendCanonical(nil, zerocopy.Bytes(e.URL))
	if err == nil && len(form) == 0 {
		err = canon.ErrURL
	}
	if err != nil {
		return key, "", fmt.Errorf("cannot identify %q: %w", e.URL, err)
	}
	canonical = string(form)
	return keyOf(form, isExact(p), e.Queue, r.disc), canonical, nil
}
