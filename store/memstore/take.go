package memstore

import (
	"context"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Take leases URLs that are due.
func (s *Store) Take(ctx context.Context, req store.TakeRequest) (store.Taken, error) {
	name, err := sched.CrawlOfQueue(req.Crawl, req.Queue)
	if err != nil {
		return store.Taken{}, err
	}
	if err := s.enter(ctx); err != nil {
		return store.Taken{}, err
	}
	defer s.mu.Unlock()
	c := s.crawls[name]
	if c == nil && name != sched.AnyCrawl {
		return store.Taken{}, nil
	}
	var taken store.Taken
	r := sched.NewRequest(req, s.now())
	next := s.take(c, req.Queue, r, func(q *sched.Queue, n int, room int64) (int, int64, error) {
		got, bytes := s.serve(q.Owner.(*queue), n, room, r)
		taken.Leases = append(taken.Leases, got...)
		return len(got), bytes, nil
	})
	taken.Next = sched.Time(next)
	return taken, nil
}

// take takes from a queue, a crawl or, with c nil, all crawls.
func (s *Store) take(c *crawl, queue string, r sched.Request, serve sched.Serve) int64 {
	var from *sched.Crawl
	if c != nil {
		from = c.Crawl
	}
	var only *sched.Queue
	if queue != "" {
		q := c.queues[queue]
		if q == nil {
			return sched.Never
		}
		only = &q.Queue
	}
	next, _ := s.sched.Take(from, only, r, serve) // serve returns no error
	return next
}

// serve implements sched.Serve.
func (s *Store) serve(q *queue, n int, room int64, r sched.Request) (out []store.Lease, bytes int64) {
	for len(out) < n && bytes < room {
		l := q.Expired()
		if l != nil {
			s.token++
			l.Renew(s.token, r.Now, r.Until)
		} else if k := q.due(r.Now); k != nil {
			l = s.lease(k, r)
		} else {
			break
		}
		l.Attempts++
		out = append(out, store.Lease{Entry: l.Entry(l.Record), Token: l.Token})
		bytes += sched.Size(&l.Record)
	}
	return out, bytes
}

// due returns the first URL that is due, or nil.
func (q *queue) due(now int64) *known {
	p, ok := q.DueLevel(now)
	if !ok {
		return nil
	}
	return q.levels[p].Top()
}

func (s *Store) lease(k *known, r sched.Request) *sched.Lease {
	k.queue.pull(k)
	k.state = store.Leased
	s.token++
	return k.queue.Lease(k.Record, s.token, r.Now, r.Until)
}
