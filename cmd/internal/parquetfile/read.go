// Package parquetfile writes files of URLs, and reads the columns of a Parquet file that describe captures, in bounded
// memory: it checks the sizes in the file before parquet-go decodes it.
package parquetfile

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// A Row is what a file has of one capture. Fields the file doesn't have are zero.
type Row struct {
	URL                    string
	Time                   time.Time
	TimeText               string // a time that the file has as text
	Status                 int
	Digest, MIME, Redirect string
	Length                 int64
	Fetched                bool     // the file has a column of statuses
	Fields                 []string // values of the columns that the caller named; "" where the file has none
}

// ErrNoURL is the error of a row without a URL, or with one of more than 1 MiB. The rows
// after it can be read.
var ErrNoURL = errors.New("got no URL of at most 1 MiB")

// The columns that are read: those of Common Crawl's columnar index ("Index to WARC files
// and URLs in columnar format"), and others' names for the URL and the status. Only the first must be there.
const (
	columnURL = iota
	columnTime
	columnStatus
	columnDigest
	columnMIME
	columnRedirect
	columnLength
	columns
)

var columnNames = [columns][]string{
	{"url", "URL", "Url", "page_url", "pageUrl"}, {"fetch_time"}, {"fetch_status", "status_code", "statusCode", "http_status", "httpStatus", "http_code"}, {"content_digest"}, {"content_mime_detected", "content_mime_type"}, {"fetch_redirect"}, {"warc_record_length"},
}

// Read reads the rows of a file of size bytes and calls yield for each, with its number from 1,
// until yield returns false. urlColumn names the column of the URL; "" is "url". fields name further columns, whose values
// are in Row.Fields: texts, numbers, and times as RFC 3339 has them. A file must have those of them that are in must. The error says why no more rows can be read.
//
// It takes memory for a page of each column, at most 64 MiB unpacked each, and for an index
// of at most 64 MiB.
func Read(in io.ReaderAt, size int64, urlColumn string, fields, must []string, yield func(number int64, row *Row, err error) bool) (err error) {
	r := &reader{in: in, yield: yield, fields: fields}
	defer func() {
		if p := recover(); p != nil { // the library, on what checks can't find
			err = fmt.Errorf("%w (%v)", errBroken, p)
		}
	}()
	return r.read(size, urlColumn, must)
}

type reader struct {
	in      io.ReaderAt
	yield   func(int64, *Row, error) bool
	number  int64
	row     Row
	stopped bool
	fields  []string
	column  []*column // the columns above, and then one for each of fields; nil where the file has none
}

func (r *reader) read(size int64, urlColumn string, must []string) error {
	if err := checkFooter(r.in, size); err != nil {
		return err
	}
	file, err := parquet.OpenFile(r.in, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	if err := r.findColumns(file, urlColumn, must); err != nil {
		return err
	}
	meta := file.Metadata()
	for i, group := range file.RowGroups() {
		if err := r.group(group, &meta.RowGroups[i]); err != nil || r.stopped {
			return err
		}
	}
	return nil
}

// findColumns finds the columns by name. urlField, if there is one, names that of the URL; there must be those of the fields that are in must.
func (r *reader) findColumns(file *parquet.File, urlField string, must []string) error {
	wanted := slices.Clone(columnNames[:])
	for _, name := range r.fields {
		wanted = append(wanted, []string{name})
	}
	r.column = make([]*column, len(wanted))
	for i, names := range wanted {
		if i == columnURL && urlField != "" {
			names = []string{urlField}
		}
		for _, name := range names {
			leaf, ok := file.Schema().Lookup(name)
			if !ok && strings.Contains(name, ".") {
				leaf, ok = file.Schema().Lookup(strings.Split(name, ".")...)
			}
			if !ok || r.column[i] != nil {
				continue
			}
			if leaf.MaxRepetitionLevel > 0 || leaf.MaxDefinitionLevel > 1 {
				return fmt.Errorf("got a column %q of lists, or of parts that can be missing; want one value a row", name)
			}
			r.column[i] = &column{index: leaf.ColumnIndex, optional: leaf.MaxDefinitionLevel > 0, unit: timeUnit(leaf.Node.Type())}
		}
	}
	var names []string
	for _, field := range file.Schema().Fields() {
		names = append(names, field.Name())
	}
	names = names[:min(len(names), 50)]
	if r.column[columnURL] == nil {
		return fmt.Errorf("got columns %q; want one that is named url, or --url-field", names)
	}
	for i, name := range r.fields {
		if r.column[columns+i] == nil && slices.Contains(must, name) {
			return fmt.Errorf("got no column %q; its columns are %q", name, names)
		}
	}
	r.row.Fetched = r.column[columnStatus] != nil
	return nil
}

// timeUnit is the unit of a column of times; 0 of another one.
func timeUnit(t parquet.Type) time.Duration {
	if l := t.LogicalType(); l != nil {
		if stamp, ok := l.Value.(*format.TimestampType); ok && stamp.Unit.Value != nil {
			return stamp.Unit.Value.Duration()
		}
	}
	return 0
}

// group reads the rows of a row group.
func (r *reader) group(group parquet.RowGroup, meta *format.RowGroup) (err error) {
	chunks := group.ColumnChunks()
	for _, c := range r.column {
		if c == nil {
			continue
		}
		if c.index >= len(chunks) || c.index >= len(meta.Columns) {
			return errors.New("got a row group with fewer columns than the schema")
		}
		if err := checkChunk(r.in, &meta.Columns[c.index].MetaData, c.optional); err != nil {
			return err
		}
		c.open(chunks[c.index])
		defer func() { err = errors.Join(err, c.close()) }()
	}
	row := make([]parquet.Value, len(r.column))
	for range group.NumRows() {
		r.number++
		clear(row)
		for i, c := range r.column {
			if c == nil {
				continue
			}
			if row[i], err = c.next(); err != nil {
				return err
			}
		}
		if r.stopped = !r.emit(row); r.stopped {
			return nil
		}
	}
	return nil
}

// maxText bounds a URL, and every other text, in bytes.
const maxText = 1 << 20

func (r *reader) emit(row []parquet.Value) bool {
	url := text(row[columnURL])
	if url == "" {
		return r.yield(r.number, nil, ErrNoURL)
	}
	r.row = Row{URL: url, Status: int(integer(row[columnStatus])), Length: integer(row[columnLength]), Digest: text(row[columnDigest]),
		MIME: text(row[columnMIME]), Redirect: text(row[columnRedirect]), Fetched: r.row.Fetched}
	if c := r.column[columnTime]; c != nil {
		r.row.Time, r.row.TimeText = c.time(row[columnTime]), text(row[columnTime])
	}
	for i := range r.fields {
		r.row.Fields = append(r.row.Fields, r.column[columns+i].text(row[columns+i]))
	}
	return r.yield(r.number, &r.row, nil)
}

func text(v parquet.Value) string {
	if v.IsNull() || v.Kind() != parquet.ByteArray || len(v.ByteArray()) > maxText {
		return ""
	}
	return string(v.ByteArray())
}

func integer(v parquet.Value) int64 {
	switch v.Kind() {
	case parquet.Int32:
		return int64(v.Int32())
	case parquet.Int64:
		return v.Int64()
	case parquet.Double:
		return int64(v.Double())
	case parquet.ByteArray: // the index has had its statuses as text, too
		n, err := strconv.ParseInt(text(v), 10, 64)
		if err == nil {
			return n
		}
	}
	return 0
}

// column reads the values of a column, one a row.
type column struct {
	index    int
	optional bool
	unit     time.Duration
	pages    parquet.Pages
	page     parquet.Page
	values   parquet.ValueReader
	buf      [256]parquet.Value
	have     []parquet.Value // of buf
}

func (c *column) open(chunk parquet.ColumnChunk) {
	c.pages, c.page, c.values, c.have = chunk.Pages(), nil, nil, nil
}

func (c *column) close() error {
	if c.page != nil {
		parquet.Release(c.page)
	}
	if c.pages == nil {
		return nil
	}
	return c.pages.Close()
}

func (c *column) next() (parquet.Value, error) {
	for len(c.have) == 0 {
		if c.values == nil {
			if err := c.nextPage(); err != nil {
				return parquet.Value{}, err
			}
		}
		n, err := c.values.ReadValues(c.buf[:])
		c.have = c.buf[:n]
		switch {
		case err == io.EOF:
			c.values = nil
		case err != nil:
			return parquet.Value{}, err
		case n == 0:
			return parquet.Value{}, io.ErrNoProgress
		}
	}
	v := c.have[0]
	c.have = c.have[1:]
	return v, nil
}

func (c *column) nextPage() error {
	if c.page != nil {
		parquet.Release(c.page)
		c.page = nil
	}
	page, err := c.pages.ReadPage()
	if err != nil {
		return short(err)
	}
	c.page, c.values = page, page.Values()
	return nil
}

// text writes a value as text.
func (c *column) text(v parquet.Value) string {
	switch {
	case c == nil || v.IsNull():
		return ""
	case v.Kind() == parquet.ByteArray:
		return text(v)
	}
	if t := c.time(v); !t.IsZero() {
		return t.Format(time.RFC3339Nano)
	}
	return v.String()
}

// time reads a timestamp, or the 96 bits of Spark and Hive.
func (c *column) time(v parquet.Value) time.Time {
	switch v.Kind() {
	case parquet.Int64:
		n := v.Int64()
		if c.unit <= 0 {
			return time.Time{}
		}
		perSecond := int64(time.Second / c.unit)
		return time.Unix(n/perSecond, n%perSecond*int64(c.unit)).UTC()
	case parquet.Int96:
		const julianOfUnix = 2440588 // 1 January 1970
		i := v.Int96()
		return time.Unix((int64(i[2])-julianOfUnix)*86400, int64(uint64(i[1])<<32|uint64(i[0]))).UTC()
	}
	return time.Time{}
}

// short turns an end inside a file into an error.
func short(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
