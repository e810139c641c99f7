package main

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/hashkey/hasheduri"
)

// exclusion is a list of hashed URIs that are never fetched, which is read again at SIGHUP; nil for none. Safe for concurrent use.
type exclusion struct {
	file    string
	variant hasheduri.Variant // of the entries, which do not record it
	list    atomic.Pointer[hasheduri.List]
}

// addExclusion adds the flag --exclude-hashed.
func addExclusion(fs *pflag.FlagSet, to **exclusion) {
	given := ""
	fs.Var(&value{"string", func(text string) error {
		*to, given = &exclusion{file: text, variant: hasheduri.N}, text
		if name, file, ok := strings.Cut(text, ":"); ok && slices.Contains([]string{"none", "N", "P"}, name) {
			(*to).file, (*to).variant = file, variants[name]
		}
		return nil
	}, func() string { return given }}, "exclude-hashed",
		"file of hashed URIs of variant N, one a line, or none:FILE or P:FILE of another variant: URLs that they exclude are neither accepted nor leased; SIGHUP reads it again")
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
	list, err := openHashedList(x.file, hasheduri.Hasher{Variant: x.variant})
	if err != nil {
		return misuse{err}
	}
	x.list.Store(list)
	return nil
}

// log writes how long the list is, since a list that lost its entries is no error.
func (x *exclusion) log(log *slog.Logger) {
	if x != nil {
		log.Info("read the exclusion list", "file", x.file, "entries", x.list.Load().Len())
	}
}

// crawlProfile is a crawl and the profile it is to have.
type crawlProfile struct {
	crawl   string
	profile *canon.Profile
}

// addCrawlProfiles adds the flag --crawl-profile, CRAWL=PROFILE, which may be given several times.
func (f *serveFlags) addCrawlProfiles(fs *pflag.FlagSet, usage string) {
	var texts []string
	fs.Var(&value{"stringArray", func(text string) error {
		crawl, name, ok := strings.Cut(text, "=")
		if !ok || crawl == "" {
			return fmt.Errorf("got %q; want a crawl, =, and a profile", text)
		}
		p, err := canon.ParseProfile(name)
		if err != nil {
			return fmt.Errorf("got %q: %w", text, err)
		}
		f.crawls, texts = append(f.crawls, crawlProfile{crawl, p}), append(texts, text)
		return nil
	}, func() string { return strings.Join(texts, ",") }}, "crawl-profile", usage)
}
