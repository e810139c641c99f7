package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// A workspace is a directory with a store: the one of --db, or a temporary one that
// is removed when it is closed.
type workspace struct {
	store.Store
	dir       string
	temporary bool
}

// openWorkspace opens the store in dir, or with an empty dir a temporary one.
func openWorkspace(dir string, p *canon.Profile) (*workspace, error) {
	w := &workspace{dir: dir}
	if dir == "" {
		var err error
		if w.dir, err = os.MkdirTemp("", "firstseen-"); err != nil {
			return nil, fmt.Errorf("cannot make a temporary directory: %w", err)
		}
		w.temporary = true
	}
	s, err := pebblestore.Open(w.dir, pebblestore.Options{Identity: store.IdentityOf(p)})
	if err != nil {
		return nil, errors.Join(err, w.remove())
	}
	w.Store = s
	return w, nil
}

func (w *workspace) Close() error { return errors.Join(w.Store.Close(), w.remove()) }

func (w *workspace) remove() error {
	if !w.temporary {
		return nil
	}
	return os.RemoveAll(w.dir)
}
