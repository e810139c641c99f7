// Package input opens what a person names on a command line, a file or "-" for
// standard input, undoes its compression, and cuts it into lines.
//
// Compression is recognised by the first bytes, never by the name: crawl logs are
// renamed, rotated and re-packed. Files of many gzip members or zstd frames are
// read to the end, since that is how CDX and WARC files are written.
//
// Lines come in blocks of about a megabyte, whole lines in each, because a
// replay spends its time elsewhere: one call per line would cost more than the
// look-up it leads to. A line longer than a block is reported as such and
// skipped without being held in memory.
package input
