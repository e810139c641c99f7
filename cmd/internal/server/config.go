package server

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/durable"
	"github.com/firstseen/firstseen/cmd/internal/evidence"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// Config configures a Server. The zero value serves on loopback in the clear.
type Config struct {
	// GRPCAddr is the host:port of the gRPC interface. The default is 127.0.0.1:7071.
	GRPCAddr string
	// HTTPAddr is the host:port of the HTTP interface; "off" for none. The
	// default is 127.0.0.1:7072.
	HTTPAddr string
	// HealthAddr is the host:port of an interface that has /healthz and /readyz alone, in the
	// clear and without tokens; "off" for none. The default is off.
	HealthAddr string
	// HTTPHosts are host names that the HTTP interface may be called by where it
	// has neither tokens nor TLS, besides IP addresses and localhost. The default is none.
	HTTPHosts []string
	// TLS is used on both. The default is to serve in the clear.
	TLS TLSConfig
	// TokensFile names the file of bearer tokens. The default is to ask for none.
	TokensFile string
	// InsecurePublic allows an address beyond loopback without TLS. The
	// default is false.
	InsecurePublic bool

	// MaxMessage bounds a message in bytes. The default is 4 MiB.
	MaxMessage int
	// MaxConnections bounds the open connections of each port. The default is 16384.
	MaxConnections int
	// MaxStreams bounds the calls under way on one connection. The default is 256.
	MaxStreams int
	// MaxCalls bounds the calls under way in all; more are refused as
	// RESOURCE_EXHAUSTED. Health has places of its own. The default is 1024.
	MaxCalls int
	// MaxURL bounds a URL in bytes; a longer one is SKIPPED. The default is 65536.
	MaxURL int
	// MaxMetadata bounds the metadata of a URL in bytes, as stored. The default is 65536.
	MaxMetadata int
	// MaxWait bounds how long a request waits for a lease. The default is 1 min.
	MaxWait time.Duration
	// MaxInHand bounds, in bytes, what all calls together hold of messages and bodies
	// that are decoded, wait for their commit, or are being answered. What was received and
	// not decoded yet has as much again. One message or body counts as half of it at most;
	// bodies of up to 4 KiB aren't counted. The default is 32 MiB.
	MaxInHand int64

	// TrapsOverGRPC has the frontier's traps refuse URLs that come over gRPC, too. The
	// default is false: URLFrontier takes every URL. Its clients have filters of their own, and
	// could not distinguish such a SKIPPED from that of a known URL.
	TrapsOverGRPC bool

	// MaxExpiredOverGRPC is how many leases of a URL may run out before GetURLs drops it, as
	// frontier.Options.MaxExpired does for others. The default, 0, is no bound: a client of
	// URLFrontier expects a URL until it states what became of it.
	MaxExpiredOverGRPC int

	// Dir is the directory whose disk is watched. The default is none.
	Dir string
	// MinFree is how many bytes of that disk stay free: with less, writes are
	// refused until there is a tenth more. The default is 1 GiB; negative is off.
	MinFree int64

	// Drain bounds the orderly end. The default is 20 s.
	Drain time.Duration
	// IdleTimeout closes connections without a call. The default is 15 min.
	IdleTimeout time.Duration
	// HandshakeTimeout closes connections that say nothing. The default is 10 s.
	HandshakeTimeout time.Duration

	// Node is what ListNodes answers. The default is the gRPC address.
	Node string
	// Members lists the other daemons on the same store. The default is that
	// there are none.
	Members Members
	// Store has the metrics of a store on disk. The default is none.
	Store StoreMetrics
	// Queues are the settings of queues that have none of their own, for reports of
	// their state. The default is none.
	Queues QueueDefaults
	// Backups is where backups of the store go. The default is that there are none.
	Backups *durable.Backups
	// Exports is the store of the frontier, for exports. The default is that there are none.
	Exports store.Store
	// Logger takes the log. The default is slog.Default().
	Logger *slog.Logger
	// Level is set by SetLogLevel. The default is to ignore that call.
	Level *slog.LevelVar
	// Profile returns the profile of the frontier, for explanations. The
	// default is canon.Qiita.
	Profile func() *canon.Profile
	// Evidence is what the fetches of the frontier show. The server runs it. The default has none.
	Evidence *evidence.Evidence
	// Reload is called by Server.Reload, for rules and the like. The default
	// is to do nothing.
	Reload func(context.Context) error
}

func (c Config) withDefaults() Config {
	c.GRPCAddr = cmp.Or(c.GRPCAddr, "127.0.0.1:7071")
	c.HTTPAddr = cmp.Or(c.HTTPAddr, "127.0.0.1:7072")
	c.HealthAddr = cmp.Or(c.HealthAddr, "off")
	c.MaxMessage = cmp.Or(c.MaxMessage, 4<<20)
	c.MaxConnections = cmp.Or(c.MaxConnections, 16384)
	c.MaxStreams = cmp.Or(c.MaxStreams, 256)
	c.MaxCalls = cmp.Or(c.MaxCalls, 1024)
	c.MaxURL = cmp.Or(c.MaxURL, 1<<16)
	c.MaxMetadata = cmp.Or(c.MaxMetadata, 1<<16)
	c.MaxWait = cmp.Or(c.MaxWait, time.Minute)
	c.MaxInHand = cmp.Or(c.MaxInHand, 32<<20)
	c.MinFree = cmp.Or(c.MinFree, 1<<30)
	c.Drain = cmp.Or(c.Drain, 20*time.Second)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 15*time.Minute)
	c.HandshakeTimeout = cmp.Or(c.HandshakeTimeout, 10*time.Second)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Evidence == nil {
		c.Evidence = evidence.New(evidence.Options{})
	}
	if c.Profile == nil {
		c.Profile = canon.Qiita
	}
	if c.Reload == nil {
		c.Reload = func(context.Context) error { return nil }
	}
	return c
}

// Members lists the daemons that serve a store together.
type Members interface {
	// Beat records that a node lives, and returns the names of those that do, in
	// order. A node that hasn't beaten for some time is dead.
	Beat(ctx context.Context, node string) ([]string, error)
	// Leave records that a node ends.
	Leave(ctx context.Context, node string) error
}

// StoreMetrics returns metrics of a store on disk.
type StoreMetrics interface {
	Metrics(context.Context) (pebblestore.Metrics, error)
}

// QueueDefaults hold for queues without settings of their own.
type QueueDefaults struct {
	MaxInFlight int           // 0 for no bound
	Delay       time.Duration // 0 for none
	Paused      bool          // all queues are

	Crawl, Store store.CrawlSettings // those set for the crawl of a queue, and for all queues; they come first
	// Fetched and InFlight are the pages and leases of the crawl, where it has a limit.
	Fetched, InFlight int64
}

// maxHeader bounds the headers of a call in bytes.
const maxHeader = 8 << 10
