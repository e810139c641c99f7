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

// See implements store.Store. When it fails, this daemon remembers which keys it recorded as new: a call with these keys that
// succeeds says so.
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
	clear(fresh)
	for from := 0; from < len(keys); from += waveSize {
		to := min(len(keys), from+waveSize)
		if err := s.seeWave(ctx, crawl, keys[from:to], fresh[from:to]); err != nil {
			for i := range keys {
				if fresh[i] {
					s.owed.add(crawl, keys[i])
				}
			}
			return err
		}
		ctx = accepted(ctx)
	}
	if s.owed.any() {
		for i := range keys {
			fresh[i] = s.owed.pay(crawl, keys[i]) || fresh[i]
		}
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
			s.owe(crawl, b, keys)
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

// owe notes the keys that a failed call recorded as new where it was answered, if only by the master.
func (s *Store) owe(crawl string, b *batch, keys []store.Key) {
	for _, p := range b.parts {
		for j, i := range p.of {
			if len(p.reply) == len(p.of) && p.reply[j] == 'N' {
				s.owed.add(crawl, keys[i])
			}
		}
	}
}

func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
