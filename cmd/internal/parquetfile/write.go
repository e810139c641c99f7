package parquetfile

import (
	"errors"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// A Place is a row of a file that is written: a URL, and where it was found.
type Place struct {
	File      string `parquet:"file,dict"`
	Row       int64  `parquet:"row"`
	Offset    int64  `parquet:"offset"`
	URL       string `parquet:"url"`
	Canonical string `parquet:"canonical"`
	Key       string `parquet:"key"`
}

// groupRows bounds the rows that a Writer holds in memory.
const groupRows = 1 << 16

// A Writer writes a file, a group of rows at a time. The file is whole once the writer is closed.
type Writer struct {
	rows *parquet.GenericWriter[Place]
	next []Place // not written yet: a call for each row takes longer than its encoding
}

// NewWriter returns a writer to out, which it does not close.
func NewWriter(out io.Writer) *Writer {
	return &Writer{rows: parquet.NewGenericWriter[Place](out, parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}), parquet.MaxRowsPerRowGroup(groupRows))}
}

// Write adds a row.
func (w *Writer) Write(p *Place) error {
	if w.next = append(w.next, *p); len(w.next) < 1<<10 {
		return nil
	}
	return w.flush()
}

func (w *Writer) flush() error {
	_, err := w.rows.Write(w.next)
	w.next = w.next[:0]
	return err
}

// Close writes the last rows and the footer.
func (w *Writer) Close() error { return errors.Join(w.flush(), w.rows.Close()) }
