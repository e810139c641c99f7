// Package hashkey computes fixed-size keys of canonical URLs.
//
//	form, err := canon.Qiita().Canonicalize(url)
//	key := hashkey.SumShortString(form)
//
// A crawler that must know whether it has seen a URL does not need to keep the URL. It keeps
// a hash of its canonical form (see package canon). This package has one SHA-256 in three widths:
//
//	UrlHash           32 bytes   identity beyond doubt
//	UrlShortHash      16 bytes   the key of a seen-set
//	UrlVeryShortHash   8 bytes   a bucket, a shard, a fingerprint
//
// Each shorter hash is a prefix of the longer ones, so indexes of different widths agree.
// Two subpackages have other hashes: sxurl computes a 256-bit index entry with a field for
// each part of a URL, and hasheduri the "hashed:" URI, which identifies a URL without
// revealing it.
//
// # Which width
//
// A wider hash costs more memory for each URL. With a narrower hash it is more probable that two URLs
// have the same hash, and then the second is lost as a "duplicate". This is the probability of at
// least one such loss among so many different URLs, as [CollisionOdds] computes it:
//
//	bits      1e6      1e8      1e9     1e10     1e12
//	  64  2.7e-08  2.7e-04  2.7e-02  9.3e-01  1.0e+00
//	 128  1.5e-27  1.5e-23  1.5e-21  1.5e-19  1.5e-15
//	 256  4.3e-66  4.3e-62  4.3e-60  4.3e-58  4.3e-54
//
// So 128 bits are enough for any crawl. 64 bits are not: with 10^10 URLs a loss is likely,
// and an attacker can search for collisions.
//
// # The url-hash crate
//
// The names and the idea come from the url-hash crate for Rust. Its document describes
// SHA-256; its release 0.1.0 computes SHA-384 and truncates it. [Sum] follows the document,
// [UrlHashCrate] the release. The canonical form of the crate is canon.WHATWG, except for
// later changes of the URL Standard.
//
// All functions are safe for concurrent use. The Append methods and the Sum functions do not
// allocate, except [SumURL] and [SumURLCrate] for a URL that is not in canonical form.
package hashkey
