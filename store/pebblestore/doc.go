// Package pebblestore is the durable store of one machine: a seen-set and its
// queues, in one Pebble database and files of sorted keys.
//
// # One committer
//
// All writes go through one goroutine, the committer. Callers send it steps. It
// gathers those that wait into a group, applies them in order to the state in
// memory, writes all of their rows in one Pebble batch, syncs it, and only then
// answers. So exactly one caller gets "new", a "duplicate" is durable, and a step
// is on disk whole or not at all. A group is written as soon as there is one, and
// synced with those written while the disk was busy.
//
// Memory runs ahead of the disk while groups are written. If a write fails, the
// store is dead: every call returns [store.ErrFailed] without waiting for the disk, and
// the store can be opened again after Close.
//
// Pebble itself would end the process when it cannot write its log or manifest, in
// goroutines of its own and with locks held, and try for ever to write a table. A
// program that embeds a store needs an error and a Close that returns. So what Pebble
// calls parks the goroutine that meets such an error, and after Close each that would
// change the disk; only the committer's unwinds by a panic, which is why goroutines are
// compared (health.go, watchfs.go). They and Pebble's memory stay until the process ends.
//
// # Keys
//
// A group writes its new keys as one packed row. A goroutine turns packed rows into
// runs: sorted, checksummed files that never change, which it merges as they become
// many. Crawls with few keys share files. Options.IndexBytes decides what answers
// whether a key is new:
//
//   - By default a fingerprint of 64 bits for each key, in memory, 9.4 to 11 bytes a
//     key. Mixed with a secret of the store and compared within one of 65,536 segments,
//     it errs so rarely that of a billion URLs 4e-7 are expected to be lost;
//     Options.Exact verifies it in the runs. It is filled in the background after Open.
//   - Where that does not fit, and while it is filled, a table of the packed keys and the
//     mapped runs, without error. Memory is then 40 to 60 bytes for each of about a
//     million packed keys. The runs, with filters of 1.6 bytes a key, are in the page cache
//     as far as there is room.
//
// A crawl's keys belong to generations of 30 days, or an eighth of the shortest
// retention that a user of the store asked for: see [Store.Forget]. A key alone has no
// time of its own: its Created is that of its generation.
//
// # URLs
//
// Memory grows with the queues that hold something, not with their URLs. A URL that is
// completed while fewer than 450,000 others were queued after it costs its key from then
// on; others cost about 30 bytes more until their key is forgotten.
//
// # Caveats
//
// After a kill or power cut, damage by the disk to the last 64 kB of the log cannot be
// told from a torn write; anywhere else it is noticed, and so it is everywhere after a
// Close.
// Pebble stops writers when compactions are too far behind; before it does, the
// committer slows down by at most a quarter of a second a group (Metrics.PaceTime).
//
// FORMAT.md describes rows, files and every crash point. Figures are in cmd/internal/tools/bench/store.
package pebblestore
