package redisstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"math/bits"
	"strings"
	"time"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// Options modify Open. Addrs has to be given.
type Options struct {
	// Addrs are host:port of some nodes of a cluster, or of one server that
	// isn't in a cluster. There is no default.
	Addrs []string
	// Credentials returns the user and the password for a new connection; an empty user is Redis's default user. It is called
	// for each connection, also concurrently. The default is no authentication.
	Credentials func(context.Context) (username, password string, err error)
	// TLS returns the settings for a new connection, and is called as Credentials is. The default is no encryption.
	TLS func(context.Context) (*tls.Config, error)
	// Prefix begins every key, so that stores can share a cluster. It holds no
	// brace. The default is "fs:".
	Prefix string
	// Shards is how many shards a new store has, at most 8192, rounded up to a power
	// of two: a node needs some to be evenly loaded, and a batch makes a script
	// call for each shard it touches. An existing store keeps its number. The
	// default is 64.
	Shards int

	// Replicas is how many replicas must have a write before it is answered;
	// negative for none. The default is 1.
	Replicas int
	// RetryFor is how long a step is tried again while nodes fail over, load or
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
	recoverAfter time.Duration // how old a step of a daemon must be that another finishes; more than RetryFor

	// clock replaces the servers' clocks in tests.
	clock store.Clock
}

// answersFor is how long answers are kept for retries at least, about 100 bytes for each script call and one for each URL. A
// queue keeps what became of its steps for ten times as long: an unfinished step that is found later may be carried out twice.
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
