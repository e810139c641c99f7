package logs

import (
	"bytes"
	"io"
	"strings"
)

// arc reads a record of an ARC file, 1.0 or 2.0:
//
//	url ip YYYYMMDDhhmmss mime [status checksum location offset filename] length
//
// The URL may hold blanks, so the columns are counted from the right. The first
// record, filedesc:, describes the file; in it stands which version.
func (w *warcReader) arc(line string) error {
	r, err := arcHeader(line)
	if err != nil {
		return err
	}
	if strings.HasPrefix(r.URL, "filedesc:") {
		return w.arcVersion(r.Length)
	}
	r.Length = max(r.Length, 0) // some writers give -1
	block := &io.LimitedReader{R: w.r, N: r.Length}
	readHTTP(&r, block, w.opt.Declared)
	if !w.links {
		w.emit(r)
	} else if err := w.pass(block); err == nil {
		return other("a capture, not its links")
	}
	return w.pass(block)
}

// arcHeader reads the line before a block. A column may be empty, between two blanks.
func arcHeader(line string) (Record, error) {
	fields := strings.Split(strings.TrimRight(line, " "), " ")
	n := len(fields)
	if n < 5 {
		return Record{}, bad("got %d columns; want the header of a record", n)
	}
	if strings.HasPrefix(line, "filedesc:") && fields[n-3] == "-" { // some writers leave all but the length out
		return Record{URL: fields[0], Kind: Other, Length: number(fields[n-1])}, nil
	}
	at := n - 3                   // of the time
	for i := n - 3; i >= 2; i-- { // the type may have parameters, behind blanks, and an offset can look like a time
		if isAddress(fields[i-1]) && !digitTime(fields[i]).IsZero() {
			at = i
			break
		}
	}
	if n >= 10 && digitTime(fields[at]).IsZero() {
		at = n - 8
	}
	if digitTime(fields[at]).IsZero() {
		return Record{}, bad("got %q; want a time", fields[at])
	}
	r := Record{URL: strings.Join(fields[:at-1], " "), Time: digitTime(fields[at]), MIME: given(strings.TrimSuffix(fields[at+1], ";")), Length: number(fields[n-1])}
	r.Kind = kindOf(r.URL, Fetch)
	if n-at >= 8 && numbersOnly(fields[n-3:n-2]) { // an offset, and no parameter
		r.Digest, r.Redirect = bareDigest(fields[n-5]), given(fields[n-4])
		r.answered(fields[n-6])
	}
	return r, nil
}

// isARC reports whether a file begins as an ARC file does, with or without a record of the
// file itself. The lines of a CDX have more columns, and one header is not followed by
// another.
func isARC(head []byte) bool {
	first, rest, _ := bytes.Cut(head, []byte("\n"))
	r, err := arcHeader(strings.TrimRight(string(first), "\r"))
	if err != nil || strings.Contains(r.URL, " ") {
		return false
	}
	second, _, _ := bytes.Cut(rest, []byte("\n"))
	if strings.HasPrefix(r.URL, "filedesc:") { // the version: "1 0 origin"
		return len(second) > 2 && '1' <= second[0] && second[0] <= '2' && second[1] == ' '
	}
	if _, err := arcHeader(string(second)); err == nil || kindOf(r.URL, Fetch) != Fetch || !strings.Contains(r.URL, "://") {
		return false // or a log that was cut out of an ARC file, after its metadata: line
	}
	fields := strings.Split(string(first), " ")
	return len(fields) == 5 && isAddress(fields[1]) && (r.Length > 0 || fields[4] == "0")
}

// arcVersion passes the version block. Some tools give it no length: then it is two
// lines and the names of the columns.
func (w *warcReader) arcVersion(length int64) error {
	if length >= 0 {
		if err := w.pass(&io.LimitedReader{R: w.r, N: length}); err != nil {
			return err
		}
		return isHeader
	}
	for range 2 {
		if _, err := w.headerLine(); err != nil {
			return fatal(err)
		}
	}
	return isHeader
}
