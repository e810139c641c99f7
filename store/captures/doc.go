// Package captures keeps a bounded sample of fetches: URL, time, status, digest, redirect and
// declarations. A live frontier, which has no crawl log, judges canonicalization rules by it.
//
// A sample of single fetches would be useless: rules are judged by pairs of variants, and two
// fetches drawn at random are hardly ever variants of one page. So the sample consists of whole
// places. A place is a URL without everything that rules change: "www.", index file, sessions, case
// and query. The sample has all variants of a place or none, at most 1,000 of them, so that one search
// form cannot fill it. It has the first and the latest capture of each variant: a control needs two.
//
// When the sample exceeds its bound, it drops half of the places, chosen by their hash, and
// accepts no later captures of them. So at any time it contains every place whose hash begins with a
// certain number of zero bits.
//
// The sample is in memory, as the lines of its file, which is its log: Open reads the file, captures are
// appended, and it is rewritten when more than half of it is stale. Keeping only the offsets of lines in memory saved
// 25 MB of 75, but each rewrite had to correct them, and listings had to read the file.
//
// Nothing else depends on the sample. Lines are written without a sync, so a power cut can lose the
// latest ones. If a write fails, its captures are dropped and counted, and the next write tries
// again. A damaged line is left out and counted.
//
// # Format
//
// The directory has a file captures.log of text. The first line is "firstseen captures v2". Each
// further line begins with the CRC-32C of the rest of it, in 8 hexadecimal digits, and a tab. The rest is
// one of these, with tabs between the fields:
//
//	place variant time status digest redirect URL    a capture: hash64 of the place and of the
//	                                                 URL in 16 hexadecimal digits, time in Unix
//	                                                 seconds, texts quoted as in Go; if the
//	                                                 response declared something, also the fields
//	                                                 canonical, no-vary-search and clean-param
//	level n                                          from here on, a place needs n leading zero bits
//
// The first line of a variant is its first capture, the last line its latest. hash64 is the
// first 8 bytes of the SHA-256, big-endian. A line that a failed write cut off ends in "!". The process that writes has locked the directory.
package captures
