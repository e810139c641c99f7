// Package pebblestore is the durable store of one machine: a seen-set and its
// queues in one Pebble database.
//
// # One committer
//
// All writes go through one goroutine. Callers hand it steps; it gathers those
// that wait into a group, applies them in order to the state in memory, writes
// all of their rows in one Pebble batch, syncs it, and only then answers. Three
// promises need no further code:
//
//   - exactly one "new": nothing else decides, so nothing can race;
//   - a "duplicate" is durable: the step that made it one was in an earlier
//     group, which is on disk, or in this one, which is before the answer;
//   - all or nothing: a step's rows are in one batch.
//
// The price is that memory runs ahead of the disk while a group is written. If
// that write fails the two can't be reconciled, so the store stops: see
// [store.ErrFailed].
//
// # The index
//
// Asking Pebble costs 2 to 9 µs of CPU a key, a hundred times what the rest of
// an add costs, so every key has a fingerprint in memory and Pebble is only
// written. FORMAT.md draws the rows on disk.
//
// # The queues
//
// URLs that wait are on disk alone, in order of service; in memory are the
// leases and about 300 bytes for each queue that holds something, with the
// place of its first URLs. So choosing costs the same beside a million queues
// as beside a thousand, and opening reads no queued URL. A seen row points to
// where its URL was queued and is not written again when the URL is leased or
// done: what the row points to is gone then, and that says it.
package pebblestore
