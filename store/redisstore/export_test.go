package redisstore

import (
	"context"
	"time"
)

// Waiting returns options with which replicas may take as long.
func (o Options) Waiting(d time.Duration) Options {
	o.waitTimeout = d
	return o
}

// Sweep finishes all unfinished steps at once.
func (s *Store) Sweep(ctx context.Context) error { return s.sweep(ctx, 0) }

// Certificate makes an authority and a certificate of it for loopback, as PEM.
var Certificate = certificate

// SharedServer returns the address of the server that tests share.
var SharedServer = sharedServer

// Parts of TestABrokenCluster.
var (
	CacheWhenItsMasterDies = cacheWhenItsMasterDies
	ShardOutOfReach        = shardOutOfReach
)
