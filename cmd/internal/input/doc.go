// Package input opens the inputs of a command: files, or "-" for standard input. It decompresses them, and
// divides them into lines.
//
// It detects compression by the first bytes, never by the name, because crawl logs are renamed, rotated and
// packed again. Files of many gzip members or zstd frames, such as CDX and WARC files, are read to the
// end.
//
// Lines are returned in blocks of complete lines, about a megabyte each, because one call for each line
// would cost more than the look-up of its URL. A line longer than a block is reported and skipped, and is
// not kept in memory.
package input
