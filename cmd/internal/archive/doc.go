// Package archive records as seen what earlier crawls have fetched, so that a new
// crawl skips it.
//
// What an archive holds is less than what its logs name. A crawl.log also lists what
// was found and never fetched, an index also lists failures; taken as seen, these
// would never be fetched. So by default only fetches count, and of these the ones
// that succeeded or redirected. Everything left out is counted, by reason.
//
// Records are recorded in batches, each one durable step, and after each the caller
// is told how far that is: a [Journal] keeps it, so that an import that was
// interrupted continues where it ended, and a log that has grown is read from there.
package archive
