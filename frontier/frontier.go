package frontier

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store"
)

// Frontier is a durable queue of URLs that takes each URL once. See the
// package comment. All methods are safe for concurrent use.
type Frontier struct {
	opt     Options
	profile atomic.Pointer[canon.Profile]
	// hostHidden says that the profile's forms are no place to read a host from.
	hostHidden bool
	store      store.Store
	owned      bool             // the store is ours to close
	clock      func() time.Time // the wall clock; tests set it

	crawls  crawlTable
	queries *queryTrap // nil when off
	refused refusals
	purges  purges
	spaces  workspaces
	rooms   rooms // callers that wait for leases

	mu      sync.Mutex
	closed  bool
	working sync.WaitGroup // calls and goroutines under way
	closing chan struct{}  // closed by Close
}

// Open opens a frontier. It fails with store.ErrIdentity when the store was
// made with another profile, and with store.ErrLocked while another process
// has its directory.
func Open(opt Options) (*Frontier, error) {
	if err := opt.validate(); err != nil {
		return nil, err
	}
	opt = opt.withDefaults()
	s, owned, err := openStore(opt)
	if err != nil {
		return nil, err
	}
	f, err := newFrontier(opt, s, owned)
	if err != nil && owned {
		err = errors.Join(err, s.Close())
	}
	return f, err
}

func newFrontier(opt Options, s store.Store, owned bool) (*Frontier, error) {
	name := opt.Profile.Name()
	f := &Frontier{
		opt:        opt,
		hostHidden: hidesHost(opt.Profile),
		store:      s,
		owned:      owned,
		clock:      time.Now,
		crawls:     crawlTable{all: name == "none", unnamed: oneCrawl(opt.Crawl)},
		closing:    make(chan struct{}),
	}
	f.profile.Store(opt.Profile)
	if !opt.Traps.Off {
		f.queries = newQueryTrap(opt.Traps.Queries)
	}
	if _, err := f.crawls.stored(opt.Crawl); err != nil {
		return nil, fmt.Errorf("cannot open frontier: %w", err)
	}
	ctx := context.Background()
	if err := f.crawls.load(ctx, s); err != nil {
		return nil, fmt.Errorf("cannot open frontier: %w", err)
	}
	if err := f.applyOptions(ctx); err != nil {
		return nil, fmt.Errorf("cannot open frontier: %w", err)
	}
	return f, nil
}

// applyOptions carries out the options that the store must know of.
func (f *Frontier) applyOptions(ctx context.Context) error {
	for _, name := range f.opt.Exact {
		if err := f.SetExact(ctx, name); err != nil {
			return err
		}
	}
	if n := max(f.opt.MaxFetched, 0); f.opt.MaxFetched != 0 {
		if err := f.store.Configure(ctx, "*", "", store.QueueChange{Limit: &n}); err != nil {
			return fmt.Errorf("cannot set MaxFetched: %w", err)
		}
	}
	if f.opt.SeenFor > 0 {
		if err := f.sweep(ctx); err != nil {
			return err
		}
		f.working.Go(f.sweepNowAndThen)
	}
	return nil
}

// identityOf is what a store must have been made with to serve a profile.
func identityOf(p *canon.Profile) store.Identity {
	return store.Identity{Profile: p.String(), Version: p.Version(), KeyKind: "url-short-hash", Unicode: p.UnicodeVersion()}
}

// Close ends the frontier: calls waiting in Next return store.ErrClosed, calls
// under way are waited for, and the store is closed unless it came from
// Options.Store. Leases still out stay leased in the store, and are handed out
// again when they run out, by whoever opens it then; to give them back sooner,
// Release them first. A second Close does nothing.
func (f *Frontier) Close() error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil
	}
	f.closed = true
	close(f.closing)
	f.mu.Unlock()
	f.working.Wait()
	if !f.owned {
		return nil
	}
	if err := f.store.Close(); err != nil {
		return fmt.Errorf("cannot close frontier: %w", err)
	}
	return nil
}

// enter begins a call that Close must wait for; leave ends it.
func (f *Frontier) enter() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return store.ErrClosed
	}
	f.working.Add(1)
	return nil
}

func (f *Frontier) leave() { f.working.Done() }

// sweepNowAndThen forgets what is older than SeenFor until Close. A sweep that
// fails is tried again at the next turn: nothing was lost by it.
func (f *Frontier) sweepNowAndThen() {
	tick := time.NewTicker(max(min(f.opt.SeenFor/8, time.Hour), time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = f.sweep(context.Background())
		case <-f.closing:
			return
		}
	}
}

func (f *Frontier) sweep(ctx context.Context) error {
	if _, err := f.store.Forget(ctx, store.Selection{Crawl: "*", Before: time.Now().Add(-f.opt.SeenFor)}); err != nil {
		return fmt.Errorf("cannot forget what was seen before %v: %w", f.opt.SeenFor, err)
	}
	return nil
}
