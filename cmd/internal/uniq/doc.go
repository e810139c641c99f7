// Package uniq passes on each URL of a stream the first time it is seen.
//
// Batches of lines go through three stages:
//
//	input ──▶ canonicalize, hash ──▶ look up, write
//	          (parallel)             (in order)
//
// Only the last stage decides, and it sees the lines in the order of the input. So the
// output does not depend on the number of workers.
//
// Most lines of a real list repeat a recent line, byte by byte. Each worker remembers
// the texts it met last ([recent]) and drops such a line before it is canonicalized. That is
// safe because a worker takes batches in the order of the input: a text it met before is of
// an earlier line. A text is compared by 46 further bits of a hash, its length and its last
// 8 bytes: of 50 million lines at most 7e-7 are expected to be taken for another one.
//
// Lines are compared by hashes whose seeds are made when the process starts ([Sum]), so
// two URLs that collide can't be prepared. A [Set] keeps 76 bits of a hash in about
// 10 bytes: of 50 million different URLs 2e-8 are expected to be taken for another one,
// of a billion 7e-6.
//
// When the sets fill their memory, they stay as they are, and further sums go to a temporary
// store, which is asked about all lines of a batch at once ([Space]). Where the first
// URL is asked for ([ledger]), lines beyond the memory go to temporary files, which are counted
// one after another when the input has ended ([rest]).
//
// Output is flushed whenever no batch waits, so a line of an idle pipe is passed on
// immediately.
package uniq
