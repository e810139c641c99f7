// Package redisstore is a [store.Store] in Redis Cluster, for crawls that need more than one machine. A
// single Redis server also works. Any number of daemons work on one crawl, and a daemon keeps only a cache.
// docs/REDIS.md is for operators; FORMAT.md describes every Redis key.
//
// A store consists of shards, each in one hash slot ([Options.Shards], fixed when the store is
// created). A key is in the shard of its hash, so even the seen-set of one large host is spread
// evenly. A queue, with its URLs, delays, bounds and leases, is in the shard of its name, or,
// in a store with groups ([Options.Groups]), in the shard of its crawl's name. The obvious layout, both in the
// shard of the host, needs one script for an add instead of three, but gives one shard 80 to 600 times the mean (FORMAT.md).
// So adding a URL takes three scripts; PROTOCOL.md explains how steps are completed after a crash.
//
// Each answer, also "duplicate", is sent after WAIT on the connection of the script. Every script that answers for a
// write writes something, since WAIT only covers writes of its connection. So the write that made a key a
// duplicate is on [Options.Replicas] replicas before any caller gets the answer. If that is not possible,
// the call fails with [store.ErrUnavailable].
//
// # Weaker promises than on one machine
//
//   - The limit of a crawl: a take sends each shard the numbers that the others had fetched and leased a moment ago. Daemons that take at the
//     same time can exceed the limit by their leases of that moment. The limit of a queue is exact.
//   - Queues take turns within each shard.
//   - [store.Taken.Next] and State cover the shards that answered. A queue that another daemon's call is about to fill counts as it is. If a shard does not answer,
//     the state is Delayed, for a second.
//   - A mark is made before its URL is dropped, and removed after it is queued again: a daemon that dies in between leaves one too many, which may
//     cost one more fetch of the page. Each shard keeps its part of 100,000 marks.
//   - Leases that reached no replica are released. If one renewed an expired lease, the earlier token is then accepted for
//     a success only.
//   - Keys are forgotten by the day on which they were recorded. A retention is stored with the crawl's settings, but has no effect.
//
// # Where to look
//
// All state is in Redis, and only the scripts in lua/ change it. A script is atomic in its shard, and touches a bounded number of
// rows. The Go files divide a call among the shards, and complete steps that take more than one script:
//
//	store.go    options, opening, closing      cache.go   keys that need not be sent
//	layout.go   homes of keys and queues       add.go     Add, See
//	encode.go   arguments and replies          take.go    Take
//	nodes.go    servers, log-in, settings      settle.go  Settle, Configure
//	call.go     script calls: send, retry      forget.go  Forget
//	meta.go     how the store was made         read.go    look-ups, lists, counts
//	outbox.go   steps over two shards          state.go   empty takes, limits of crawls
//	marks.go    keys whose first spelling failed
//
// Only call.go sends scripts; meta.go also reads plain keys. Only outbox.go sends the messages of steps.
package redisstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Options modify Open. Addrs has to be given.
type Options struct {
	// Addrs are host:port of some nodes of a cluster, or of one server that
	// isn't in a cluster. There is no default.
	Addrs []string
	// Credentials returns the user and the password for a new connection; an empty user is Redis's default user. It is called
	// for each connection, also concurrently. The default is no authentication.
	Credentials func(context.Context) (username, password string, err error)
	// TLS returns the settings for a new connection, and is called like Credentials. The default is no encryption.
	TLS func(context.Context) (*tls.Config, error)
	// Prefix begins every key, so that stores can share a cluster. It must contain no
	// brace. The default is "fs:".
	Prefix string
	// Shards is how many shards a new store has, at most 8192, rounded up to a power
	// of two: a node needs some to be evenly loaded, and a batch makes a script
	// call for each shard it touches. An existing store keeps its number. The
	// default is 64.
	Shards int
	// Groups allows groups of queues ([store.QueueSettings.Group]) in a new store: all queues of a crawl are in one shard, which
	// one node serves. It has no effect on an existing store. The default spreads the queues over the shards, and refuses groups.
	Groups bool

	// Replicas is how many replicas must have a write before it is answered;
	// negative for none. The default is 1.
	Replicas int
	// RetryFor is how long a step is retried while nodes fail over, load or
	// can't be reached, or replicas lag. The default is 10 s.
	RetryFor time.Duration
	// MustExist refuses to make a new store. The default is false.
	MustExist bool
	// KeepURLs keeps the text of completed and dropped URLs, so that they can be
	// listed and a duplicate's first-seen URL returned. All daemons must set it
	// alike. The default is to keep keys only.
	KeepURLs bool
	// CacheBytes bounds the memory of a cache of known keys, 8 bytes each. A cached
	// duplicate is not sent to the cluster. Negative is no cache. The default is 32 MiB:
	// 4 million keys.
	CacheBytes int64

	// Logger receives the errors of background work. The default is slog.Default().
	Logger *slog.Logger

	waitTimeout  time.Duration // of one WAIT for the replicas; 1 s
	recoverAfter time.Duration // how old a daemon's step must be before another finishes it; more than RetryFor

	// clock replaces the servers' clocks in tests.
	clock store.Clock
}

// answersFor is the least time that answers are kept for retries: about 100 bytes for each script call and one for each URL. A
// queue keeps the receipts of its steps ten times as long: an unfinished step that is found later may be carried out twice.
func (o Options) answersFor() time.Duration { return o.recoverAfter + 2*o.RetryFor }

const maxShards = 8192

func (o Options) withDefaults() (Options, error) {
	if len(o.Addrs) == 0 {
		return o, fault.As(store.ErrInvalid, "cannot open redis store; got no address; want host:port")
	}
	if o.Shards < 0 || o.Shards > maxShards {
		return o, fault.As(store.ErrInvalid, "cannot open redis store; got %d shards; want 1 to %d", o.Shards, maxShards)
	}
	o.Prefix = cmp.Or(o.Prefix, "fs:")
	if strings.ContainsAny(o.Prefix, "{}") {
		return o, fault.As(store.ErrInvalid, "cannot open redis store; got prefix %q; want one without braces", o.Prefix)
	}
	o.Shards = 1 << bits.Len(uint(cmp.Or(o.Shards, 64)-1))
	o.Replicas = max(0, cmp.Or(o.Replicas, 1))
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.CacheBytes = cmp.Or(o.CacheBytes, 32<<20)
	o.RetryFor = cmp.Or(max(0, o.RetryFor), 10*time.Second)
	o.waitTimeout = cmp.Or(o.waitTimeout, time.Second)
	o.recoverAfter = cmp.Or(o.recoverAfter, 2*o.RetryFor)
	return o, nil
}

// Store is a store.Store in Redis. It is made by [Open].
type Store struct {
	// Open sets these; they don't change afterwards.
	opt    Options // with the number of shards that the store has
	layout *layout
	nodes  *nodes
	cache  *cache  // nil for none
	kept   string  // how long answers are, in ms
	self   [8]byte // random: the ids of this daemon's batches begin with it

	// Any goroutine uses these.
	batches      atomic.Uint64                  // how many ids were given out
	identity     atomic.Pointer[store.Identity] // as Open or Prepare found it
	unicodeHosts atomic.Bool                    // it is recorded that there are keys of such hosts
	turn         atomic.Uint64                  // the shard that the next take begins with
	idle         idle                           // has its own lock
	limited      atomic.Pointer[[]string]       // crawls with a limit, as the last take of all crawls met them
	heldMu       sync.Mutex                     // held from the count of a crawl with MaxHeld until the URLs are added

	gate   sync.RWMutex // held for reading during a call, for writing by Close
	closed bool         // by gate

	life       context.Context // of background work: the sweeper, and leases that are given back
	stop       context.CancelFunc
	background sync.WaitGroup
}

var _ store.Store = (*Store)(nil)

// Open opens or makes the store with a prefix in a cluster. Any number of
// processes may have it open.
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
	s := &Store{opt: o, nodes: n, cache: newCache(o.CacheBytes), kept: strconv.FormatInt(o.answersFor().Milliseconds(), 10)}
	_, _ = rand.Read(s.self[:]) // it never fails
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

// enter begins a call; with a nil error, leave ends it. The gate is not reentrant: a call must not make another one.
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

// enterCrawl is enter for a call on a crawl. It returns the crawl's name.
func (s *Store) enterCrawl(ctx context.Context, crawl string) (name string, err error) {
	if name, err = sched.CrawlName(crawl); err != nil {
		return "", err
	}
	return name, s.enter(ctx)
}

func (s *Store) leave() { s.gate.RUnlock() }

// accepted returns the context for the rest of a call that writes. The caller can no longer cancel it, so no context error hides a
// stored change; Options.RetryFor bounds the call. Before, a call could be canceled until its first script had an answer, and every
// function had to know whether something might be stored by then.
func accepted(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

// Close implements store.Store. The data stays in Redis.
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

// Shared reports whether other processes can write to the store: it is always true.
func (s *Store) Shared() bool { return true }

// wallTime returns this machine's time: ages are counted back from it, and takes ask again by it.
func (s *Store) wallTime() time.Time {
	if s.opt.clock != nil {
		return s.opt.clock()
	}
	return time.Now()
}

// meanings counts changes to the meaning of keys and scripts within a format. Beat refuses a daemon that knows fewer than a daemon that
// has used the store. Increase it with a change that daemons of an earlier build must not see.
const meanings = 1

// aliveFor is how long a daemon counts as alive after a beat.
const aliveFor = 15 * time.Second

// Beat registers a daemon as alive, under the name by which its clients reach it (at most 255
// bytes), and returns the names of all live daemons, in order. A daemon that has not called it for
// 15 seconds, by the server's clock, counts as dead. The error is store.ErrFormat if a daemon of a later build has taken over the store.
func (s *Store) Beat(ctx context.Context, node string) ([]string, error) {
	return s.register(ctx, node, aliveFor)
}

// Leave removes a daemon that shuts down.
func (s *Store) Leave(ctx context.Context, node string) error {
	_, err := s.register(ctx, node, 0)
	return err
}

func (s *Store) register(ctx context.Context, node string, alive time.Duration) (names []string, err error) {
	if node == "" || len(node) > 255 {
		return nil, fault.As(store.ErrInvalid, "cannot register node; got a name of %d bytes; want 1 to 255", len(node))
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	r, err := s.ask(ctx, scriptBeat, storeShard, "", append(appendUint(appendUint(nil, 6, uint64(alive.Milliseconds())), 2, meanings), node...))
	if err != nil {
		return nil, err
	}
	if known := r.uint(2); known > meanings && alive > 0 {
		return nil, fault.As(store.ErrFormat, "cannot register node %q: a daemon of a later build has taken over the store; start this one with that build", node)
	}
	for err == nil && r.more() {
		names = append(names, r.short())
	}
	return names, cmp.Or(err, r.err())
}
