package frontier

import (
	"context"
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
	// hostHidden is set if the profile's forms are no place to read a host from.
	hostHidden bool
	store      store.Store
	clock      func() time.Time // the wall clock; tests set it

	crawls  crawlTable
	queries *queryTrap    // nil when off
	poll    time.Duration // how often waiting callers ask the store again; 0 for never
	refused refusals
	purges  purges
	spaces  workspaces
	rooms   rooms // callers that wait for leases

	mu      sync.Mutex
	closed  bool
	working sync.WaitGroup // calls and goroutines under way
	closing chan struct{}  // closed by Close
}

// New returns a frontier on a store, which stays the caller's: close the frontier first,
// and then the store. A new store takes its identity, durably, from the first frontier on it.
//
// Errors: store.ErrIdentity if the store was made with another profile, and one
// that names the option if an option is invalid.
func New(s store.Store, opt Options) (*Frontier, error) {
	if err := opt.validate(); err != nil {
		return nil, err
	}
	opt = opt.withDefaults()
	opt.Profile = opt.Profile.WithListsOf(s.Identity().Profile)
	f := &Frontier{
		opt:        opt,
		hostHidden: hidesHost(opt.Profile),
		store:      s,
		clock:      time.Now,
		crawls:     crawlTable{all: opt.Profile.Name() == "none", unnamed: oneCrawl(opt.Crawl)},
		closing:    make(chan struct{}),
	}
	if shared, ok := s.(interface{ Shared() bool }); ok && shared.Shared() {
		f.poll = pollEvery
	}
	f.profile.Store(opt.Profile)
	if !opt.Traps.Off {
		f.queries = newQueryTrap(opt.Traps.Queries)
	}
	if err := f.start(context.Background()); err != nil {
		return nil, fmt.Errorf("cannot make frontier: %w", err)
	}
	return f, nil
}

// start claims the store and reads its crawls.
func (f *Frontier) start(ctx context.Context) error {
	terms := store.Terms{Identity: store.IdentityOf(f.opt.Profile), Retention: f.opt.SeenFor}
	if err := f.store.Prepare(ctx, terms); err != nil {
		return err
	}
	if err := f.crawls.load(ctx, f.store); err != nil {
		return err
	}
	if _, err := f.stored(ctx, f.opt.Crawl); err != nil {
		return err
	}
	if f.opt.SeenFor > 0 {
		return f.beginSweeps(ctx)
	}
	return nil
}

// Close ends the frontier: calls that wait in Next return store.ErrClosed, and Close waits until
// the other calls have returned. The store stays open; its owner closes it afterwards. Unsettled
// leases stay in the store until they expire; Release them before Close to make their URLs
// available immediately. A second Close does nothing, and no Close fails.
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
