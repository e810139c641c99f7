package parquetfile

import (
	"io"

	"github.com/parquet-go/parquet-go"
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
}

// NewWriter returns a writer to out, which it does not close.
func NewWriter(out io.Writer) *Writer {
	return &Writer{parquet.NewGenericWriter[Place](out, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(groupRows))}
}

// Write adds a row.
func (w *Writer) Write(p *Place) error {
	_, err := w.rows.Write([]Place{*p})
	return err
}

// Close writes the last rows and the footer.
func (w *Writer) Close() error { return w.rows.Close() }
