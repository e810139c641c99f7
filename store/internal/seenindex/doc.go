// Package seenindex reports from memory whether a key was recorded, at 9.4 to 13.3 bytes a key from a million keys on (a
// smaller set takes several times as much), and in about 30 ns. The error is so small that in a million crawls of a billion URLs each, fewer than one
// URL is expected to be lost.
//
// # The idea
//
// A key is 16 bytes of a SHA-256. Its first two bytes select one of 65,536 segments, so that a sorted
// batch reads memory in order. The two halves of the segments are separate, so that two
// goroutines can share a large batch. A segment keeps a fingerprint of each key: a keyed hash of all 16
// bytes. The hash is strongly universal and its key is a secret of the store, so an attacker cannot
// prepare two URLs that collide: two keys of one segment do so with probability 2^-64, any two with 2^-80 (see [Odds]).
//
// # The table
//
// A segment is a sorted array with gaps (linear probing in order). The fingerprint determines a
// home in the array; if the home is taken, the fingerprint is to the right of it, and all are in ascending
// order. A search ends at the first larger fingerprint. So an unknown key costs no more than a known
// one, even if 85 % of the slots are full. To grow, a segment of some hundred slots is copied in order
// into one that is an eighth longer. So pauses are short, and little memory is unused.
//
// # Memory
//
// Arrays are in slabs outside the Go heap, each slab for arrays of one length. The last array of a
// length moves into the space of a freed one. So the counted memory is the memory in use,
// independent of the garbage collector.
//
// An index is not safe for concurrent use.
package seenindex
