// Package replay measures the duplicates in a stream of URLs, and records what it
// has seen in a store.
//
// Most of a real stream repeats itself exactly: 92 % of the links a crawler finds
// were found before, letter by letter. So the work is done in the order of its
// cost. A hash of the raw line is looked up first, in a table in memory; only
// spellings that it lacks are canonicalized, hashed to its key and offered to the store.
//
//	source ──▶ split, hash ──▶ exact table ──▶ canonicalize ──▶ store, tally
//	(per file)  (parallel)    (in order)      (parallel)       (in order)
//
// The two stages that keep state run in the order of the input, whatever the
// number of workers; so every figure, first spelling and line number is the same
// on any machine.
//
// The exact table has a budget. When it is full, hashes of lines that aren't in
// it are written to a file and counted at the end ([spill]), so that counts stay
// exact while memory stays bounded.
package replay
