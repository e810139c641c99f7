package memstore

import (
	"bytes"
	"context"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// See records keys without queueing anything.
func (s *Store) See(ctx context.Context, name string, keys []store.Key, fresh []bool, _ store.SeeOptions) error {
	name, err := sched.CrawlName(name)
	if err != nil {
		return err
	}
	if len(keys) != len(fresh) {
		return fault.As(store.ErrInvalid, "cannot see keys; got %d answers; want %d", len(fresh), len(keys))
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for i, key := range keys {
		c := s.crawl(name)
		if fresh[i] = c.known[key] == nil; fresh[i] {
			c.record(key, s.stamp())
		}
	}
	return nil
}

func (c *crawl) record(key store.Key, now int64) *known {
	k := &known{Record: sched.Record{Key: key}, seen: now}
	c.known[key] = k
	return k
}

// Add records and queues items.
func (s *Store) Add(ctx context.Context, name string, items []store.Item, opt store.AddOptions) ([]store.Verdict, error) {
	name, err := sched.CrawlName(name)
	if err != nil {
		return nil, err
	}
	if err := sched.CheckItems(items); err != nil {
		return nil, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	now := s.now()
	verdicts := make([]store.Verdict, len(items))
	for i := range items {
		verdicts[i] = s.add(s.crawl(name), &items[i], opt, now)
	}
	return verdicts, nil
}

func (s *Store) add(c *crawl, it *store.Item, opt store.AddOptions, now int64) store.Verdict {
	k := c.known[it.Key]
	v := store.Verdict{}
	if k != nil {
		v.Status = store.Duplicate
		if opt.WantFirst {
			v.First = k.URL
		}
		if !it.Force || k.held() {
			return v
		}
	}
	if it.Queue != "" && c.full(it.Queue, opt) {
		return store.Verdict{Status: store.Full, First: v.First}
	}
	if k == nil {
		k = c.record(it.Key, s.stamp())
	}
	if it.Queue == "" {
		return v
	}
	v.Requeued = v.Status == store.Duplicate
	k.leaveEnd(now)
	k.URL, k.Meta, k.Attempts = it.URL, bytes.Clone(it.Meta), 0
	k.Priority, k.Due = it.Priority, sched.MsOr(it.Due, now)
	k.queue = c.queue(it.Queue)
	s.push(k)
	k.queue.Add(1)
	k.queue.File(now)
	return v
}

func (k *known) held() bool { return k.state == store.Queued || k.state == store.Leased }

func (c *crawl) full(queue string, opt store.AddOptions) bool {
	if opt.MaxHeld > 0 && c.Held >= opt.MaxHeld {
		return true
	}
	q := c.queues[queue]
	return q != nil && opt.MaxPerQueue > 0 && q.Held() >= opt.MaxPerQueue
}

// leaveEnd prepares a URL that is not held to be queued or ended: it takes back
// that it was completed or dropped, which may bring its queue under its limit
// again, or begins to keep its text.
func (k *known) leaveEnd(now int64) {
	if k.state == store.SeenOnly {
		k.Created = now
		return
	}
	k.queue.End(k.state, -1)
	k.queue.File(now)
}
