// Package replay measures the duplicates in a stream of URLs, and records their keys in a store.
//
// Most lines of a real stream are exact repeats: of the links in our largest stream, 92 % were
// found before, byte by byte. So the cheapest step comes first: [Run] looks up a hash of the raw line
// in a table in memory. Only if the table lacks it, Run canonicalizes the URL, computes its key and
// offers the key to the store.
//
//	source ──▶ split, hash ──▶ exact table ──▶ canonicalize ──▶ store, tally
//	(per file)  (parallel)    (in order)      (parallel)       (in order)
//
// The two stages with state run in the order of the input, with any number of workers. So every
// count, first-seen URL and line number is the same on any machine.
//
// The exact table has a budget. When it is full, hashes that it lacks are written to files and
// counted at the end. So memory is bounded, and the counts stay exact; but repeats of these
// lines do not count as exact duplicates of their host.
package replay
