// Package seenindex reports from memory whether a key was recorded, at 9.4 to 11
// bytes a key and about 30 ns a look-up. It errs so rarely that of a million
// crawls of a billion URLs each fewer than one is expected to lose a URL.
//
// # The idea
//
// A key is 16 bytes of a SHA-256. Its first two bytes choose one of 65,536
// segments, so that a sorted batch walks memory in order. Each half of the segments has
// memory of its own, so that two goroutines share a large batch. What a segment keeps
// of a key is a fingerprint: a keyed hash of all 16 bytes. As the hash is
// strongly universal and its key is a secret of the store, an attacker cannot prepare
// two URLs that collide; any two keys do with probability 2^-64 (see [Odds]).
//
// # The table
//
// A segment is a sorted array with gaps (linear probing in order): a
// fingerprint's home is its share of the array's length, and those whose home
// is taken sit right of it, all in ascending order. A question ends at the
// first larger fingerprint, so an unknown key costs no more than a known one
// even when 85 % of the slots are full. Growing copies one segment of some
// hundred slots, in order, into one an eighth longer: no long pause, and never
// much room unused. Nothing but the fingerprint is needed for that, which is
// why the home comes from the fingerprint.
//
// # Memory
//
// Arrays live in slabs outside the Go heap, each for arrays of one length; the
// hole of a freed array is filled by the last one of that length. So the
// memory in use is the memory counted, whatever the garbage collector does.
//
// An index is not safe for concurrent use.
package seenindex
