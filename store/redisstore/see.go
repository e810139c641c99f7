package redisstore

import (
	"context"
	"fmt"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// waveSize bounds what one script call may have to do: a script stops its server
// meanwhile, some 5 µs for each URL.
const waveSize = 8192

// See implements store.Store.
func (s *Store) See(ctx context.Context, crawl string, keys []store.Key, fresh []bool, opt store.SeeOptions) error {
	crawl, err := sched.CrawlName(crawl)
	if err != nil {
		return err
	}
	if len(keys) != len(fresh) {
		return fmt.Errorf("cannot see keys; got %d answers; want %d: %w", len(fresh), len(keys), store.ErrInvalid)
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	if err := s.noteUnicodeHosts(ctx, opt.UnicodeHosts && len(keys) > 0); err != nil {
		return err
	}
	for len(keys) > 0 {
		n := min(len(keys), waveSize)
		if err := s.seeWave(ctx, crawl, keys[:n], fresh); err != nil {
			return err
		}
		ctx, keys, fresh = accepted(ctx), keys[n:], fresh[n:]
	}
	return nil
}

// seeWave sees keys, those with a step once it is finished.
func (s *Store) seeWave(ctx context.Context, crawl string, keys []store.Key, fresh []bool) error {
	r, left := s.recall(crawl, len(keys), func(i int) *store.Key { return &keys[i] })
	err := s.untilSettled(ctx, func(ctx context.Context) (bool, error) {
		b := s.batch(scriptSee, s.requests.id(), crawl, s.shardsHead())
		for _, i := range left {
			p := b.keyPart(i, &keys[i])
			p.blob = append(p.blob, keys[i][:]...)
		}
		told := r.ask(ctx)
		err := b.run(ctx)
		fallen := told()
		if err != nil {
			return false, err
		}
		left = fallen
		var busy []store.Key
		err = b.tell(func(i int, answer byte) {
			fresh[i] = answer == 'N'
			if answer == 'P' {
				left, busy = append(left, i), append(busy, keys[i])
			} else {
				r.remember(&keys[i])
			}
		})
		if err != nil {
			return false, err
		}
		return len(left) == 0, s.finish(accepted(ctx), crawl, busy)
	})
	for _, i := range r.hits {
		fresh[i] = false
	}
	return err
}

func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
