package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/hashkey/hasheduri"
)

// excludeFlags name a list of hashed URIs that are never fetched.
type excludeFlags struct{ file string }

func (e *excludeFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&e.file, "exclude-hashed", "", "file of hashed URIs of variant N, one a line, or none:FILE or P:FILE of another variant: URLs that they exclude are neither accepted nor leased; SIGHUP reads it again")
}

// list returns the file, and the variant of its entries, which they do not record.
func (e *excludeFlags) list() (file string, v hasheduri.Variant) {
	name, file, ok := strings.Cut(e.file, ":")
	if v, known := variants[name]; ok && known {
		return file, v
	}
	return e.file, hasheduri.N
}

// open reads the list, nil for none.
func (e *excludeFlags) open() (*exclusion, error) {
	if e.file == "" {
		return nil, nil
	}
	x := &exclusion{flags: *e}
	return x, x.reload()
}

// exclusion is a list that is read again at SIGHUP. Safe for concurrent use.
type exclusion struct {
	flags excludeFlags
	list  atomic.Pointer[hasheduri.List]
}

// excluder returns what the frontier asks, or nil if there is no list.
func (x *exclusion) excluder() func(canonical string) bool {
	if x == nil {
		return nil
	}
	return func(canonical string) bool { return x.list.Load().Excluded(canonical) }
}

// reload reads the list again. If it can't be read, the old one stays.
func (x *exclusion) reload() error {
	if x == nil {
		return nil
	}
	file, variant := x.flags.list()
	list, err := openHashedList(file, hasheduri.Hasher{Variant: variant})
	if err != nil {
		return misuse{err}
	}
	x.list.Store(list)
	return nil
}

// log writes how long the list is, since a list that lost its entries is no error.
func (x *exclusion) log(log *slog.Logger) {
	if x != nil {
		log.Info("read the exclusion list", "file", x.flags.file, "entries", x.list.Load().Len())
	}
}

// crawlProfile is a crawl and the profile it is to have.
type crawlProfile struct {
	crawl   string
	profile *canon.Profile
}

// chosenProfiles reads the values of --crawl-profile, CRAWL=PROFILE.
func (f *serveFlags) chosenProfiles() ([]crawlProfile, error) {
	var out []crawlProfile
	for _, v := range f.crawlProfiles {
		crawl, name, ok := strings.Cut(v, "=")
		if !ok || crawl == "" {
			return nil, fmt.Errorf("cannot serve; got --crawl-profile %q; want a crawl, =, and a profile", v)
		}
		p, err := canon.ParseProfile(name)
		if err != nil {
			return nil, fmt.Errorf("cannot serve; got --crawl-profile %q: %w", v, err)
		}
		out = append(out, crawlProfile{crawl, p})
	}
	return out, nil
}

// chooseProfiles sets the profiles of crawls by --crawl-profile.
func (f *serveFlags) chooseProfiles(ctx context.Context, front *frontier.Frontier) error {
	chosen, err := f.chosenProfiles()
	if err != nil {
		return err
	}
	for _, c := range chosen {
		if err := front.SetCrawlProfile(ctx, c.crawl, c.profile); err != nil {
			return err
		}
	}
	return nil
}
