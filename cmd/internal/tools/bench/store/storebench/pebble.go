package storebench

import (
	"context"
	"time"

	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// Pebble is a pebblestore.Store as an Engine.
type Pebble struct{ *pebblestore.Store }

// See implements Engine.
func (p Pebble) See(keys []hashkey.UrlShortHash, fresh []bool) error {
	return p.Store.See(context.Background(), "", keys, fresh, store.SeeOptions{})
}

// CPU implements Engine: it runs in this process.
func (Pebble) CPU() time.Duration { return 0 }

// Compacts reports whether compactions run now.
func (p Pebble) Compacts() (bool, error) {
	m, err := p.Metrics(context.Background())
	return m.Compacting > 0, err
}
