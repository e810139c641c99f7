package main

import (
	"context"
	"errors"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// checkStore opens the store on disk, if there is one, for reading alone, and reports the
// outcome in words: a store of another profile fails the check.
func (f *serveFlags) checkStore(ctx context.Context, p *canon.Profile) (string, error) {
	if f.redis.given() {
		return "store not opened: it is in Redis", nil
	}
	opt := f.storeOptions()
	opt.Mode = pebblestore.OpenReadOnly
	s, err := pebblestore.Open(f.db, opt)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return "store: none yet; serve makes it", nil
	case errors.Is(err, store.ErrLocked):
		return "store not opened: another process has it open", nil
	case err != nil:
		return "", err
	}
	err = s.Prepare(ctx, store.Terms{Identity: store.IdentityOf(p)})
	if err = errors.Join(err, s.Close()); err != nil {
		return "", err
	}
	return "store: opens with this profile", nil
}
