// Package archive puts the URLs of whole files into a crawl: those that earlier crawls fetched, as seen, so that a new crawl
// skips them (firstseen import), or all, to be fetched (firstseen add).
//
// A log names more URLs than were fetched: a crawl.log also lists URLs that were found and never
// fetched, an index also lists failures. If these counted as seen, they would never be fetched.
// So [Read] records only fetches by default, and [Options] can restrict them to statuses. It counts
// every record that it leaves out, by reason.
//
// Read records in batches. Each batch is one durable step, after which Read reports its
// progress to the caller. A [Journal] keeps the progress: an import that was interrupted continues
// where it ended, and of a log that has grown only the new part is read.
package archive
