package pebblestore

import (
	"context"
	"errors"

	"github.com/firstseen/firstseen/store"
)

// Forget implements store.Store.
func (s *Store) Forget(ctx context.Context, sel store.Selection) (int64, error) {
	return 0, errors.New("pebblestore: no forgetting yet")
}
