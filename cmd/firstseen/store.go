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
)

// A workspace is a directory with a store: the one of --db, or a temporary one that
// is removed when it is closed.
type workspace struct {
	store.Store
	dir       string
	temporary bool
	profile   *canon.Profile // with the lists of the store
}

// openWorkspace opens the store in dir, or with an empty dir a temporary one.
func openWorkspace(ctx context.Context, dir string, p *canon.Profile, also ...pebblestore.AlsoSeen) (*workspace, error) {
	w := &workspace{dir: dir}
	if dir == "" {
		var err error
		if w.dir, err = os.MkdirTemp("", "firstseen-"); err != nil {
			return nil, fmt.Errorf("cannot make a temporary directory: %w", err)
		}
		w.temporary = true
	}
	s, p, err := openPebble(ctx, w.dir, p, pebblestore.Options{AlsoSeen: also})
	if err != nil {
		return nil, errors.Join(err, w.remove())
	}
	w.Store, w.profile = s, p
	return w, nil
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

func (w *workspace) Close() error { return errors.Join(w.Store.Close(), w.remove()) }

func (w *workspace) remove() error {
	if !w.temporary {
		return nil
	}
	return os.RemoveAll(w.dir)
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
