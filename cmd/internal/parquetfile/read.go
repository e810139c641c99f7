// Package parquetfile writes files of URLs, and reads columns of a Parquet file, in bounded
// memory: it checks the sizes in the file before parquet-go decodes it.
package parquetfile

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// A Reader reads columns of one file. It takes memory for a page of each column that it reads, packed and unpacked, and for its dictionary,
// which have at most 64 MiB each (writers make them of 1 MiB), for 9 bytes a value of a page, at most 4 M of them, and for a footer of at most
// 64 MiB.
type Reader struct {
	in      io.ReaderAt
	file    *parquet.File
	columns []*column // those that are read
}

// NewReader returns a reader of a file of size bytes. It reads no column yet.
func NewReader(in io.ReaderAt, size int64) (r *Reader, err error) {
	defer caught(&err)
	if err := checkFooter(in, size); err != nil {
		return nil, err
	}
	file, err := parquet.OpenFile(in, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	return &Reader{in: in, file: file}, err
}

// caught turns a panic of the library, on what checks can't find, into an error.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w (%v)", errBroken, p)
	}
}

// Columns returns the names of the columns, and of the groups of columns.
func (r *Reader) Columns() (names []string) {
	for _, field := range r.file.Schema().Fields() {
		names = append(names, field.Name())
	}
	return names
}

// Column adds a column to those that are read, by its name, with dots behind the names of groups. It returns its place in a Row, -1 if the file
// has none of this name.
func (r *Reader) Column(name string) (place int, err error) {
	defer caught(&err)
	leaf, ok := r.file.Schema().Lookup(name)
	if !ok {
		leaf, ok = r.file.Schema().Lookup(strings.Split(name, ".")...)
	}
	switch {
	case !ok:
		return -1, nil
	case leaf.MaxRepetitionLevel > 0 || leaf.MaxDefinitionLevel > math.MaxUint8:
		return -1, fmt.Errorf("got a column %q of lists, or deeper than %d groups; want one value a row", name, math.MaxUint8)
	}
	r.columns = append(r.columns, &column{index: leaf.ColumnIndex, max: byte(leaf.MaxDefinitionLevel), kind: leaf.Node.Type(), unit: timeUnit(leaf.Node.Type())})
	return len(r.columns) - 1, nil
}

// A Row is what a file has in the columns that are read. It is valid until the next one.
type Row struct {
	columns []*column
	values  []parquet.Value
}

// maxText bounds a text in bytes.
const maxText = 1 << 20

// Bytes returns a text of at most 1 MiB; nil for anything else, and for a place below 0.
func (r Row) Bytes(place int) []byte {
	if place < 0 {
		return nil
	}
	if v := r.values[place]; v.Kind() == parquet.ByteArray && len(v.ByteArray()) <= maxText {
		return v.ByteArray()
	}
	return nil
}

// IsNull reports whether there is nothing in a place, or a text of no bytes.
func (r Row) IsNull(place int) bool {
	v := r.values[place]
	return v.IsNull() || v.Kind() == parquet.ByteArray && len(v.ByteArray()) == 0
}

// Text returns what Bytes does, numbers as they are written, and times as RFC 3339 has them; "" where there is no value.
func (r Row) Text(place int) string {
	if place < 0 || r.values[place].IsNull() {
		return ""
	}
	v := r.values[place]
	switch v.Kind() {
	case parquet.ByteArray:
		return string(r.Bytes(place))
	case parquet.Float:
		return strconv.FormatFloat(float64(v.Float()), 'f', -1, 32)
	case parquet.Double:
		return strconv.FormatFloat(v.Double(), 'f', -1, 64)
	}
	if t := r.columns[place].time(v); !t.IsZero() {
		return t.Format(time.RFC3339Nano)
	}
	return v.String()
}

// Read calls yield for each row, with its number from 1, until yield returns false. The error says why no more rows can be read.
func (r *Reader) Read(yield func(number int64, row Row) bool) (err error) {
	defer caught(&err)
	meta, number := r.file.Metadata(), int64(0)
	row := Row{columns: r.columns, values: make([]parquet.Value, len(r.columns))}
	for i, group := range r.file.RowGroups() {
		for _, c := range r.columns {
			if c.index >= len(meta.RowGroups[i].Columns) {
				return errors.New("got a row group with fewer columns than the schema")
			}
			if err := c.open(r.in, &meta.RowGroups[i].Columns[c.index].MetaData); err != nil {
				return err
			}
		}
		for range group.NumRows() {
			number++
			for i, c := range r.columns {
				if row.values[i], err = c.next(); err != nil {
					return err
				}
			}
			if !yield(number, row) {
				return nil
			}
		}
		for _, c := range r.columns {
			if err := c.ended(); err != nil {
				return err
			}
		}
	}
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
