package pebblestore

import (
	"bytes"
	"container/heap"
	"context"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// usable returns ErrClosed after Close, and ErrFailed when the store is dead.
func (s *Store) usable() error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return store.ErrClosed
	}
	if s.isDead() {
		return s.failure()
	}
	return nil
}

// linger has Close wait for something that goes on between steps, until it calls the
// function it got. It must end when isClosing says so, or a step fails.
func (s *Store) linger() (func(), error) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return nil, store.ErrClosed
	}
	s.behind.Add(1)
	return s.behind.Done, nil
}

// Identity implements store.Store.
func (s *Store) Identity() store.Identity {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.identity
}

// Crawls implements store.Store.
func (s *Store) Crawls(ctx context.Context) ([]string, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	if err := s.rlock(); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	names := []string{}
	for _, c := range s.selected("*") {
		names = append(names, c.name)
	}
	return names, nil
}

// Stats implements store.Store.
func (s *Store) Stats(ctx context.Context, crawl string) (store.Stats, error) {
	if err := s.usable(); err != nil {
		return store.Stats{}, err
	}
	for {
		if st, done, err := s.stats(crawl); done || err != nil {
			return st, err
		}
	}
}

// statsLeases is how many leases that ran out Stats takes note of before it lets the
// committer go on.
const statsLeases = 4096

// stats counts, unless more leases ran out than it may take note of: then it is not
// done.
func (s *Store) stats(crawl string) (st store.Stats, done bool, err error) {
	if err := s.lock(); err != nil {
		return st, false, err
	}
	defer s.mu.Unlock()
	now := sched.Now(s.opt.Clock())
	for _, c := range s.selected(crawl) {
		if !c.queues.advance(now, statsLeases) {
			return store.Stats{}, false, nil
		}
		st.Seen += c.count()
		c.queues.addStats(&st)
	}
	return st, true, nil
}

// Keys implements store.Store. Keys recorded or forgotten while it runs may be
// in the list or not.
func (s *Store) Keys(ctx context.Context, crawl string) iter.Seq2[store.Key, error] {
	return func(yield func(store.Key, error) bool) {
		if _, err := sched.CrawlName(crawl); err != nil {
			yield(store.Key{}, err)
			return
		}
		var from store.Key
		buf := make([]store.Key, 0, keysPage)
		for more := true; more; {
			var err error
			buf, more, err = s.page(ctx, crawl, &from, buf[:0])
			for _, k := range buf {
				if !yield(k, nil) {
					return
				}
			}
			if err != nil {
				yield(store.Key{}, err)
				return
			}
		}
	}
}

// keysPage is how many keys are read before they are handed out, so that no
// iterator is open while the caller's code runs, which may call Close.
const keysPage = 8192

// page fills buf with the keys from *from on, moves *from behind them, and
// says whether there may be more.
func (s *Store) page(ctx context.Context, crawl string, from *store.Key, buf []store.Key) ([]store.Key, bool, error) {
	if err := ctx.Err(); err != nil {
		return buf, false, err
	}
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return buf, false, store.ErrClosed
	}
	m, err := s.openMerge(crawl, from, nil)
	if err != nil {
		return buf, false, err
	}
	for len(m.its) > 0 && len(buf) < cap(buf) {
		buf = append(buf, store.Key(m.its[0].Key()[5:]))
		m.next()
	}
	more := len(m.its) > 0
	err = m.close()
	if len(buf) > 0 {
		*from = buf[len(buf)-1]
		more = more && increment(from)
	}
	return buf, more, err
}

// increment makes k the key after it, and returns false when it was the last.
func increment(k *store.Key) bool {
	for i := len(k) - 1; i >= 0; i-- {
		k[i]++
		if k[i] != 0 {
			return true
		}
	}
	return false
}

// merge reads the seen rows of several generations as one ascending run.
type merge struct {
	s    *Store
	its  []*pebble.Iterator
	over []*pebble.Iterator // at their end
}

// openMerge reads the keys from a first one on, up to an end that is not among them;
// nil: to the last.
func (s *Store) openMerge(name string, from, end *store.Key) (*merge, error) {
	its, err := s.openIterators(name, from, end)
	if err != nil {
		_ = s.closeAll(its...) // the first error says more
		return nil, err
	}
	m := &merge{s: s}
	for _, it := range its {
		if it.First() {
			m.its = append(m.its, it)
		} else {
			m.over = append(m.over, it)
		}
	}
	heap.Init(m)
	return m, nil
}

// openIterators opens an iterator for each generation, all of one moment: a key that
// is held moves to another when its own is forgotten. Nothing is read yet.
func (s *Store) openIterators(name string, from, end *store.Key) (its []*pebble.Iterator, err error) {
	if err := s.rlock(); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	for _, c := range s.selected(name) {
		for _, g := range c.gens {
			opt := &pebble.IterOptions{LowerBound: appendSeenRow(nil, g.num, from), UpperBound: afterNumbered(tableSeen, g.num)}
			if end != nil {
				opt.UpperBound = appendSeenRow(nil, g.num, end)
			}
			it, err := s.db.NewIter(opt)
			if err != nil {
				return its, err
			}
			its = append(its, it)
		}
	}
	return its, nil
}

func (m *merge) Len() int           { return len(m.its) }
func (m *merge) Less(i, j int) bool { return bytes.Compare(m.its[i].Key()[5:], m.its[j].Key()[5:]) < 0 }
func (m *merge) Swap(i, j int)      { m.its[i], m.its[j] = m.its[j], m.its[i] }
func (m *merge) Push(x any)         { m.its = append(m.its, x.(*pebble.Iterator)) }
func (m *merge) Pop() any {
	last := m.its[len(m.its)-1]
	m.its = m.its[:len(m.its)-1]
	return last
}

func (m *merge) next() {
	if m.its[0].Next() {
		if len(m.its) > 1 {
			heap.Fix(m, 0)
		}
		return
	}
	m.over = append(m.over, heap.Pop(m).(*pebble.Iterator))
}

// close returns what was wrong with any of the iterators.
func (m *merge) close() error { return m.s.closeAll(append(m.over, m.its...)...) }
