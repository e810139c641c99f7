// Package memstore is a [store.Store] in memory: for tests, for models of larger stores, and for crawls
// that may be lost.
//
//	s := memstore.New(memstore.Options{})
//
// It keeps every key with its text in Go maps, about 300 bytes a URL, and takes one lock for each step.
// Nothing is on disk, and everything is lost when the process ends. All its answers are exact, also where
// durable backends may be approximate.
package memstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Options modify New. The zero value is fine.
type Options struct {
	// Clock returns the time. The default is time.Now.
	Clock store.Clock
	// KeepURLs keeps the text of completed and dropped URLs. The default is to
	// drop it.
	KeepURLs bool
}

// Store is a store in memory. It is made by [New].
type Store struct {
	opt Options

	mu     sync.Mutex
	closed bool
	ages   bool           // a user wants keys of all crawls to be forgotten by age
	id     store.Identity // how the keys are made
	wall   sched.Clock
	began  time.Time // zero of the monotonic clock
	sched  sched.Sched
	crawls map[string]*crawl
	names  sched.Names
	seq    uint64 // of the URL queued last
	token  uint64 // of the lease given last
}

var _ store.Store = (*Store)(nil)

// crawl is the state of a crawl.
type crawl struct {
	*sched.Crawl
	known  map[store.Key]*known
	queues map[string]*queue
}

// queue is a queue with its URLs in order of service.
type queue struct {
	sched.Queue
	levels [store.MaxPriority + 1]*sched.Heap[*known]
}

// known is the state of a key.
type known struct {
	sched.Record
	seen  int64       // when it was recorded
	state store.State // SeenOnly: the rest of the record is empty, and queue is nil
	queue *queue
	slot  int32
}

// New returns an empty store.
func New(opt Options) *Store {
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	return &Store{opt: opt, crawls: make(map[string]*crawl), began: time.Now()}
}

// Identity returns how the keys of this store are made.
func (s *Store) Identity() store.Identity {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// Prepare implements store.Store. Unicode tables do not change while a process runs, so
// the store does not note which keys depend on them.
func (s *Store) Prepare(ctx context.Context, t store.Terms) error {
	if err := s.enter(ctx, nil); err != nil {
		return err
	}
	defer s.mu.Unlock()
	id, err := s.id.Adopt(t.Identity, s.hasKeys(), false)
	if err != nil {
		return fmt.Errorf("cannot use the store in memory: %w", err)
	}
	if !t.ReadOnly {
		s.id, s.ages = id, s.ages || t.Retention > 0
	}
	return nil
}

func (s *Store) hasKeys() bool {
	for _, c := range s.crawls {
		if len(c.known) > 0 {
			return true
		}
	}
	return false
}

// Close makes later calls return [store.ErrClosed] and drops everything.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	s.closed, s.crawls = true, nil
	return nil
}

// enter begins a step, unless its arguments are bad: with a nil error the store is locked.
func (s *Store) enter(ctx context.Context, bad error) error {
	if err := cmp.Or(bad, ctx.Err()); err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return store.ErrClosed
	}
	return nil
}

func (s *Store) now() int64 { return sched.Now(s.opt.Clock()) }

// stamp returns the time to record a key with.
func (s *Store) stamp() int64 { return sched.Now(s.wall.Stamp(s.opt.Clock(), time.Since(s.began))) }

// crawl returns a crawl, made if need be.
func (s *Store) crawl(name string) *crawl {
	c := s.crawls[name]
	if c == nil {
		c = &crawl{s.sched.NewCrawl(name), make(map[store.Key]*known), make(map[string]*queue)}
		s.crawls[name] = c
	}
	return c
}

// queue returns a queue, made if need be.
func (c *crawl) queue(name string) *queue {
	q := c.queues[name]
	if q == nil {
		q = &queue{Queue: c.NewQueue(name, 0)}
		q.Owner = q
		c.queues[name] = q
	}
	return q
}

func (k *known) slotOf() *int32 { return &k.slot }

// before orders the URLs of one priority, as compare does; heaps call it often.
func (k *known) before(b *known) bool { return k.Due < b.Due || k.Due == b.Due && k.Seq < b.Seq }

// compare orders URLs of a queue as it lists them.
func (k *known) compare(b *known) int {
	return cmp.Or(cmp.Compare(b.Priority, k.Priority), cmp.Compare(k.Due, b.Due), cmp.Compare(k.Seq, b.Seq))
}

// push puts a URL into its queue as the last to arrive, without counting it.
func (s *Store) push(k *known) {
	s.seq++
	k.Seq, k.state = s.seq, store.Queued
	l := &k.queue.levels[k.Priority]
	if *l == nil {
		*l = sched.NewHeap((*known).before, (*known).slotOf)
	}
	(*l).Push(k)
	k.queue.head(k.Priority)
}

// pull takes a queued URL out of its queue, without counting it.
func (q *queue) pull(k *known) {
	q.levels[k.Priority].Remove(k)
	q.head(k.Priority)
}

// head passes the first URL of a priority to the scheduler.
func (q *queue) head(priority uint8) {
	l := q.levels[priority]
	if l.Len() == 0 {
		q.levels[priority] = nil
		q.SetHead(priority, sched.Head{Due: sched.Never})
		return
	}
	q.SetHead(priority, sched.Head{Due: l.Top().Due, Seq: l.Top().Seq})
}

// names returns the names of a map in order.
func names[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
