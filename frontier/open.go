package frontier

import (
	"fmt"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/memstore"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// openStore returns the store of the options, and whether it is ours to close.
func openStore(opt Options) (s store.Store, owned bool, err error) {
	id := identityOf(opt.Profile)
	switch {
	case opt.Store != nil:
		if got := opt.Store.Identity(); got != id {
			return nil, false, fmt.Errorf("cannot open frontier; got a store of %+v; want %+v: %w", got, id, store.ErrIdentity)
		}
		return opt.Store, false, nil
	case opt.Dir == "":
		return memstore.New(memstore.Options{Identity: id, KeepURLs: opt.KeepURLs}), true, nil
	}
	s, err = pebblestore.Open(opt.Dir, pebblestore.Options{
		Identity:   id,
		KeepURLs:   opt.KeepURLs,
		Generation: opt.SeenFor / 8, // keys are forgotten by the generation
		LoadBehind: true,
	})
	if err != nil {
		return nil, false, fmt.Errorf("cannot open frontier: %w", err)
	}
	return s, true, nil
}
