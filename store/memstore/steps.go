package memstore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// The steps of the store. Each takes the lock, checks before it changes anything, and leaves the scheduler filed.

// See records keys without queueing anything.
func (s *Store) See(ctx context.Context, name string, keys []store.Key, fresh []bool, _ store.SeeOptions) error {
	name, err := sched.CrawlName(name)
	if err != nil {
		return err
	}
	if len(keys) != len(fresh) {
		return fault.As(store.ErrInvalid, "cannot see keys; got %d answers; want %d", len(fresh), len(keys))
	}
	if err := s.enter(ctx, nil); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := s.id.Stated(); err != nil {
		return fmt.Errorf("cannot see keys: %w", err)
	}
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
	if err := s.enter(ctx, cmp.Or(err, sched.CheckItems(items))); err != nil {
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
	respelled := false
	if k != nil {
		v.Status = store.Duplicate
		if opt.WantFirst {
			v.First = k.URL
		}
		respelled = !it.Force && c.Respells(it)
		again := it.Force || respelled || sched.EndedBefore(it, k.state, k.Ended)
		if !again || k.held() {
			if !again && sched.Undated(it, k.state, s.opt.KeepURLs) {
				v.Status = store.Undated
			}
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
	c.leave(k, now)
	k.URL, k.Meta, k.Respelled = it.URL, bytes.Clone(it.Meta), respelled
	k.Priority, k.Due = it.Priority, sched.MsOr(it.Due, now)
	k.queue = c.queue(it.Queue)
	s.push(k)
	k.queue.Add(1)
	k.queue.File(now)
	return v
}

func (k *known) held() bool { return k.state == store.Queued || k.state == store.Leased }

func (c *crawl) full(queue string, opt store.AddOptions) bool {
	q := c.queues[queue]
	return opt.MaxHeld > 0 && c.Held >= opt.MaxHeld || q != nil && opt.MaxPerQueue > 0 && q.Held() >= opt.MaxPerQueue
}

// leave prepares a URL that is not held to be queued or ended in a new round: it no longer
// counts as completed or dropped, or its text is kept from now on. Its mark and overtaken lease are removed.
func (c *crawl) leave(k *known, now int64) {
	c.Unmark(&k.Key)
	c.closeOvertaken(k.Key, now)
	k.Anew()
	if k.state == store.SeenOnly {
		k.Created = now
		return
	}
	k.queue.End(k.state, -1)
	k.queue.File(now)
}

// Take leases URLs that are due.
func (s *Store) Take(ctx context.Context, req store.TakeRequest) (store.Taken, error) {
	name, err := sched.CheckTake(&req)
	if err := s.enter(ctx, err); err != nil {
		return store.Taken{}, err
	}
	defer s.mu.Unlock()
	var given []*sched.Lease
	r := sched.NewRequest(req, s.now())
	rest := sched.Nothing
	if c, only, ok := s.place(name, req.Queue); ok {
		rest, _ = s.sched.Take(c, only, r, func(q *sched.Queue, n int, room int64) (got int, bytes int64, err error) {
			for ; got < n && bytes < room; got++ {
				l := s.give(q.Owner.(*queue), r)
				if l == nil {
					break
				}
				given = append(given, l)
				bytes += sched.Size(&l.Record)
			}
			return got, bytes, nil
		})
	}
	taken := store.Taken{Leases: make([]store.Entry, len(given))}
	for i, l := range given {
		taken.Leases[i] = l.Entry(l.Record)
	}
	rest.AnswerTo(&taken)
	return taken, nil
}

// place returns the crawl that a take is from, nil for all, and its queue, nil for all.
func (s *Store) place(name, queue string) (of *sched.Crawl, only *sched.Queue, ok bool) {
	c := s.crawls[name]
	if c == nil {
		return nil, nil, name == sched.AnyCrawl
	}
	q := c.queues[queue]
	if q == nil {
		return c.Crawl, nil, queue == ""
	}
	return c.Crawl, &q.Queue, true
}

// give leases the next URL of a queue, nil if none is due.
func (s *Store) give(q *queue, r sched.Request) *sched.Lease {
	l := q.Expired()
	level, due := q.DueLevel(r.Now)
	if l == nil && !due {
		return nil
	}
	s.token++
	if l != nil {
		l.Renew(s.token, r.Now, r.Until)
	} else {
		k := q.levels[level].Top()
		q.pull(k)
		k.state = store.Leased
		l = q.Lease(k.Record, s.token, r.Now, r.Until)
	}
	l.Client = r.Client
	l.Attempts++
	return l
}

// Settle ends leases and reschedules or completes URLs.
func (s *Store) Settle(ctx context.Context, name string, list []store.Settlement) ([]store.SettleStatus, error) {
	name, err := sched.CrawlName(name)
	if err := s.enter(ctx, cmp.Or(err, sched.CheckSettlements(list))); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	now := s.now()
	answers := make([]store.SettleStatus, len(list))
	for i := range list {
		answers[i] = s.settle(name, &list[i], now)
	}
	return answers, nil
}

func (s *Store) settle(name string, st *store.Settlement, now int64) store.SettleStatus {
	c := s.crawls[name]
	fact := sched.Fact{}
	if c != nil {
		fact = c.fact(st.Key, now)
	}
	step, answer := sched.Judge(st, fact, s.opt.KeepURLs)
	var q *queue
	switch step {
	case sched.Leave:
		return answer
	case sched.Close:
		c.closeOvertaken(st.Key, now)
		return answer
	case sched.Resume:
		st = &store.Settlement{Key: st.Key, Outcome: store.Requeue}
		q = s.apply(c, c.known[st.Key], st, now)
	case sched.Make:
		q = s.make(s.crawl(name), st, now)
	case sched.Apply:
		q = s.apply(c, c.known[st.Key], st, now)
	case sched.Same:
		k := c.known[st.Key]
		if q = k.queue; !st.Ended.IsZero() {
			k.Ended = sched.Ended(st, k.Ended, now)
		}
	}
	if st.QueueChange != nil {
		q.Configure(st.QueueChange, now)
	}
	q.File(now)
	return answer
}

func (c *crawl) fact(key store.Key, now int64) sched.Fact {
	k := c.known[key]
	if k == nil {
		return sched.Fact{}
	}
	f := sched.Fact{Known: true, State: k.state, Due: k.Due, Earlier: k.Earlier, Overtaken: c.Running(&key, now)}
	if l := c.Leases[key]; l != nil {
		f.Token, f.Earlier = l.Token, l.Earlier
	}
	return f
}

// make applies an outcome to a URL made from the settlement.
func (s *Store) make(c *crawl, st *store.Settlement, now int64) *queue {
	k := c.known[st.Key]
	if k == nil {
		k = c.record(st.Key, s.stamp())
	}
	c.leave(k, now)
	k.URL, k.Meta, k.Priority, k.Respelled = st.URL, bytes.Clone(st.Meta), 0, false
	k.queue = c.queue(st.Queue)
	k.Change(st)
	return s.outcome(c, k, st, 0, now)
}

// apply applies an outcome to a URL whose text is there.
func (s *Store) apply(c *crawl, k *known, st *store.Settlement, now int64) *queue {
	l := c.Leases[st.Key]
	if l != nil && st.Outcome == store.Extend {
		l.Change(st)
		l.Renew(l.Token, now, sched.Due(st, now))
		k.Record = l.Record
		return k.queue
	}
	was := k.Ended
	switch k.state {
	case store.Leased:
		k.Record = l.Past(st)
		if l.Overtakes(st, now) {
			c.closeOvertaken(st.Key, now)
			l.Overtake()
		} else {
			l.End()
		}
	case store.Queued:
		k.queue.pull(k)
		k.queue.Add(-1)
	default:
		c.leave(k, now)
	}
	if st.Token == 0 {
		c.closeOvertaken(st.Key, now)
	}
	k.Change(st)
	return s.outcome(c, k, st, was, now)
}

// closeOvertaken ends the overtaken lease of a key, if it has one.
func (c *crawl) closeOvertaken(key store.Key, now int64) {
	if l := c.Overtaken[key]; l != nil {
		l.Close()
		l.Queue.File(now)
	}
}

// outcome applies an outcome to a URL that is not held and not counted; was is when it had ended before, 0 if it had
// not. It returns the URL's queue.
func (s *Store) outcome(c *crawl, k *known, st *store.Settlement, was, now int64) *queue {
	q := k.queue
	if q.Result(st); st.Fetched && (s.ages || c.Settings.Retention > 0) {
		k.seen = s.stamp()
	}
	if st.Mark != 0 && !k.Respelled {
		c.Mark(k.Key, st.Mark, sched.MostMarks)
	}
	switch st.Outcome {
	case store.Complete:
		s.end(k, store.Done, sched.Ended(st, was, now))
	case store.Drop:
		s.end(k, store.Dropped, sched.Ended(st, was, now))
	case store.Requeue:
		k.Due = c.Due(st, now)
		s.push(k)
		q.Add(1)
	}
	return q
}

// end ends a URL as done or dropped, at a time.
func (s *Store) end(k *known, state store.State, at int64) {
	k.queue.End(state, 1)
	k.state, k.Due, k.Ended = state, 0, at
	if !s.opt.KeepURLs {
		k.state, k.queue, k.Record = store.SeenOnly, nil, sched.Record{Key: k.Key}
	}
}

// Configure changes settings of a queue, a crawl or the store.
func (s *Store) Configure(ctx context.Context, name, queue string, ch store.QueueChange) error {
	name, err := sched.CheckConfigure(name, queue, &ch)
	if err := s.enter(ctx, err); err != nil {
		return err
	}
	defer s.mu.Unlock()
	now := s.now()
	switch {
	case name == sched.AnyCrawl:
		sched.ChangeCrawl(&s.sched.Defaults, &ch)
		if sched.Refiles(&ch) {
			s.refile(now, s.crawls)
		}
		return nil
	case ch.MustExist && !s.exists(name, queue):
		return fmt.Errorf("cannot configure queue %q of crawl %q: %w", queue, name, store.ErrNotFound)
	}
	c := s.crawl(name)
	if queue == "" {
		sched.ChangeCrawl(&c.Settings, &ch)
		if sched.Refiles(&ch) {
			s.refile(now, map[string]*crawl{name: c})
		}
		return nil
	}
	q := c.queue(queue)
	q.Configure(&ch, now)
	q.File(now)
	return nil
}

// CrawlSettings returns the settings of a crawl or the store.
func (s *Store) CrawlSettings(ctx context.Context, name string) (store.CrawlSettings, error) {
	name, err := sched.CrawlNames(name)
	if err := s.enter(ctx, err); err != nil {
		return store.CrawlSettings{}, err
	}
	defer s.mu.Unlock()
	if c := s.crawls[name]; c != nil {
		return c.Settings, nil
	}
	if name == sched.AnyCrawl {
		return s.sched.Defaults, nil
	}
	return store.CrawlSettings{}, nil
}

// exists reports whether a queue holds or has counted anything, or
// whether the crawl is known, with queue "".
func (s *Store) exists(name, queue string) bool {
	c := s.crawls[name]
	if c == nil || queue == "" {
		return c != nil
	}
	q := c.queues[queue]
	return q != nil && q.Used()
}

func (s *Store) refile(now int64, crawls map[string]*crawl) {
	for _, c := range crawls {
		list := make([]*sched.Queue, 0, len(c.queues))
		for _, q := range c.queues {
			list = append(list, &q.Queue)
		}
		sched.Refile(list, now)
	}
}

// Forget removes what the selection names.
func (s *Store) Forget(ctx context.Context, sel store.Selection) (int64, error) {
	name, err := sched.CheckSelection(sel)
	if err := s.enter(ctx, err); err != nil {
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
			c.drop(k, now) // so that nothing stays in the scheduler
		}
		c.UnmarkAll()
		delete(s.crawls, c.Name)
	}
	return int64(was - len(c.known))
}

// dropQueue forgets the keys that are known to belong to a queue.
func (c *crawl) dropQueue(q *queue, now int64) {
	for _, k := range c.known {
		if k.queue == q {
			c.drop(k, now)
		}
	}
	for _, l := range c.Overtaken {
		if l.Queue == &q.Queue {
			l.Close()
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
		c.leave(k, now)
	}
	c.closeOvertaken(k.Key, now)
	if k.queue != nil {
		k.queue.File(now)
	}
	delete(c.known, k.Key)
}
