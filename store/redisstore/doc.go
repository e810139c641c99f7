// Package redisstore is a [store.Store] in Redis Cluster, for crawls that need more than one machine. A
// single Redis server also works. Valkey passed the tests of an earlier format.
//
// Any number of daemons work on one crawl, and a daemon keeps only a cache. In exchange, a URL costs about ten
// times as much as in the embedded store, and keys are in memory, about 34 bytes
// for each key and copy.
//
// # Placement
//
// A store consists of shards, each in one hash slot ([Options.Shards], fixed when the store is
// created). A key is in the shard of its hash, so even the seen-set of one large host is spread
// evenly. A queue, with its URLs, delays, bounds and leases, is in the shard of its name. FORMAT.md
// describes every Redis key.
//
// # Adding a URL
//
// The two shards differ, so adding a URL takes three scripts. The first records the key, and puts the URL
// as a step into the outbox of the key's shard. From then on both are durable or neither. The second
// queues the URL in the queue's shard. The third removes the step. If the daemon dies in between, any
// other daemon finishes the step. The queue's shard keeps a receipt, so the step is carried out once.
// PROTOCOL.md lists the steps and the crash points.
//
// # What is promised
//
// Each answer, also "duplicate", is sent after WAIT on the connection of the script. Every script
// writes something, since WAIT only covers writes of its connection. So the write that made a key a
// duplicate is on [Options.Replicas] replicas before any caller gets the answer. If that is not possible,
// the call fails with [store.ErrUnavailable].
//
// While a slot moves to another node, its shard waits: no script sees a part of a shard.
//
// # The cache
//
// A store keeps fingerprints of answered keys in memory ([Options.CacheBytes]), and answers "duplicate"
// for them without a request. The cluster would have given the same answer at some time during the
// call: each shard returns an epoch with every answer, under WAIT, and begins another epoch before it
// acknowledges a Forget of its keys. Keys of an old epoch are sent to the cluster.
//
// There are two exceptions. A fingerprint is wrong once in 2e18 look-ups. And if the cluster loses a
// key without a Forget (with the last copy of a shard, or because a promoted replica lacked it),
// daemons that have it in their cache still answer "duplicate".
package redisstore
