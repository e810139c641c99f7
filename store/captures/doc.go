// Package captures keeps a bounded sample of fetches: URL, time, status, digest, redirect and
// declarations. A live frontier, which has no crawl log, judges canonicalization rules by it.
//
// A sample of single fetches would be useless: rules are judged by pairs of variants, and two
// fetches drawn at random are hardly ever variants of one page. So the sample consists of whole
// places. A place is a URL without everything that rules change: "www.", index file, sessions, case
// and query. The sample has all variants of a place or none, at most 1,000 of them, so that one search
// form cannot fill it. Of each variant it has the first and the latest capture: a control needs two.
//
// When the sample exceeds its bound, it drops half of the places, chosen by their hash, and
// accepts no later captures of them. So at any time it contains every place whose hash begins with a
// certain number of zero bits.
//
// The sample is in memory, as the lines of its file, and the file is a log of it: it is read when the sample is opened,
// appended to, and written again when more than half of it is stale. To keep only the places of lines in memory saved
// 25 MB of 75 and cost a second set of offsets to keep right through each rewrite, and reads under listings.
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
// Of a variant the first line is its first capture, and the last line its latest. hash64 is the
// first 8 bytes of the SHA-256, big-endian. A line that a failed write cut off ends in "!". The process that writes has locked the directory.
package captures
