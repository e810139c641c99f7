package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
	"github.com/firstseen/firstseen/store/redisstore"
)

// openSeenSet opens the seen-set in a directory, or with an empty dir a temporary one, which is removed when it is closed. The profile is
// that with the lists of the store.
func openSeenSet(ctx context.Context, dir string, p *canon.Profile, also ...pebblestore.AlsoSeen) (s *pebblestore.Store, own *canon.Profile, end func() error, err error) {
	remove := func() error { return nil }
	if dir == "" {
		if dir, err = os.MkdirTemp("", "firstseen-"); err != nil {
			return nil, nil, nil, fmt.Errorf("cannot make a temporary directory: %w", err)
		}
		remove = func() error { return os.RemoveAll(dir) }
	}
	if s, own, err = openPebble(ctx, dir, p, pebblestore.Options{AlsoSeen: also}); err != nil {
		return nil, nil, nil, errors.Join(err, remove())
	}
	return s, own, func() error { return errors.Join(s.Close(), remove()) }, nil
}

// openPebble opens a store on disk for keys of a profile, and returns the profile with the lists of the store.
func openPebble(ctx context.Context, dir string, p *canon.Profile, opt pebblestore.Options) (*pebblestore.Store, *canon.Profile, error) {
	s, err := pebblestore.Open(dir, opt)
	if err != nil {
		return nil, nil, err
	}
	p = p.WithListsOf(s.Identity().Profile)
	return s, p, prepare(ctx, s, store.IdentityOf(p))
}

// createStore opens a store to write to, on disk or in Redis, which may be a new one.
func createStore(ctx context.Context, a *app, db string, redis *redisFlags, keepURLs bool) (store.Store, error) {
	if redis.given() {
		return redis.open(ctx, a.log, redisstore.Options{KeepURLs: keepURLs})
	}
	return pebblestore.Open(db, pebblestore.Options{KeepURLs: keepURLs, Logger: a.log})
}

// newFrontier makes a frontier on a store that serve may use, too: the store is of the profile without a rule file, which may change while
// the store lives. One that uniq made is of the profile with the file.
func newFrontier(s store.Store, base, with *canon.Profile, opt frontier.Options) (*frontier.Frontier, error) {
	if had := s.Identity().Profile; with.WithListsOf(had).String() == had {
		base = with
	}
	opt.Profile = base
	front, err := frontier.New(s, opt)
	if err != nil {
		return nil, err
	}
	if err := front.SetProfile(with); err != nil {
		return nil, errors.Join(err, front.Close())
	}
	return front, nil
}

// prepare prepares a store for keys of an identity, and closes it if that fails.
func prepare(ctx context.Context, s store.Store, id store.Identity) error {
	err := s.Prepare(ctx, store.Terms{Identity: id})
	if err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// addAlsoSeen adds the flag --also-seen.
func addAlsoSeen(fs *pflag.FlagSet, to *[]pebblestore.AlsoSeen) {
	var texts []string
	fs.Var(&value{"file", func(text string) error {
		crawl, file, found := strings.Cut(text, "=")
		if !found {
			crawl, file = "", text
		}
		if file == "" {
			return fmt.Errorf("got %q; want FILE or CRAWL=FILE", text)
		}
		*to, texts = append(*to, pebblestore.AlsoSeen{Path: file, Crawl: crawl}), append(texts, text)
		return nil
	}, func() string { return strings.Join(texts, ",") }},
		"also-seen", "key file, as export writes it, whose keys count as seen; CRAWL=FILE for one crawl; may be given several times")
}
