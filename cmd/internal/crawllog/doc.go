// Package crawllog reads the logs and indexes that crawlers, archives and web
// servers leave behind, as records of one shape.
//
// No two programs log alike, and none marks its log. So the format is told by the
// content ([Detect]), never by the name. Every reader is a sequence of [Record] and
// error: an error that is a [LineError] belongs to one line and the sequence goes
// on, since a log of a month always has a torn line somewhere; any other error ends
// it. Nothing is held but the record at hand, whatever the size of the log.
//
// Logs differ in what they tell. Some tell what was fetched (CDX, WARC, access
// logs), some what was found and not yet fetched (dupefilter logs, frontier dumps),
// Heritrix and Nutch tell both: [Record.Kind] says which it is. Text is bytes: a URL
// is given as it was logged, with the log's own escaping undone and no more.
//
// The grammars come from the programs' sources and documents, named in each file.
package crawllog
