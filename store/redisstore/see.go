package redisstore

import (
	"context"
	"fmt"

	"github.com/firstseen/firstseen/store"
)

// See implements store.Store: it adds keys without a queue. If it fails, this daemon reports the keys that it recorded as new
// when they are seen again, as long as the failed call's answers are kept; see owed.
func (s *Store) See(ctx context.Context, crawl string, keys []store.Key, fresh []bool, opt store.SeeOptions) error {
	if len(keys) != len(fresh) {
		return fmt.Errorf("cannot see keys; got %d answers; want %d: %w", len(fresh), len(keys), store.ErrInvalid)
	}
	a := &adding{s: s, crawl: crawl}
	items, verdicts := make([]store.Item, min(len(keys), waveSize)), make([]store.Verdict, min(len(keys), waveSize))
	for from := 0; from == 0 || from < len(keys); from += waveSize {
		n := min(len(keys)-from, waveSize)
		for i, k := range keys[from : from+n] {
			items[i] = store.Item{Key: k, UnicodeHost: opt.UnicodeHosts}
		}
		if err := a.add(ctx, items[:n], verdicts[:n]); err != nil {
			return err
		}
		for i, v := range verdicts[:n] {
			fresh[from+i] = v.Status == store.New
		}
		ctx = accepted(ctx)
	}
	return nil
}
