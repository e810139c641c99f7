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
// A group is written as soon as there is one, and synced with what was written
// while the disk was busy: so 256 callers of one key each pay for a few syncs, not
// for 256, nobody waits for more than the sync under way and the next one, and the
// processors look up keys meanwhile, as one sorted batch. A second goroutine
// answers, in the order of the groups. Callers sort their own batches, into memory
// that the step owns, and a context can call a step back until the committer takes
// it.
//
// The price is that memory runs ahead of the disk while groups are written. If
// a write fails the two can't be reconciled, so the store is dead: it answers
// [store.ErrFailed], hangs nobody, and can be opened again after Close. What
// was not answered is there whole or not at all.
//
// Pebble stops writers for seconds when compactions are too far behind. Before it does,
// the committer slows down to the pace at which they keep up, by milliseconds a group
// and a quarter of a second at most, in which steps that only read wait, too:
// Metrics.PaceTime says for how long in all.
//
// # The index
//
// Asking Pebble costs 2 to 9 µs of CPU a key, ten times what the rest of an
// add costs. So by default every key has a 64-bit fingerprint in memory, 9 to
// 10.4 bytes a key, and Pebble is only written. Mixed with a secret of the store
// and compared within one of 65,536 segments, it errs so rarely that of a billion
// URLs 4e-7 are expected to be lost. [IndexMode] lists the other ways: the whole
// key, fewer bits, sorted files beside Pebble, a Bloom filter before it; Options.Exact
// verifies. The index is read from the rows at open.
//
// # Less memory
//
// Where 10 bytes a key are too many, there are two ways, both without error:
//
//   - [IndexFlat] has the keys a second time, in sorted files that are mapped into
//     memory: a look-up costs some 0.2 µs. The process needs memory for a million or
//     two of the newest keys, whatever their number; the files, 16.5 bytes a key,
//     cost disk, and are fast while the page cache holds them. They are copies that
//     are checked at every look-up, never trusted after a crash, and made anew
//     behind everybody's back when something is wrong with them, while Pebble is
//     asked. After a clean Close they are there at the next open, which so reads no
//     rows at all.
//   - [IndexBounded] has 12 to 36 bits a key of Bloom filters, within a budget, and
//     no more disk. Pebble is asked of most duplicates: 4 µs each, from two
//     goroutines, if its cache holds the blocks; most links go to a few pages, which
//     a cache of recent keys knows.
//
// # Options that were measured
//
// Write buffers of 8 MB, which stay within the processor's reach (at 64 MB an
// insertion, the greatest part of a new key's cost, takes twice as long), and
// more of the small tables that come of it before they are compacted; up to three
// compactions at once when those pile up (one alone can't keep up with new keys, of
// which three times as many a second come in from 10 to 30 million), which give way
// to callers every 128 keys (without that they rewrite twice as much); 16 kB
// blocks, Bloom filters of 10 bits (in the last level 6, and none where the index in
// memory makes them needless), tables of 32 MB (a table's filter is one block, and
// a greater one falls out of the cache), Pebble's newest format (a third less disk
// than its default), strong compression in the last level alone, where it saves a
// tenth (URLs; keys are noise), a block cache that is larger than the write
// buffers, which are charged to it. See the benchmarks in store/bench and
// store/rivals.
//
// # Caveats
//
// Forget by age works on whole generations of keys: see [Store.Forget].
// Imports hold up other writes for a twentieth of a second at a time; Forget and
// Verify, for some milliseconds.
// After a kill or power cut, damage by the disk to the last 64 kB of the log can't
// be told from a torn write; anywhere else it is noticed, and so it is everywhere
// after a Close. A key alone has no time of its own: its Created is that of its
// generation.
//
// FORMAT.md draws the rows on disk.
package pebblestore
