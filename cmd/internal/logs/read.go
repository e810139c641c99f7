package logs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/firstseen/firstseen/internal/fault"
)

// Options modify reading. The zero value is fine.
type Options struct {
	// Format is the format to read. The default is to detect it.
	Format Format
	// Flag is what messages call the flag that sets Format. The default is "--format".
	Flag string
	// Base is the scheme and host for access logs that have only paths, such as
	// "http://example.com". The default is DefaultBase.
	Base string
	// NeedHost refuses what has only a path if Base is not given. The default is to put DefaultBase before it: that counts
	// pages of a site well, and is no URL to keep or to fetch.
	NeedHost bool
	// Scheme is put before hosts of lists and tables that have none, such as "https". The default is to refuse them.
	Scheme string
	// URLField is what holds the URL: a field of JSON objects, with dots between the names of nested ones,
	// or a column of a table or Parquet file, by its name or, of a table, its number from 1. Of several names, with commas between them,
	// the first that is there counts. The default is "url", or what the program that made the log calls it.
	URLField string
	// Fields are what [Record.Fields] has: columns and fields, named as URLField names one, elements of an entry of a sitemap
	// (lastmod, changefreq, priority), and what any record knows (timestamp, status, digest, mime, length, redirect, referrer).
	// A field that is not one value is its JSON. The default is none.
	Fields []string
	// Must are the Fields that a table or Parquet file has to have. Other formats do not declare their fields.
	// The default is none.
	Must []string
	// Events chooses the records. The default is all, also those of kind Other.
	Events Choice
	// OnlyURLs says that of a record no more is asked for than its URL, its place and Fields, so that formats that keep these apart
	// need not read the rest. The default is to read all.
	OnlyURLs bool
	// Declared asks for what the responses in WARC and ARC files declare of their URLs.
	Declared bool
	// Refused asks for all refusals, with up to 64 KiB of each unit. The default is the first 20 of a batch, with 200 bytes.
	Refused bool
	// Zero reads a list that has NULs as one whose lines end with NUL.
	Zero bool
}

// urlFields are the names in URLField; the whole comes first, since a name can have a comma.
func (o *Options) urlFields() []string {
	return append([]string{o.URLField}, strings.Split(o.URLField, ",")...)
}

// Choice selects records by their kind.
type Choice string

// The choices. Auto selects fetches if a log of fetches also lists URLs that were only found
// (Heritrix), and otherwise all records of URLs.
const (
	Auto    Choice = "auto"
	All     Choice = "all"
	Fetches Choice = "fetches"
	Links   Choice = "links"
)

// takes reports whether a record of a kind is chosen.
func (c Choice) takes(format Format, kind Kind) bool {
	link := kind == Link || kind == Listed
	switch {
	case c == "":
		return true
	case kind == Other:
		return false
	case c == Fetches || c == Auto && format == Heritrix:
		return !link
	case c == Links:
		return link
	}
	return true
}

// ErrFormat means that a file is of no format that can be read, that it could be of two, or that nothing of it
// could be read.
var ErrFormat = errors.New("unknown format")

// DefaultBase stands for the host that an access log doesn't name.
const DefaultBase = "http://host.invalid"

// Counts account for the units of a file. A unit is a line of text, a row of Parquet, an entry of a JSON
// document, a location of XML, or a record of an archive. Each is one of:
//
//	Units = Read + Blank + Headers + Comments + Refused + Other
//
// A unit may give several URLs. Lines that belong to the record of another line are read, too.
type Counts struct {
	Units    int64 `json:"units"`
	Read     int64 `json:"read"`
	Blank    int64 `json:"blank"`
	Headers  int64 `json:"headers"`
	Comments int64 `json:"comments"`
	Refused  int64 `json:"refused"` // the format does not explain it
	Other    int64 `json:"other"`   // of the format, without a URL that was asked for
	// The reasons, without their details.
	RefusedFor map[string]int64 `json:"refused_for,omitempty"`
	OtherFor   map[string]int64 `json:"other_for,omitempty"`
	// Cut counts lines from which something around the URL was removed, by what was removed.
	Cut map[string]int64 `json:"cut,omitempty"`
	// Assumed counts requests to a host of which nothing said whether it is http or https: http was assumed.
	Assumed int64 `json:"assumed_http,omitempty"`
	// NotUTF8 means that some lines are not UTF-8. They are read as the bytes that they are.
	NotUTF8 bool `json:"not_utf8,omitempty"`
	// Examples are the first units that were refused or have no URL, with the reason.
	Examples []string `json:"-"`
}

// Lost reports whether most units gave no URL, those aside that [Options.Events] left out, and what archives have beside captures: perhaps
// the file was misread.
func (c *Counts) Lost() bool {
	lost := c.Refused + c.Other
	for reason, n := range c.OtherFor {
		if strings.HasPrefix(reason, leftOut) || strings.HasPrefix(reason, ofKind) || reason == aMetadata {
			lost -= n
		}
	}
	return 2*lost > c.Units-c.Blank
}

// leftOut is the prefix of the reason for records that Options.Events excludes.
const leftOut = "left out by --events: "

func (c *Counts) example(r Refusal) {
	if len(c.Examples) < 3 {
		c.Examples = append(c.Examples, r.Example())
	}
}

// Skipped is the number of units without a URL that are in order.
func (c *Counts) Skipped() int64 { return c.Headers + c.Comments + c.Other }

// Add adds the counts of a further part.
func (c *Counts) Add(p *Counts) {
	c.Units, c.Read, c.Blank, c.Headers = c.Units+p.Units, c.Read+p.Read, c.Blank+p.Blank, c.Headers+p.Headers
	c.Comments, c.Refused, c.Other = c.Comments+p.Comments, c.Refused+p.Refused, c.Other+p.Other
	c.Assumed, c.NotUTF8 = c.Assumed+p.Assumed, c.NotUTF8 || p.NotUTF8
	c.Examples = append(c.Examples, p.Examples[:min(len(p.Examples), 3-len(c.Examples))]...)
	for to, from := range map[*map[string]int64]map[string]int64{&c.RefusedFor: p.RefusedFor, &c.OtherFor: p.OtherFor, &c.Cut: p.Cut} {
		for reason, n := range from {
			CountReason(to, reason, n)
		}
	}
}

// Reject counts lines of a plain list that Check refused after they were counted as read.
func (c *Counts) Reject(n int64) {
	if n > 0 {
		c.Read, c.Refused = c.Read-n, c.Refused+n
		CountReason(&c.RefusedFor, "no URL alone in a line, or a quote that is not closed", n)
	}
}

// mostReasons limits the number of distinct reasons.
const mostReasons = 20

// CountReason counts n units, as one of "further reasons" if there are many already.
func CountReason(m *map[string]int64, reason string, n int64) {
	if *m == nil {
		*m = map[string]int64{}
	}
	if _, ok := (*m)[reason]; !ok && len(*m) >= mostReasons {
		reason = "further reasons"
	}
	(*m)[reason] += n
}

// refuse counts a refused unit by its reason.
func (c *Counts) refuse(err error) {
	c.Refused++
	CountReason(&c.RefusedFor, Reason(err), 1)
}

// Reason is the text of an error without quoted text and numbers.
func Reason(err error) string { return details.ReplaceAllString(err.Error(), "N") }

// details of a reason are what differs from line to line.
var details = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\d+`)

// An outcome is the error of a unit that is in order, and has no URL: the reason.
type outcome struct{ reason string }

func (o *outcome) Error() string { return o.reason }

// The outcomes of units that need no reason.
var (
	isBlankLine = &outcome{"blank"}
	isHeader    = &outcome{"a header"}
	isComment   = &outcome{"a comment"}
)

// other is the outcome of a unit that belongs to the format and has no URL.
func other(reason string) error { return &outcome{reason} }

// A Refusal is a unit that can't be read.
type Refusal struct {
	Line, Offset int64  // as those of Record
	Member       string // of a WACZ
	Text         string // its beginning
	Err          error
	unit         string // what Line counts: "" for lines
}

func (r Refusal) Error() string {
	switch {
	case r.Member != "":
		return fmt.Sprintf("record %d of %s, at byte %d: %v", r.Line, r.Member, r.Offset, r.Err)
	case r.unit == "record":
		return fmt.Sprintf("record %d, at byte %d: %v", r.Line, r.Offset, r.Err)
	}
	return fmt.Sprintf("%s %d: %v", cmp.Or(r.unit, "line"), r.Line, r.Err)
}

// Example is the error with what there is of the unit.
func (r Refusal) Example() string {
	if r.Text == "" {
		return r.Error()
	}
	return fmt.Sprintf("%v: %.100q", r, r.Text)
}

// A Batch is a run of units of one file. It belongs to its receiver.
type Batch struct {
	Format Format
	// Member is the file of a WACZ that all of it is of.
	Member string
	// Records are in the order of the file.
	Records []Record
	// Text has whole lines of a plain list, or the URLs of rows, instead of Records: for Each.
	Text   []byte
	Counts Counts
	// Refusals are refused units: the first, or all with Options.Refused.
	Refusals []Refusal

	first   int64 // number of the first line of Text
	rows    []row // instead of lines
	end     byte  // ends a line of Text
	refused bool  // Options.Refused
	obeyed  bool  // the format was asked for, so a line is a URL whatever it holds
	block   *block
	left    string // why no record of the unit was taken
	bytes   int
	emitted int  // records of the unit
	answers bool // a refused unit contains a status
	// hostless means that a record of the unit was not taken, since it has no host.
	hostless bool
}

// A row is where a URL in Text ends, and its number.
type row struct {
	end    uint32
	number int64
}

// mostRefusals is how many refusals a batch keeps without Options.Refused.
const mostRefusals = 20

// recordRoom pools the memory of released records: a batch has half a megabyte, and allocating it takes longer than filling it.
var recordRoom = sync.Pool{New: func() any { return new([]Record) }}

// Release frees the memory of Text and Records, which are not valid afterwards.
func (b *Batch) Release() {
	if b.block != nil {
		b.block.release()
		b.block, b.Text = nil, nil
	}
	if records := b.Records; cap(records) > 0 && cap(records) <= 2*batchRecords {
		clear(records) // of texts
		recordRoom.Put(&records)
	}
	b.Records = nil
}

// First is the number of the first line of Text.
func (b *Batch) First() int64 { return b.first }

// Len is the number of records, or of lines of Text, that the batch has at most.
func (b *Batch) Len() int {
	if b.block != nil {
		return int(b.block.lines)
	}
	return len(b.Records)
}

// Each calls f with each line of Text that may be a URL, and its number, and counts the lines. It must be called once. The
// lines are parts of Text.
func (b *Batch) Each(f func(line []byte, number int64)) {
	start := uint32(0)
	for _, r := range b.rows { // which were counted
		f(b.Text[start:r.end], r.number)
		start = r.end
	}
	if b.rows != nil {
		return
	}
	var line []byte
	number, c := b.first, &b.Counts
	for text := b.Text; len(text) > 0; number++ { // not by splitLines: a second call for each line costs a tenth of uniq
		line, text = cutLineEnd(text, b.end)
		if len(line) > 0 && line[0] == byteOrderMark[0] {
			line = bytes.TrimPrefix(line, []byte(byteOrderMark)) // of a file that was appended
		}
		switch {
		case len(line) == 0 || line[0] <= ' ' && isBlank(line):
			c.Blank++
			continue
		case line[0] == '#' && !b.obeyed:
			c.Comments++
			continue
		}
		c.Read++
		f(line, number)
	}
	c.Units += number - b.first
}

// Check returns the URL of a line of Text, a part of it, and the status beside it, or why there can't be one although a canonicalizer may take it.
func (b *Batch) Check(line []byte) (url []byte, status int, err error) {
	if n := len(line); n > 0 && (line[0] <= ' ' || line[n-1] <= ' ') { // Trim alone takes some percent of uniq
		line = bytes.Trim(line, blanks)
	}
	switch {
	case b.rows != nil:
		return line, 0, nil
	case bytes.IndexByte(line, 0) >= 0 && b.end != 0:
		return line, 0, errNUL
	case b.obeyed:
		return line, 0, nil
	}
	return plainLine(line)
}

// blanks around a URL are no part of it.
const blanks = " \t"

// plainLine reads a line of a list most of whose lines have only a URL.
func plainLine(line []byte) (url []byte, status int, err error) {
	if bytes.IndexByte(line, ' ') > 0 || bytes.IndexByte(line, '\t') > 0 {
		if url, code := cutStatus(line); code != "" {
			return url, int(number(code)), nil
		}
		if isTacked(string(line)) {
			return line, 0, errTacked
		}
		if bytes.Contains(line, []byte(" #")) {
			return line, 0, errNote
		}
	}
	if bytes.IndexByte(line, '"') > 0 && quotedCell.Match(line) {
		return line, 0, errCells
	}
	return line, 0, nil
}

func (b *Batch) refuse(r Refusal) {
	b.Counts.refuse(r.Err)
	b.Counts.example(r)
	b.answers = b.answers || (b.Format == List || b.Format == Table) && saysAnswer(r.Text)
	if b.refused || len(b.Refusals) < mostRefusals {
		b.Refusals = append(b.Refusals, r)
		b.bytes += len(r.Text)
	}
}

// All returns the records, also of plain lists.
func (b *Batch) All() iter.Seq[Record] {
	return func(yield func(Record) bool) {
		b.Each(func(line []byte, number int64) {
			url, status, err := b.Check(line)
			if err != nil {
				b.Counts.Read--
				b.refuse(Refusal{Line: number, Text: string(line[:min(len(line), 200)]), Err: err})
				return
			}
			r := Record{URL: string(url), Kind: Listed, Status: status, Line: number}
			if status != 0 {
				r.Kind = Fetch
			}
			b.Records = append(b.Records, r)
		})
		b.Text = nil
		for _, r := range b.Records {
			if !yield(r) {
				return
			}
		}
	}
}

// A batch is handed on at so many records, bytes of URLs, or units without one.
const (
	batchRecords = 2 << 10
	batchText    = 512 << 10
	batchUnits   = 64 << 10
)

// sink gathers the records of a file into batches, and accounts for its units. One goroutine uses it.
type sink struct {
	opt     Options
	format  Format
	yield   func(*Batch, error) bool
	b       *Batch
	total   Counts
	gave    bool         // there was a record
	left    bool         // records were left out by Events
	stopped bool         // yield was false
	take    func(Record) // emit, for parsers: to make it of the method for each line costs an allocation
	number  int64
	held    []string // lines of an unfinished table row
	offset  int64    // where the archive record begins that is read
	member  string   // of a WACZ
	units   string   // what number counts: "" for lines
}

// Read returns the records of a file in batches. The sequence ends with the file or with the first error. A unit
// that can't be read is no error: it is counted, and reading continues after it, because a
// long log nearly always has a damaged line.
func Read(f *File, opt Options) iter.Seq2[*Batch, error] {
	if opt.Flag == "" {
		opt.Flag = "--format"
	}
	opt.Base = cmp.Or(opt.Base, DefaultBase)
	if scheme, rest, ok := strings.Cut(opt.Base, "://"); ok { // its path is no part of URLs
		host, _, _ := strings.Cut(rest, "/")
		opt.Base = scheme + "://" + host
	}
	return func(yield func(*Batch, error) bool) {
		s := &sink{opt: opt, yield: yield}
		s.take = s.emit
		s.begin()
		err := s.file(f)
		if s.stopped || !s.flush() {
			return
		}
		if t := &s.total; err == nil && !s.gave && !s.left && s.format != "" && (t.Refused > 0 || t.Units == 0 && (s.format == Sitemap || s.format == Burp)) { // XML of something else is detected, too; another file may have no rows
			err = s.nothing(f.Name)
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// file reads a file of any format.
func (s *sink) file(f *File) error {
	how, err := detect(f, &s.opt)
	if err != nil {
		return err
	}
	s.format, s.b.Format = how.format, how.format
	switch s.format {
	case WARC, ARC:
		return s.warc(f)
	case Sitemap, Burp:
		return s.xml(f)
	case WACZ:
		return s.wacz(f)
	case Parquet:
		return s.parquet(f)
	}
	switch {
	case how.document:
		return s.document(f)
	case how.parser == nil && how.table == nil:
		return s.plain(f, how)
	}
	return s.lines(f, how)
}

// nothing is the error of a file without any URL.
func (s *sink) nothing(name string) error {
	var reasons []string
	for _, m := range []map[string]int64{s.total.RefusedFor, s.total.OtherFor} {
		reasons = append(reasons, slices.Sorted(maps.Keys(m))...)
	}
	why := ""
	if len(reasons) > 0 {
		why = " (" + strings.Join(reasons[:min(3, len(reasons))], "; ") + ")"
	}
	return fault.As(ErrFormat, "cannot read %s; got no URL; it was read as %s: %d refused, %d without one%s", name, s.format, s.total.Refused, s.total.Skipped(), why)
}

func (s *sink) begin() {
	s.b = &Batch{Format: s.format, Member: s.member, refused: s.opt.Refused, Records: (*recordRoom.Get().(*[]Record))[:0]}
}

// flush hands the batch on, and reports whether the caller still reads.
func (s *sink) flush() bool {
	b := s.b
	s.total.Add(&b.Counts)
	s.begin()
	if s.stopped || b.Counts.Units == 0 && len(b.Text) == 0 && len(b.Records) == 0 { // the end of a log can give a record of lines that were counted
		return !s.stopped
	}
	s.stopped = !s.yield(b, nil)
	return !s.stopped
}

// emit adds a record of the unit that is read.
func (s *sink) emit(r Record) {
	r.URL = strings.Trim(r.URL, blanks)
	if r.Line <= 0 { // of a line, or of one so many before it
		r.Line, r.Offset = r.Line+s.number, s.offset
	}
	if s.opt.NeedHost && strings.HasPrefix(r.URL, DefaultBase+"/") {
		s.b.hostless = true
		return
	}
	if !s.opt.Events.takes(s.format, r.Kind) {
		if s.b.left = "no request to a web server"; r.Kind != Other {
			s.b.left = leftOut + "a " + r.Kind.String()
			s.left = true
		}
		return
	}
	for i, name := range s.opt.Fields {
		if r.Fields == nil {
			r.Fields = make([]string, len(s.opt.Fields))
		}
		if r.Fields[i] == "" {
			r.Fields[i] = r.field(name)
		}
	}
	if r.assumed {
		s.b.Counts.Assumed++
	}
	s.b.Records = append(s.b.Records, r)
	s.b.bytes += len(r.URL)
	s.b.emitted++
	s.gave = true
}

// url adds the URL of a row, of which no more is asked for.
func (s *sink) url(url []byte) {
	if s.b.block != nil && len(s.b.Text)+len(url) > blockSize {
		s.flush()
	}
	b := s.b
	if b.block == nil {
		b.block = &block{buf: buffers.Get().(*[]byte)}
		b.Text = (*b.block.buf)[:0]
	}
	b.Text = append(b.Text, url...)
	b.rows = append(b.rows, row{uint32(len(b.Text)), s.number})
	b.block.lines++
	b.bytes += len(url)
	b.emitted++
	s.gave = true
}

var errHostless = bad("got a path and no host; name it with --base")

// unit ends a unit: it counts it by the records it gave, or by its error.
func (s *sink) unit(err error, text string) {
	b, c := s.b, &s.b.Counts
	c.Units++
	switch {
	case err == nil && b.hostless:
		err = errHostless
	case err == nil && b.emitted == 0 && b.left != "":
		err = other(b.left)
	}
	b.left, b.emitted, b.hostless = "", 0, false
	shown := 200
	if s.opt.Refused {
		shown = 64 << 10
	}
	at := Refusal{Line: s.number, Offset: s.offset, Member: s.member, Text: text[:min(len(text), shown)], Err: err, unit: s.units}
	if s.format == WARC || s.format == ARC {
		at.unit = "record"
	}
	switch o, inOrder := err.(*outcome); {
	case err == nil:
		c.Read++
	case !inOrder:
		b.refuse(at)
	case o == isBlankLine:
		c.Blank++
	case o == isHeader:
		c.Headers++
	case o == isComment:
		c.Comments++
	default:
		c.Other++
		CountReason(&c.OtherFor, o.reason, 1)
		c.example(at)
	}
	if len(b.Records) >= batchRecords || b.bytes >= batchText || c.Units >= batchUnits {
		s.flush()
	}
}

// A parser reads a format line by line. It may hold lines back until a record is whole. The error of a
// line is an outcome, or says why it can't be read.
type parser interface {
	line(text string, emit func(Record)) error
	end(emit func(Record))
}

// atOnce is a parser that holds no lines back.
type atOnce struct{}

func (atOnce) end(func(Record)) {}

// pending is of a parser whose records have several lines.
type pending struct {
	r       Record
	started bool  // r is not whole
	number  int64 // of the line that is read
}

// begin starts a record, which ends the one before.
func (p *pending) begin(r Record, emit func(Record)) {
	p.end(emit)
	p.r, p.started = r, true
	p.r.Line = p.number
}

func (p *pending) end(emit func(Record)) {
	if p.started {
		p.started = false
		emit(p.r)
	}
}

// stateless is a parser of lines that are a record each.
type stateless func(text string, emit func(Record)) error

func (p stateless) line(text string, emit func(Record)) error { return p(text, emit) }
func (stateless) end(func(Record))                            {}

// lines reads a log of lines.
func (s *sink) lines(f *File, how *reading) error {
	if p, ok := how.parser.(*listParser); ok {
		p.cut = s.cut
	}
	for block, err := range blocks(f, how.end) {
		if err != nil {
			return fmt.Errorf("cannot read %s to its end: %w", f.Name, err)
		}
		if block.tooLong {
			s.number++
			s.unit(bad("got a line of more than %d bytes", len(block.text)), string(block.text[:200]))
		} else {
			s.b.Counts.NotUTF8 = s.b.Counts.NotUTF8 || !utf8.Valid(block.text)
			splitLines(string(block.text), how.end, func(line string) bool {
				s.line(how, line)
				return !s.stopped
			})
		}
		idle := block.idle
		block.release()
		if s.stopped || idle && !s.flush() {
			return nil
		}
	}
	for len(s.held) > 0 {
		s.row(how.table, true)
	}
	if how.parser != nil {
		how.parser.end(s.emit) // of lines that were counted
	}
	return nil
}

// row reads the row whose lines are held. Those that are no part of it are read again, from the first.
func (s *sink) row(t *tableParser, end bool) {
	lines, last := s.held, s.number
	s.number -= int64(len(lines) - 1) // a row is where it begins
	n, err := t.lines(lines, end, s.take)
	if n == 0 {
		s.number = last
		return
	}
	if s.held = nil; n == len(lines) { // nearly always: the next row can have their room
		s.held = lines[:0]
	}
	s.number--
	for i, line := range lines {
		s.number++
		switch {
		case i >= n:
			s.held = append(s.held, line)
			s.row(t, false)
		case i == n-1 || err == errOpenQuote:
			s.unit(err, line)
		default:
			s.b.Counts.Units++
			s.b.Counts.Read++ // with the last one
		}
	}
}

// line reads a line with what no format has in it: a byte-order mark of a file that was appended, colours of a
// terminal, NULs.
func (s *sink) line(how *reading, text string) {
	s.number++
	text = strings.TrimPrefix(text, byteOrderMark)
	if strings.IndexByte(text, 0) >= 0 {
		if strings.Trim(text, "\x00") == "" { // what a crash leaves at the end
			s.unit(isBlankLine, "")
			return
		}
		s.unit(errNUL, text)
		return
	}
	if strings.IndexByte(text, 0x1b) >= 0 {
		text = colours.ReplaceAllString(text, "")
		s.cut("colours")
	}
	if how.table != nil {
		s.held = append(s.held, text)
		s.row(how.table, false)
		return
	}
	s.unit(how.parser.line(text, s.take), text)
}

func (s *sink) cut(what string) { CountReason(&s.b.Counts.Cut, what, 1) }

// An Input is a named source of batches, such as a file that is opened when it is its turn. Open is called once, from a
// goroutine of its own; the sequence ends with its first error.
type Input struct {
	Name string
	Open func() iter.Seq2[*Batch, error]
}
