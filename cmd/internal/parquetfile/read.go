// Package parquetfile writes files of URLs, and reads the columns of a Parquet file that describe captures, in bounded
// memory: it checks the sizes in the file before parquet-go decodes it.
package parquetfile

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// Options choose what is read. The zero value is fine.
type Options struct {
	// Names returns which columns of a file can be each of those that are read, the likelier first. The default is those of Common Crawl's index.
	Names func(columns []string) [Columns][]string
	// URLColumn names the column of the URL. The default is what Names says.
	URLColumn string
	// Fields are further columns, whose values are in [Row.Fields]: texts, numbers, and times as RFC 3339 has them. The default is none.
	Fields []string
	// Must are those of Fields that a file must have. The default is none.
	Must []string
	// OnlyURLs reads no other columns than that of the URL and Fields. The default is to read all that a Row has.
	OnlyURLs bool
}

// A Row is what a file has of one capture. Fields the file doesn't have are zero.
type Row struct {
	URL                    []byte // until the next row
	Time                   time.Time
	TimeText               string // a time that the file has as text or number
	Status                 int
	Digest, MIME, Redirect string
	Length                 int64
	Fetched                bool     // the file has a column of statuses
	Fields                 []string // values of the columns that the caller named; "" where the file has none
}

// ErrNoURL is the error of a row without a URL, or with one of more than 1 MiB. The rows
// after it can be read.
var ErrNoURL = errors.New("got no URL of at most 1 MiB")

// The columns that are read. Only the first must be there.
const (
	URL = iota
	Time
	Status
	Digest
	MIME
	Redirect
	Length
	Columns
)

// commonCrawl are their names in Common Crawl's columnar index ("Index to WARC files and URLs in columnar format").
var commonCrawl = [Columns]string{"url", "fetch_time", "fetch_status", "content_digest", "content_mime_detected", "fetch_redirect", "warc_record_length"}

// Read reads the rows of a file of size bytes and calls yield for each, with its number from 1,
// until yield returns false. The error says why no more rows can be read.
//
// It takes memory for a page of each column that it reads, packed and unpacked, and for its dictionary, which have at most 64 MiB each
// (writers make them of 1 MiB), for 9 bytes a value of a page, at most 4 M of them, and for a footer of at most 64 MiB.
func Read(in io.ReaderAt, size int64, opt Options, yield func(number int64, row *Row, err error) bool) (err error) {
	r := &reader{in: in, opt: opt, yield: yield}
	defer func() {
		if p := recover(); p != nil { // the library, on what checks can't find
			err = fmt.Errorf("%w (%v)", errBroken, p)
		}
	}()
	return r.read(size)
}

type reader struct {
	in      io.ReaderAt
	opt     Options
	yield   func(int64, *Row, error) bool
	number  int64
	row     Row
	stopped bool
	column  []*column // the columns above, and then one for each of Options.Fields; nil where the file has none
	more    bool      // there are others than that of the URL
}

func (r *reader) read(size int64) error {
	if err := checkFooter(r.in, size); err != nil {
		return err
	}
	file, err := parquet.OpenFile(r.in, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	if err := r.findColumns(file); err != nil {
		return err
	}
	meta := file.Metadata()
	for i, group := range file.RowGroups() {
		if err := r.group(group.NumRows(), &meta.RowGroups[i]); err != nil || r.stopped {
			return err
		}
	}
	return nil
}

// findColumns finds the columns by name.
func (r *reader) findColumns(file *parquet.File) error {
	var names []string
	for _, field := range file.Schema().Fields() {
		names = append(names, field.Name())
	}
	var named [Columns][]string
	if r.opt.Names != nil {
		named = r.opt.Names(names)
	} else {
		for i, name := range commonCrawl {
			named[i] = []string{name}
		}
	}
	wanted := slices.Clone(named[:]) // the names of each in the file
	if r.opt.OnlyURLs {
		clear(wanted[URL+1:])
	}
	if r.opt.URLColumn != "" {
		wanted[URL] = []string{r.opt.URLColumn}
	}
	for _, name := range r.opt.Fields {
		wanted = append(wanted, []string{name})
	}
	r.column = make([]*column, len(wanted))
	for i, names := range wanted {
		for _, name := range names {
			leaf, ok := file.Schema().Lookup(name)
			if !ok && strings.Contains(name, ".") {
				leaf, ok = file.Schema().Lookup(strings.Split(name, ".")...)
			}
			if !ok || r.column[i] != nil {
				continue
			}
			if leaf.MaxRepetitionLevel > 0 || leaf.MaxDefinitionLevel > math.MaxUint8 {
				if i != URL && i < Columns {
					continue // which nobody named
				}
				return fmt.Errorf("got a column %q of lists, or deeper than %d groups; want one value a row", name, math.MaxUint8)
			}
			r.column[i] = &column{index: leaf.ColumnIndex, max: byte(leaf.MaxDefinitionLevel), kind: leaf.Node.Type(), unit: timeUnit(leaf.Node.Type())}
			r.more = r.more || i != URL
		}
	}
	names = names[:min(len(names), 50)]
	if r.column[URL] == nil {
		return fmt.Errorf("got columns %q; want one that is named url, or --url-field", names)
	}
	for i, name := range r.opt.Fields {
		if r.column[Columns+i] == nil && slices.Contains(r.opt.Must, name) {
			return fmt.Errorf("got no column %q; its columns are %q", name, names)
		}
	}
	r.row.Fetched = r.column[Status] != nil
	return nil
}

const day = 24 * time.Hour

// timeUnit is the unit of a column of times or dates; 0 of another one.
func timeUnit(t parquet.Type) time.Duration {
	if l := t.LogicalType(); l != nil {
		switch l := l.Value.(type) {
		case *format.TimestampType:
			if l.Unit.Value != nil {
				return l.Unit.Value.Duration()
			}
		case *format.DateType:
			return day
		}
	}
	return 0
}

// group reads the rows of a row group.
func (r *reader) group(rows int64, meta *format.RowGroup) (err error) {
	for _, c := range r.column {
		if c == nil {
			continue
		}
		if c.index >= len(meta.Columns) {
			return errors.New("got a row group with fewer columns than the schema")
		}
		if err := c.open(r.in, &meta.Columns[c.index].MetaData); err != nil {
			return err
		}
	}
	row := make([]parquet.Value, len(r.column))
	for range rows {
		r.number++
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
	for _, c := range r.column {
		if c != nil {
			if err := c.ended(); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxText bounds a URL, and every other text, in bytes.
const maxText = 1 << 20

func (r *reader) emit(row []parquet.Value) bool {
	url := bytesOf(row[URL])
	if len(url) == 0 {
		return r.yield(r.number, nil, ErrNoURL)
	}
	if r.row.URL = url; !r.more {
		return r.yield(r.number, &r.row, nil)
	}
	r.row = Row{URL: url, Status: int(integer(row[Status])), Length: integer(row[Length]), Digest: r.column[Digest].text(row[Digest]),
		MIME: text(row[MIME]), Redirect: text(row[Redirect]), Fetched: r.row.Fetched}
	if c := r.column[Time]; c != nil {
		if r.row.Time = c.time(row[Time]); r.row.Time.IsZero() {
			r.row.TimeText = c.text(row[Time])
		}
	}
	for i := range r.opt.Fields {
		r.row.Fields = append(r.row.Fields, r.column[Columns+i].text(row[Columns+i]))
	}
	return r.yield(r.number, &r.row, nil)
}

// bytesOf returns a text that is short enough.
func bytesOf(v parquet.Value) []byte {
	if v.IsNull() || v.Kind() != parquet.ByteArray || len(v.ByteArray()) > maxText {
		return nil
	}
	return v.ByteArray()
}

func text(v parquet.Value) string { return string(bytesOf(v)) }

// whole cuts what is behind the point; 0 for what no integer can be.
func whole(f float64) int64 {
	if math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return 0
}

func integer(v parquet.Value) int64 {
	switch v.Kind() {
	case parquet.Int32:
		return int64(v.Int32())
	case parquet.Int64:
		return v.Int64()
	case parquet.Float:
		return whole(float64(v.Float()))
	case parquet.Double:
		return whole(v.Double())
	case parquet.ByteArray: // "200", or "404 Not Found"
		s := text(v)
		n, _ := strconv.ParseInt(s[:len(s)-len(strings.TrimLeft(s, "0123456789"))], 10, 64) // 0 where there is none
		return n
	}
	return 0
}
