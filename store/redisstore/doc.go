// Package redisstore is a [store.Store] in Redis Cluster, for crawls that
// outgrow one machine; a single Redis server also works, and so does Valkey.
//
// The trade against the embedded store: any number of daemons work on one
// crawl and none of them holds anything, for about ten times the cost of a URL
// and keys that live in memory, about 34 bytes each and copy.
//
// # Where things live
//
// A store is cut into shards, each in one hash slot ([Options.Shards], fixed when
// it is made). A key's home is the shard of its key, so the seen-set of a host of
// any size spreads evenly; a queue's home, with its URLs, delays, bounds and
// leases, is the shard of its name. FORMAT.md draws every key.
//
// # Atomic add-and-queue
//
// The two homes differ, so an add takes three scripts. The first records the key and
// puts the URL into the outbox of the key's shard, as a step: from then on
// both are durable or neither. The second queues the URL at its queue's home, and the third
// clears the step. If the daemon dies in between, any other finishes the step; the queue's home keeps
// a receipt, so that it is carried out once. PROTOCOL.md lists the steps and the crash points.
//
// # What an answer promises
//
// Each answer, also "duplicate", comes after WAIT on the connection that the
// script ran on, which always wrote something: so what made a key a duplicate is on
// as many replicas as [Options.Replicas] says before anybody hears of it. When
// that can't be had, the call fails with [store.ErrUnavailable].
//
// While a slot moves to another node its shard waits: no script ever sees half
// of a shard.
//
// # What the cache promises
//
// A store remembers keys that were answered, "new" or "duplicate", by fingerprints in memory
// ([Options.CacheBytes]), and does not send keys that it remembers. It answers "duplicate" alone, and only what the
// cluster would have answered at some time during the call: a shard reports an epoch with every answer, under WAIT, and begins
// another before a Forget of its keys is acknowledged; keys that were learned in another epoch are sent. It does not promise two things: it errs
// by its fingerprints once in 2e18 look-ups, and a key that the cluster lost without a Forget (with a shard's last copy, or
// because a promoted replica lacked it) stays known to the daemons that remember it until they end.
package redisstore
