// Package crawllog reads logs and indexes of crawlers, archives and web servers, and returns
// records of one type.
//
//	format, records := crawllog.Read(file, crawllog.Options{}, nil)
//	for record, err := range records { … }
//
// Every program has its own format, and no log names its format. So [Detect] finds the format by
// the content, never by the file name. [Read] returns a sequence of [Record] and error. A
// [LineError] concerns one line, and the sequence continues after it, because a long log nearly
// always has a damaged line. Any other error ends the sequence. For most formats memory is that of
// one record, whatever the size of the log.
//
// Some logs contain URLs that were fetched (CDX, WARC, access logs), some URLs that were found and not
// yet fetched (dupefilter logs, frontier dumps), and those of Heritrix and Nutch both:
// [Record.Kind] distinguishes them. A URL is returned as it was logged, as bytes. Only the escaping
// of the log itself is undone.
//
// Each file names the source or document from which its grammar comes.
package crawllog
