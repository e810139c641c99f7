// Package captures keeps a bounded sample of what fetches gave: URL, time, status, digest
// and redirect. It is what rules are judged by on a live frontier, where no crawl log is.
//
// A sample of single fetches would be of no use: a rule is judged by pairs of spellings, and
// two spellings drawn at random are hardly ever of one page. So whole places are drawn. A
// place is what no rule tells apart: the host without "www.", the path without index file,
// sessions and case, no query. All captures of a place are kept, or none.
//
// The sample bounds itself. When it holds more rows than it may, half of the places go,
// chosen by their hash, and their later captures are not taken either; so at any time it
// holds every place whose hash begins with so many zero bits. Places are rows in the order of
// their hash, and the half that goes is one range of keys. A place may hold only so many
// spellings, so that one search form can't drive out all others. Of each spelling the first
// and the latest capture are kept: two are what a control needs.
//
// It is a sample, not a promise: rows are written without a sync, and the last second of
// them can be lost in a crash. Nothing else depends on them.
//
// Rows, in a Pebble database of their own. Integers are big-endian.
//
//	"c" place(8) spelling(8) slot(1)   a capture; slot 0 is the first, 1 the latest
//	    time(8) status(2) len(2) digest len(2) redirect URL
//	"n" place(8)                       how many spellings the place has, as uvarint
//	"level"                            how many leading zero bits a place needs, one byte
//
// place and spelling are the first 8 bytes of a SHA-256.
package captures
