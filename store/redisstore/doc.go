// Package redisstore is a [store.Store] in Redis Cluster, for crawls that need more than one machine. A
// single Redis server also works. Any number of daemons work on one crawl, and a daemon keeps only a cache.
// REDIS.md is for operators; FORMAT.md describes every Redis key.
//
// A store consists of shards, each in one hash slot ([Options.Shards], fixed when the store is
// created). A key is in the shard of its hash, so even the seen-set of one large host is spread
// evenly. A queue, with its URLs, delays, bounds and leases, is in the shard of its name. The two differ, so
// adding a URL takes three scripts; PROTOCOL.md explains how steps are completed after a crash.
//
// Each answer, also "duplicate", is sent after WAIT on the connection of the script. Every script that answers for a
// write writes something, since WAIT only covers writes of its connection. So the write that made a key a
// duplicate is on [Options.Replicas] replicas before any caller gets the answer. If that is not possible,
// the call fails with [store.ErrUnavailable].
package redisstore
