package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Store is a store.Store in Redis. It is made by [Open].
type Store struct {
	opt      Options
	nodes    *nodes
	layout   *layout
	requests requests
	cache    *cache // nil for none
	identity atomic.Pointer[store.Identity]
	kept     string // how long answers are, in ms

	idle         idle
	unicodeHosts atomic.Bool // it is recorded that keys of such hosts are there
	turn         atomic.Uint64
	heldMu       sync.Mutex // of adds that depend on how much a crawl holds

	gate   sync.RWMutex // held for reading during a step, for writing by Close
	closed bool

	life       context.Context // of background work
	stop       context.CancelFunc
	background sync.WaitGroup
}

var _ store.Store = (*Store)(nil)

// Open opens or makes the store that begins with a prefix in a cluster. Any
// number of processes may have it open.
//
// Errors: store.ErrInvalid for servers whose settings break what the store promises;
// store.ErrCorrupt for a shard that lost its data; store.ErrFormat for a store of another format;
// store.ErrNotFound if it must exist and doesn't; store.ErrUnavailable when the cluster can't be
// reached or has fewer replicas than it must.
func Open(ctx context.Context, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	where := fmt.Sprintf("redis store %q at %s", o.Prefix, strings.Join(o.Addrs, ", "))
	n, err := dial(ctx, o)
	if err != nil {
		return nil, fault.As(store.ErrUnavailable, "cannot open %s: %w", where, err)
	}
	s := &Store{
		opt: o, nodes: n, cache: newCache(o.CacheBytes),
		kept: strconv.FormatInt(o.answersFor().Milliseconds(), 10),
	}
	_, _ = rand.Read(s.requests.self[:]) // it never fails
	err = s.checkServing(ctx)
	if err == nil {
		err = s.loadMeta(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open %s: %w", where, err), n.Close())
	}
	if err := s.checkIdle(ctx); err != nil {
		o.Logger.Warn("a redis server must not get slots yet", "error", err)
	}
	s.life, s.stop = context.WithCancel(context.Background())
	s.background.Go(func() { s.sweeper(s.life) })
	return s, nil
}

// enter begins a step; with a nil error, leave ends it.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.gate.RLock()
	if s.closed {
		s.gate.RUnlock()
		return store.ErrClosed
	}
	return nil
}

// enterCrawl is enter for a step on a crawl. It returns the crawl's name.
func (s *Store) enterCrawl(ctx context.Context, crawl string) (name string, err error) {
	if name, err = sched.CrawlName(crawl); err != nil {
		return "", err
	}
	return name, s.enter(ctx)
}

func (s *Store) leave() { s.gate.RUnlock() }

// accepted is the context of the rest of a step that has begun: it ends by
// Options.RetryFor alone.
func accepted(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

// Close implements store.Store. What the store holds stays in Redis.
func (s *Store) Close() error {
	s.gate.Lock()
	if s.closed {
		s.gate.Unlock()
		return store.ErrClosed
	}
	s.closed = true
	s.gate.Unlock()
	s.stop()
	s.background.Wait()
	return s.nodes.Close()
}
