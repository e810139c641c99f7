// Package pebblestore is the durable store of one machine: a seen-set and its queues, in one Pebble
// database and files of sorted keys.
//
//	s, err := pebblestore.Open("crawl.db", pebblestore.Options{})
//
// # One committer
//
// All writes go through one goroutine, the committer. It collects the waiting steps of all callers
// into a group, applies them in order to the state in memory, writes their rows in one Pebble batch,
// syncs it, and then answers the callers. So exactly one caller gets "new", a "duplicate" is durable,
// and a step is on disk whole or not at all. A call that may have a lot to do, such as forgetting a queue,
// leasing from thousands of queues, or adding or settling thousands of URLs, is carried out in parts of a few milliseconds, and the
// steps of other callers come between them (commit.go). Each part is whole: a crash keeps the first of them, and each URL is
// added or settled, or not. While the disk syncs a group, the next groups are written, and then synced together.
//
// The state in memory is ahead of the disk while groups are written. If a write to the log, the manifest or the note fails, or
// writing tables fails 20 times in a row (run files are tried again), the store has
// failed: every call returns [store.ErrFailed]; a call that waits for a sync does when the sync ends. After Close the store
// can be opened again. If Pebble could not write its log or manifest, it would end the process. So the file system
// below Pebble hides such errors from it, and drops all its writes from then on
// (disk.go), even during Open. Close then closes Pebble as usual.
//
// # Keys
//
// A group writes its new keys as one packed row. In the background, packed rows become run files:
// sorted files with checksums, which never change and are merged when there are many.
// Options.IndexBytes selects how a key is looked up:
//
//   - By default from fingerprints in memory, 9.4 to 13.3 bytes a key in a large store. In a crawl of a billion URLs, the
//     expected number of URLs lost to a collision is 4e-7; Options.Exact verifies each hit in the
//     run files. The fingerprints are loaded in the background after Open.
//   - Until they are loaded, and once they have outgrown the bound, from a table of the packed keys and from the
//     mapped run files, without error. About a million packed keys take 40 to 60 bytes of memory
//     each. The page cache holds the run files, with filters of 1.6 bytes a key, as far as it has room.
//
// A key has no time of its own. Keys are grouped in generations of 30 days, or of an eighth of the
// shortest retention if one was requested; Created is the start of the generation. See [Store.Forget].
//
// # URLs
//
// After Open, queues beyond the first 16,384 are loaded between the steps of callers (load.go).
//
// Memory grows with the queues that contain URLs, not with their URLs, and by about 10 bytes for each queue that ever did. If a URL is completed before
// 850,000 more are queued, only its key remains. Other completed URLs cost about 30 bytes more until
// their key is forgotten. A leased URL takes about 300 bytes, and up to 1 KiB of its URL and metadata.
//
// # Damage
//
// Open decides, only by reading, what a directory is: nothing, a store that is being made, a whole store, or
// damaged: then ErrCorrupt names the missing parts, and nothing changes. Files that no store writes are ignored.
// FORMAT.md lists which damage is detected, how, and which looks like a write torn by a kill or power cut: damage that
// reaches the last groups of the log, and a log that was cut less than a second after the last acknowledgment.
//
// If a part of a run file is damaged, only the keys in it are refused ([store.Damaged], [store.DamagedKeys]); a queue whose URLs
// cannot be read waits. Options.OnDamage and IndexInfo.Err report both. OpenRepair cuts a damaged log before the damage, and
// ends with a store that verifies, or an error.
//
// Pebble never ends the process for such faults. A compaction that meets a damaged block is blocked forever. If Pebble
// wants to end the process, the store fails instead. After either, Close returns, but Pebble's memory and
// locks stay: the process cannot reopen the store. A Verify, Backup or Metrics that is in Pebble at that time may never return.
//
// # Limits
//
// If compactions or flushes of packed keys cannot keep up, the
// committer waits up to a quarter of a second for each group (Metrics.PaceTime), and without a bound while Pebble's first level
// is full, with 64 sublevels.
//
// FORMAT.md describes rows, files and every crash point. Figures are in cmd/internal/tools/bench/store.
package pebblestore
