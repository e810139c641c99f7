package logs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// A warcReader reads WARC 1.0 and 1.1 (ISO 28500) and ARC files, a record at a time.
// Contents are passed over: of a block only the head of the HTTP message is read.
type warcReader struct {
	*sink
	f      *File
	r      *bufio.Reader
	links  bool // the outlinks are asked for, and not the fetches
	header int  // bytes read of the record's header
}

// Maximum sizes of the parts of a record that are read: of the header, all lines together, and of
// the HTTP message.
const (
	maxWARCHeader = 1 << 20
	maxHTTPHeader = 64 << 10
)

// warc reads one file.
func (s *sink) warc(f *File) error {
	w := &warcReader{sink: s, f: f, r: f.Reader(), links: s.opt.Events == Links}
	for !w.stopped {
		text, err := w.record()
		var fatal *fatalError
		switch {
		case err == io.EOF:
			return nil
		case errors.As(err, &fatal):
			if w.b.emitted > 0 {
				err = nil // the capture is known, though it is cut short
			}
			w.unit(err, text)
			return fmt.Errorf("cannot read %s beyond record %d: %w", f.Name, w.number, fatal.error)
		}
		w.unit(err, text)
	}
	return nil
}

// fatalError is one after which there is no telling where the next record begins.
type fatalError struct{ error }

func fatal(err error) error {
	if err == nil {
		return nil
	}
	return &fatalError{short(err)}
}

// record reads a record, whichever of the two formats it is of; they don't mix, but
// to ask costs nothing. It returns the beginning of the record.
func (w *warcReader) record() (string, error) {
	if err := w.skipBlank(); err == io.EOF {
		return "", err
	} else if err != nil {
		return "", fatal(err)
	}
	w.number++
	w.header, w.offset = 0, w.f.Place()
	line, err := w.headerLine()
	switch {
	case err != nil:
		return line, fatal(err)
	case strings.HasPrefix(line, "WARC/"):
		return line, w.warcRecord()
	}
	return line, w.arc(line)
}

// skipBlank passes the empty lines between records, and the byte-order mark of a file, also of one that was appended.
func (w *warcReader) skipBlank() error {
	for {
		c, err := w.r.Peek(1)
		if err != nil {
			return err
		}
		if c[0] != '\r' && c[0] != '\n' {
			if c, _ = w.r.Peek(len(byteOrderMark)); string(c) != byteOrderMark {
				return nil
			}
		}
		_, _ = w.r.Discard(len(c))
	}
}

// headerLine reads a line of a header, without its end. Where a header is too long
// there is no telling where the record ends, so the file can't be read on.
func (w *warcReader) headerLine() (string, error) {
	var long []byte
	for {
		part, err := w.r.ReadSlice('\n')
		if w.header += len(part); w.header > maxWARCHeader {
			return "", fmt.Errorf("got a header of more than %d bytes in record %d", maxWARCHeader, w.number)
		}
		if err == nil && long == nil {
			return strings.TrimRight(string(part), "\r\n"), nil
		}
		long = append(long, part...)
		switch {
		case err == nil:
			return strings.TrimRight(string(long), "\r\n"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		}
	}
}

// warcHeader has the fields of the header of a record.
type warcHeader struct {
	kind, date, digest, contentType string
	uri                             []byte
	others                          bool // there are more fields with a URI, and of another
	length                          int64
}

func (w *warcReader) warcRecord() error {
	h := warcHeader{length: -1}
	last := ""
	for {
		line, err := w.headerLine()
		if err != nil {
			return fatal(err)
		}
		if line == "" {
			break
		}
		if line[0] == ' ' || line[0] == '\t' { // folded
			h.set(last, strings.TrimSpace(line))
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		last = name
		if value = strings.TrimSpace(value); h.uri != nil && strings.EqualFold(name, "WARC-Target-URI") { // not a folded one
			h.others = h.others || bareURI(value) != string(h.uri)
			last = ""
			continue
		}
		h.set(name, value)
	}
	if h.length < 0 {
		return fatal(errors.New("got a record without a Content-Length"))
	}
	block := &io.LimitedReader{R: w.r, N: h.length}
	result := w.capture(h, block)
	if err := w.pass(block); err != nil {
		return err
	}
	return result
}

// pass reads to the end of a block.
func (w *warcReader) pass(block *io.LimitedReader) error {
	for block.N > 0 {
		n, err := w.r.Discard(int(min(block.N, 1<<30)))
		block.N -= int64(n)
		if err != nil {
			return fatal(err)
		}
	}
	return nil
}

func (h *warcHeader) set(name, value string) {
	switch {
	case strings.EqualFold(name, "WARC-Type"):
		h.kind = value
	case strings.EqualFold(name, "WARC-Target-URI"):
		h.uri = append(h.uri, bareURI(value)...)
	case strings.EqualFold(name, "WARC-Date"):
		h.date = value
	case strings.EqualFold(name, "WARC-Payload-Digest"):
		h.digest = value
	case strings.EqualFold(name, "Content-Type"):
		h.contentType = value
	case strings.EqualFold(name, "Content-Length"):
		h.length = number(value)
	}
}

// bareURI cuts the brackets that wget writes.
func bareURI(value string) string { return strings.TrimSuffix(strings.TrimPrefix(value, "<"), ">") }

// capture makes a record of captures. Requests repeat the URL of their response; warcinfo is of no URL; the
// conversions of WET files are the text of a page that was fetched. The digest is the payload's, never the block's: wget
// writes the digest of an empty block for revisits.
func (w *warcReader) capture(h warcHeader, block io.Reader) error {
	r := Record{URL: string(h.uri), Time: layoutTime(time.RFC3339Nano, h.date), Digest: bareDigest(h.digest), Length: h.length}
	switch h.kind {
	case "response", "resource", "conversion":
		r.Kind = kindOf(r.URL, Fetch)
	case "revisit":
		r.Kind = kindOf(r.URL, Revisit)
	case "metadata":
		if strings.HasPrefix(h.contentType, "application/json") {
			return w.wat(block)
		}
		if w.links {
			return w.outlinks(r, block)
		}
		return other(aMetadata)
	default:
		return other(ofKind + h.kind[:min(len(h.kind), 20)])
	}
	switch {
	case w.links:
		return other("a capture, not its links")
	case r.URL == "":
		return bad("got a %s record without a URI", h.kind)
	case h.others:
		return bad("got a %s record with two URIs", h.kind)
	case strings.HasPrefix(h.contentType, "application/http"):
		readHTTP(&r, block, w.opt.Declared)
	default:
		r.MIME = h.contentType
	}
	w.emit(r)
	return nil
}

// readHTTP reads the head of an HTTP message: its status, type and location. What is
// no HTTP leaves the record as it is. With declare it also reads what the response declares.
func readHTTP(r *Record, block io.Reader, declare bool) {
	limited := &io.LimitedReader{R: block, N: maxHTTPHeader}
	head := bufio.NewReaderSize(limited, 4<<10)
	var header map[string][]string
	if declare {
		header = map[string][]string{}
	}
	line, _ := head.ReadSlice('\n')
	version, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok || !bytes.HasPrefix(version, []byte("HTTP/")) {
		return
	}
	code, _, _ := bytes.Cut(bytes.TrimRight(rest, "\r\n"), []byte(" "))
	if r.Kind == Link { // the header of an ARC record had no status
		r.Kind = Fetch
	}
	r.answered(string(code))
	for {
		line, err := head.ReadSlice('\n')
		name, value, ok := bytes.Cut(line, []byte(":"))
		if err == nil && declare && len(bytes.TrimSpace(line)) == 0 {
			limited.N = maxEntity
			readDeclared(r, header, head)
		}
		if err != nil || !ok {
			return
		}
		if declare {
			key := http.CanonicalHeaderKey(string(name))
			header[key] = append(header[key], string(bytes.TrimSpace(value)))
		}
		switch {
		case bytes.EqualFold(name, []byte("Content-Type")):
			kind, _, _ := strings.Cut(string(bytes.TrimSpace(value)), ";")
			r.MIME = strings.TrimSpace(kind)
		case bytes.EqualFold(name, []byte("Location")):
			r.Redirect = string(bytes.TrimSpace(value))
		}
	}
}

// maxOutlink bounds a line of outlinks in bytes.
const maxOutlink = 1 << 20

// Reasons of records that archives have beside captures.
const (
	aMetadata = "a metadata record"
	ofKind    = "a record of kind "
)

// outlinks reads what Heritrix writes of a page: lines "outlink: url hop context". It
// returns an error, after all links, if some line was too long.
func (w *warcReader) outlinks(page Record, block io.Reader) error {
	in := bufio.NewReaderSize(block, 4<<10)
	found := false
	var problem error
	for {
		line, tooLong, err := ReadLine(in, maxOutlink)
		if tooLong > 0 {
			problem = bad("got an outlink of %d bytes; want at most %d", tooLong, maxOutlink)
		} else if link, ok := bytes.CutPrefix(line, []byte("outlink: ")); ok {
			if fields := strings.Fields(string(link)); len(fields) > 0 {
				found = true
				w.emit(Record{URL: fields[0], Kind: Link, Time: page.Time, Via: page.URL})
			}
		}
		if err != nil || w.stopped {
			break
		}
	}
	if problem == nil && !found {
		return other("a metadata record without links")
	}
	return problem
}
