package pebblestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/identityform"
)

// Prepare implements store.Store. Keys are forgotten in groups that were recorded within an eighth
// of the shortest retention that a user requested.
func (s *Store) Prepare(ctx context.Context, t store.Terms) error {
	var err error
	if s.opt.Mode == OpenReadOnly {
		_, err = s.Identity().Adopt(t.Identity, s.keys() > 0, s.unicodeHosts)
	} else {
		err = s.do(ctx, &prepareOp{t})
	}
	if errors.Is(err, store.ErrIdentity) {
		return fmt.Errorf("cannot use store %s: %w", s.dir, err)
	}
	return err
}

type prepareOp struct{ terms store.Terms }

func (o *prepareOp) weight() int { return 1 }

func (o *prepareOp) apply(tx *txn) error {
	s := tx.s
	have := s.Identity()
	id, err := have.Adopt(o.terms.Identity, s.keys() > 0, s.unicodeHosts)
	if err != nil {
		return err
	}
	for _, f := range s.also {
		if err := accepts(id, f.Header()); err != nil {
			return fmt.Errorf("cannot use key file %s: %w", f.Path(), err)
		}
	}
	if id != have {
		s.identity.Store(&id)
		tx.set(metaKey(metaIdentity), identityform.Append(nil, id))
	}
	if g := o.terms.Retention / 8; g > 0 && (s.retained == 0 || g < s.retained) {
		s.retained = g
	}
	return nil
}
