package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
	"github.com/firstseen/firstseen/store/redisstore"
)

// checkStore opens the store, if there is one, and reports the outcome in words. A store of
// another profile fails the check, and so does a crawl of another profile than --crawl-profile
// says. It changes nothing.
func (f *serveFlags) checkStore(ctx context.Context, a *app, p *canon.Profile) (string, error) {
	open := f.openOnDisk
	if f.redis.given() {
		open = f.openInRedis
	}
	s, err := open(ctx, a, p)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return "store: none yet; serve makes it", nil
	case errors.Is(err, store.ErrLocked):
		return "store not opened: another process has it open", nil
	case err != nil:
		return "", err
	}
	if err := errors.Join(f.checkCrawls(ctx, s, p), s.Close()); err != nil {
		return "", err
	}
	return "store: opens with this profile", nil
}

// openOnDisk opens the store on disk for reading alone.
func (f *serveFlags) openOnDisk(ctx context.Context, _ *app, p *canon.Profile) (store.Store, error) {
	opt := f.storeOptions()
	opt.Mode = pebblestore.OpenReadOnly
	s, err := pebblestore.Open(f.db, opt)
	if err != nil {
		return nil, err
	}
	if err := s.Prepare(ctx, store.Terms{Identity: store.IdentityOf(p.WithListsOf(s.Identity().Profile))}); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// openInRedis opens a store that exists in Redis, checks all its servers, and compares its identity. Prepare would
// write the identity to a store that lacks one.
func (f *serveFlags) openInRedis(ctx context.Context, a *app, p *canon.Profile) (store.Store, error) {
	s, err := f.redis.open(ctx, a.log, redisstore.Options{MustExist: true})
	if err != nil {
		return nil, err
	}
	if err := s.CheckServers(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if have := s.Identity(); have != (store.Identity{}) {
		if _, err := have.Adopt(store.IdentityOf(p.WithListsOf(have.Profile)), true, false); err != nil {
			return nil, errors.Join(fmt.Errorf("cannot use the store in Redis: %w", err), s.Close())
		}
	}
	return s, nil
}

// checkCrawls returns an error if serve could not set the profile of a crawl: see
// frontier.SetCrawlProfile.
func (f *serveFlags) checkCrawls(ctx context.Context, s store.Store, base *canon.Profile) error {
	chosen, err := f.chosenProfiles()
	if err != nil || len(chosen) == 0 {
		return err
	}
	stored, err := frontier.StoredCrawls(ctx, s)
	if err != nil {
		return err
	}
	for _, have := range stored {
		for _, want := range chosen {
			if have.Name != want.crawl {
				continue
			}
			if err := checkCrawl(ctx, s, have, want, base); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkCrawl(ctx context.Context, s store.Store, have frontier.StoredCrawl, want crawlProfile, base *canon.Profile) error {
	own := base.WithListsOf(s.Identity().Profile).String()
	if have.Own() {
		own = have.Identity.Profile
	}
	if own == want.profile.WithListsOf(own).String() {
		return nil
	}
	if !have.Own() {
		stats, err := s.Stats(ctx, have.Stored)
		if err != nil || stats.Seen == 0 {
			return err
		}
	}
	return fmt.Errorf("cannot set the profile of crawl %q to %s: its keys are made by %s permanently; use another crawl", want.crawl, want.profile, own)
}
