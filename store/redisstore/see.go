package redisstore

import (
	"context"
	"fmt"

	"github.com/firstseen/firstseen/store"
)

// See implements store.Store: it adds keys without a queue. When it fails, this daemon remembers which keys it recorded
// as new: a later call with these keys that succeeds reports them as new.
func (s *Store) See(ctx context.Context, crawl string, keys []store.Key, fresh []bool, opt store.SeeOptions) error {
	if len(keys) != len(fresh) {
		return fmt.Errorf("cannot see keys; got %d answers; want %d: %w", len(fresh), len(keys), store.ErrInvalid)
	}
	items := make([]store.Item, min(len(keys), waveSize))
	for from := 0; from == 0 || from < len(keys); from += waveSize {
		n := min(len(keys)-from, waveSize)
		for i, k := range keys[from : from+n] {
			items[i] = store.Item{Key: k, UnicodeHost: opt.UnicodeHosts}
		}
		verdicts, err := s.Add(ctx, crawl, items[:n], store.AddOptions{})
		if err != nil {
			for i, isNew := range fresh[:from] {
				if isNew {
					s.owed.add(crawl, keys[i])
				}
			}
			return err
		}
		for i, v := range verdicts {
			fresh[from+i] = v.Status == store.New
		}
		ctx = accepted(ctx)
	}
	return nil
}
