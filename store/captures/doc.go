// Package captures keeps a bounded sample of what fetches gave: URL, time, status, digest
// and redirect. Rules are judged by it on a live frontier, where there is no crawl log.
//
// A sample of single fetches would be of no use: a rule is judged by pairs of variants, and
// two variants drawn at random are hardly ever of one page. So whole places are drawn. A
// place is what no rule tells apart: the host without "www.", the path without index file,
// sessions and case, no query. All captures of a place are kept, or none.
//
// The sample bounds itself. When it holds more captures than it may, it drops half of the places,
// chosen by their hash, and takes no later captures of these; so at any time it
// holds every place whose hash begins with so many zero bits. A place may hold only so many
// variants, so that one search form can't drive out all others. Of each variant the first
// and the latest capture are kept: a control needs two.
//
// It is a sample, not a promise, and nothing else depends on it. Lines are written without a sync,
// so a power cut can lose the latest. A write that fails drops its captures and counts
// them; the next one tries again. A line that is damaged is left out and counted.
//
// # Format
//
// The directory has a file captures.log of text. The first line is "firstseen captures v2"; a
// file of version 1, which has no declarations, is read, and written again by the first process that writes. Each
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
// first 8 bytes of the SHA-256, big-endian. When more than half of the lines have been
// replaced, the file is written again. LOCK is locked by the process that writes.
package captures
