// Package logs reads lists of URLs, and logs, indexes and archives of crawlers and web servers: a file goes in, records
// of one type come out, and every unit of the file is accounted for.
//
//	f, err := logs.Open(ctx, "crawl.log.gz", os.Stdin)
//	for batch, err := range logs.Read(f, logs.Options{}) { … }
//
// # Records
//
// A [Record] says what the log knows: the URL as bytes, whether it was fetched or only found ([Kind]), the
// status where it is known, time, digest, redirect target, referrer and place. What is not known and what did not happen are
// different things: a fetch without a status is of a format that has none; a log that has a place for
// the status and no answer there gives a URL that was only found. [Record.Status] says how.
//
// # Detection
//
// No log names its format, and names of files lie. The simple way is to ask each format whether it knows a
// line, and take the first that does. It misread much: one line decided for a file, and one cell for
// a column, so a table became a list and a referrer the page. So [Read] makes a trial: each format
// reads the first 40 lines, and is taken if it explains most of them, with plausible URLs. A table is taken
// if most rows have as many cells as the others, and one column has the URLs: a header that names it wins;
// without one, it must be the only one. Two readings that explain a file equally well are refused, with
// the flag that decides. A format that the caller names is obeyed; what most lines of a list have behind the URL is cut even then.
//
// A slow pipe is not held back by this: lines that leave no doubt, such as absolute URLs, pass at once. Others wait for the
// 40 lines, for the end, or for the flag.
//
// # Accounting
//
// [Counts] has a sum that holds for every format: units = read + blank + headers + comments + refused + other. The
// last two have reasons. A file of which nothing could be read is an error, [ErrFormat].
//
// # Two ways through
//
// Nearly every record goes through a parser, a line at a time. Plain lists do not: a million URLs a second
// and processor leave no time for a call and a copy each, so a [Batch] of a list is a block of lines, and its receiver
// splits it on as many processors as it has ([Batch.Each]).
//
// Each file names the source or document from which its grammar comes. Memory is that of a batch and one
// record, whatever the size of the log; [File] and each reader state their bounds.
package logs
