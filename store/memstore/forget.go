package memstore

import (
	"context"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Forget removes what the selection names.
func (s *Store) Forget(ctx context.Context, sel store.Selection) (int64, error) {
	name, err := sched.CheckSelection(sel)
	if err != nil {
		return 0, err
	}
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	now, gone := s.now(), int64(0)
	for _, c := range s.crawls {
		if name == c.Name || name == sched.AnyCrawl {
			gone += s.forget(c, sel, now)
		}
	}
	return gone, nil
}

func (s *Store) forget(c *crawl, sel store.Selection, now int64) int64 {
	was := len(c.known)
	switch {
	case sel.Keys != nil:
		for _, key := range sel.Keys {
			c.drop(c.known[key], now)
		}
	case sel.Queue != "":
		for _, k := range c.known {
			if k.text && k.queue.Name == sel.Queue {
				c.drop(k, now)
			}
		}
	case !sel.Before.IsZero():
		for _, k := range c.known {
			if !k.held() && k.seen < sched.Ms(sel.Before) {
				c.drop(k, now)
			}
		}
	default:
		for _, k := range c.known {
			c.drop(k, now) // so that the scheduler holds nothing of it
		}
		delete(s.crawls, c.Name)
	}
	return int64(was - len(c.known))
}

// drop forgets a key, if it is not nil.
func (c *crawl) drop(k *known, now int64) {
	if k == nil {
		return
	}
	switch k.state {
	case store.Queued:
		k.queue.pull(k)
		k.queue.Add(-1, 0)
	case store.Leased:
		c.Leases[k.Key].End()
	case store.Done:
		k.undo(now)
	}
	if k.queue != nil {
		k.queue.File(now)
	}
	delete(c.known, k.Key)
}
