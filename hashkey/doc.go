// Package hashkey makes fixed-size keys from canonical forms of URLs.
//
// A crawler that has to know whether it has seen a URL should not keep the URL: it keeps
// a hash of its canonical form (package canon makes those). This package holds the
// UrlHash family, three widths of one SHA-256:
//
//	UrlHash           32 bytes   identity beyond doubt
//	UrlShortHash      16 bytes   the key of a seen-set
//	UrlVeryShortHash   8 bytes   a bucket, a shard, a fingerprint
//
// Each shorter one is a prefix of the longer, so indexes of different widths agree.
// Its subpackages hold two hashes that answer other questions: sxurl a 256-bit index entry
// whose slices stand for the parts of a URL, hasheduri the "hashed:" URI that names
// a URL without revealing it.
//
// # Which width
//
// The wider the hash, the more each seen URL costs; the narrower, the sooner two URLs
// share one and the second is lost as a "duplicate". The odds that this happens at all,
// as [CollisionOdds] computes them, among that many different URLs:
//
//	bits      1e6      1e8      1e9     1e10     1e12
//	  64  2.7e-08  2.7e-04  2.7e-02  9.3e-01  1.0e+00
//	 128  1.5e-27  1.5e-23  1.5e-21  1.5e-19  1.5e-15
//	 256  4.3e-66  4.3e-62  4.3e-60  4.3e-58  4.3e-54
//
// So 128 bits are enough for any crawl, and 64 bits are not: at 10^10 URLs a loss is
// likely. And 64 bits are few enough for an adversary to search for collisions.
//
// # The url-hash crate
//
// The names and the idea come from the url-hash crate for Rust. Its document says
// SHA-256, its release 0.1.0 computes SHA-384 and cuts; [Sum] does what the document says,
// [UrlHashCrate] what the release does. Its canonical form is canon.WHATWG.
//
// All functions may be called by any number of goroutines at once. The Append methods
// and the Sum functions do not allocate, but [SumURL] and [SumURLCrate], which parse.
package hashkey
