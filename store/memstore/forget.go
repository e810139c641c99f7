package memstore

import (
	"context"
	"time"

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
	if sel.Age > 0 {
		at, err := s.wall.Judge(s.opt.Clock(), time.Since(s.began), sel.Age)
		if err != nil {
			return 0, err
		}
		sel.Before = at.Add(-sel.Age)
	}
	now, gone := s.now(), int64(0)
	for _, c := range s.crawls {
		if name == c.Name || name == sched.AnyCrawl {
			gone += s.forget(c, sel, now)
		}
	}
	s.sched.DropEmpty()
	return gone, nil
}

func (s *Store) forget(c *crawl, sel store.Selection, now int64) int64 {
	was := len(c.known)
	switch {
	case sel.Keys != nil:
		for _, key := range sel.Keys {
			if k := c.known[key]; k != nil {
				c.drop(k, now)
			}
		}
	case sel.Queue != "":
		if q := c.queues[sel.Queue]; q != nil {
			c.dropQueue(q, now)
		}
	case !sel.Before.IsZero():
		for key, k := range c.known {
			if !k.held() && k.seen < sched.Ms(sel.Before) {
				delete(c.known, key)
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

// dropQueue forgets the keys that are known to be of a queue.
func (c *crawl) dropQueue(q *queue, now int64) {
	for _, k := range c.known {
		if k.queue == q {
			c.drop(k, now)
		}
	}
	q.ForgetEnds()
	q.File(now)
}

// drop forgets a key.
func (c *crawl) drop(k *known, now int64) {
	switch k.state {
	case store.Queued:
		k.queue.pull(k)
		k.queue.Add(-1)
	case store.Leased:
		c.Leases[k.Key].End()
	default:
		k.leaveEnd(now)
	}
	if k.queue != nil {
		k.queue.File(now)
	}
	delete(c.known, k.Key)
}
