package frontier

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

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
	return notFound{fmt.Errorf("cannot find crawl %q in the store, %s", name, there)}
}

// notFound is store.ErrNotFound by another text.
type notFound struct{ error }

func (notFound) Is(target error) bool { return target == store.ErrNotFound }

// Hidden reports whether the name begins with a dot: a program uses the crawl internally, and
// it holds no URLs of users.
func (c StoredCrawl) Hidden() bool { return strings.HasPrefix(c.Name, ".") }

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
	form, err := p.AppendCanonical(nil, view(e.URL))
	if err == nil && len(form) == 0 {
		err = canon.ErrURL
	}
	if err != nil {
		return key, "", fmt.Errorf("cannot identify %q: %w", e.URL, err)
	}
	canonical = string(form)
	return keyOf(form, isExact(p), e.Queue, r.disc), canonical, nil
}
