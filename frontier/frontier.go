package frontier

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store"
)

// ErrStale is returned for a lease that is over: it expired and the URL was
// leased again, or the URL was settled, forgotten or overwritten. The lease
// was not changed. After Close, every method returns store.ErrClosed.
var ErrStale = errors.New("the lease is over")

// ErrAlreadyDone is an [ErrStale]: the result of an earlier lease of the same round came late, and settled the URL.
var ErrAlreadyDone = fmt.Errorf("%w: the late result of an earlier one has settled its URL", ErrStale)

// Frontier is a durable queue of URLs that takes each URL once. See the
// package comment. All methods are safe for concurrent use.
//
// The state of URLs is the store's: each call is one step of the store for each crawl that it names. What
// a frontier keeps in memory may be lost in a crash, and its fields say who owns them. exclusions.changing is taken before any other
// mutex, and held during steps of the store. No other is held during a step, or while another is taken; rooms.mu alone is held
// while the lines of waiting callers are locked.
type Frontier struct {
	OneByOne // Add, Done, Retry, Recrawl, Drop, Release

	// Set by New alone.
	opt   Options
	store store.Store
	poll  time.Duration    // how often waiting callers ask the store again; 0 for never
	clock func() time.Time // the wall clock; tests set it
	// sweepSoon wakes the sweeper after the age of a crawl was changed.
	sweepSoon chan struct{}

	profile atomic.Pointer[canon.Profile] // replaced by SetProfile

	// Each with a mutex of its own.
	crawls     crawls     // the profiles of crawls
	queries    *queryTrap // counts of query strings; nil when off
	refused    refusals   // counts of URLs that were refused, or dropped by the frontier
	exclusions exclusions // rules that operators set
	purges     purges     // queues from which excluded URLs are being forgotten
	rooms      rooms      // callers that wait for leases
	failing    failing    // queues whose fetches fail in a row
	groups     groups     // queues that are known to have a group

	// Any goroutine uses these.
	respelled atomic.Int64 // see Respelled
	spaces    sync.Pool    // of *workspace, each of one call at a time

	mu      sync.Mutex
	closed  bool           // guarded by mu
	working sync.WaitGroup // calls and goroutines under way; no call begins after closed is set
	closing chan struct{}  // closed by Close
}

// Interface is what a crawler's loop needs of a frontier, wherever that is: in
// the process (*Frontier) or behind a daemon (*client.Client, in
// frontier/client). A crawler written against it moves from one to the other
// by its constructor and its options. Methods for operators are left
// out.
//
// The methods are described at [Frontier]. Package client describes what
// happens if an answer is lost ([Result.Resent]).
type Interface interface {
	Add(ctx context.Context, url string) (Result, error)
	AddBatch(ctx context.Context, urls []Link) ([]Result, error)
	See(ctx context.Context, urls []Link) ([]Result, error)

	Next(ctx context.Context) (*Lease, error)
	Leases(ctx context.Context) iter.Seq2[*Lease, error]
	Lease(ctx context.Context, req LeaseRequest) (leases []*Lease, idle Idle, err error)

	Done(ctx context.Context, l *Lease) error
	Retry(ctx context.Context, l *Lease, at time.Time) (again bool, err error)
	Recrawl(ctx context.Context, l *Lease, at time.Time) error
	Drop(ctx context.Context, l *Lease) error
	Release(ctx context.Context, l *Lease) error
	Redirect(ctx context.Context, l *Lease, target string) (Redirection, error)
	Settle(ctx context.Context, settlements []Settlement) ([]Settled, error)

	Configure(ctx context.Context, crawl, queue string, c store.QueueChange) error
	Lookup(ctx context.Context, u Link) (Entry, error)
	Stats(ctx context.Context, crawl string) (store.Stats, error)
	Close() error
}

var _ Interface = (*Frontier)(nil)

// New returns a frontier on a store, which stays the caller's: close the frontier first,
// and then the store. A new store takes its identity, durably, from the first frontier on it.
//
// Errors: store.ErrIdentity if the store was made with another profile, and one
// that names the option if an option, or the store, is invalid.
func New(s store.Store, opt Options) (*Frontier, error) {
	if err := opt.validate(); err != nil {
		return nil, err
	}
	if v := reflect.ValueOf(s); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, errors.New("cannot make frontier: there is no store; look at the error of its Open")
	}
	opt = opt.withDefaults()
	opt.Profile = opt.Profile.WithListsOf(s.Identity().Profile)
	f := &Frontier{opt: opt, store: s, clock: time.Now, queries: newQueryTrap(opt.Traps), closing: make(chan struct{}), sweepSoon: make(chan struct{}, 1)}
	f.OneByOne = NewOneByOne(f)
	f.crawls.known, f.purges.pending, f.refused.m = map[string]*crawl{}, map[queueName]bool{}, map[refusalKey]*Refusal{}
	f.rooms.byName = map[string]map[LeaseRequest]*room{}
	f.failing.queues, f.failing.waits = map[queueName]*failingQueue{}, map[queueName]*failingQueue{}
	if shared, ok := s.(interface{ Shared() bool }); ok && shared.Shared() {
		f.poll = pollEvery
	}
	f.profile.Store(opt.Profile)
	if err := f.start(context.Background()); err != nil {
		return nil, fmt.Errorf("cannot make frontier: %w", err)
	}
	return f, nil
}

// start claims the store and reads its crawls.
func (f *Frontier) start(ctx context.Context) error {
	terms := store.Terms{Identity: store.IdentityOf(f.opt.Profile), Retention: f.opt.SeenFor, ReadOnly: f.opt.ReadOnly}
	if err := f.store.Prepare(ctx, terms); err != nil {
		return err
	}
	if err := f.crawls.load(ctx, f.store); err != nil {
		return err
	}
	if _, err := f.crawlOrAll(ctx, f.opt.Crawl); err != nil {
		return err
	}
	unforgotten, err := f.loadExclusions(ctx)
	if err != nil {
		return err
	}
	if f.opt.ReadOnly {
		return nil // what is to be forgotten is forgotten by who may write
	}
	for _, crawl := range unforgotten {
		f.purges.add(f, queueName{crawl, ""})
	}
	if f.poll > 0 {
		f.working.Go(f.followExclusions)
	}
	if f.opt.SeenFor > 0 || f.poll == 0 {
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
