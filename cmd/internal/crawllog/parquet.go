package crawllog

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/firstseen/firstseen/cmd/internal/input"
	"github.com/firstseen/firstseen/cmd/internal/parquetfile"
)

// readParquet reads the rows of a Parquet file. A file with a column of statuses is of
// fetches, others of links. Its index is at the end, so it can't be read from a pipe.
func readParquet(f *input.File, opt Options, counts *Counts) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		stored, size := f.Stored()
		if stored == nil {
			yield(Record{}, fmt.Errorf("cannot read %s; got Parquet in a pipe; want a file", f.Name))
			return
		}
		in := &endableAt{f.Context(), stored}
		stopped := false
		err := parquetfile.Read(in, size, opt.URLField, func(number int64, row *parquetfile.Row, err error) bool {
			counts.Lines = number
			if err != nil {
				stopped = !yield(Record{}, &LineError{Line: number, Err: err})
			} else {
				stopped = !yield(parquetRecord(number, row), nil)
			}
			return !stopped
		})
		if err != nil && !stopped {
			yield(Record{}, fmt.Errorf("cannot read %s beyond row %d: %w", f.Name, counts.Lines, err))
		}
	}
}

func parquetRecord(number int64, row *parquetfile.Row) Record {
	r := Record{URL: row.URL, Kind: Link, Time: row.Time, Status: row.Status, MIME: row.MIME,
		Digest: bareDigest(row.Digest), Redirect: row.Redirect, Length: row.Length, Line: number}
	if r.Time.IsZero() {
		r.Time = anyTime(row.TimeText)
	}
	if row.Fetched {
		r.Kind = Fetch
	}
	if r.Kind = kindOf(r.URL, r.Kind); r.Kind == Fetch && r.MIME == "warc/revisit" {
		r.Kind = Revisit
	}
	return r
}

// endableAt reads until a context ends.
type endableAt struct {
	ctx context.Context
	r   io.ReaderAt
}

func (e *endableAt) ReadAt(p []byte, at int64) (int, error) {
	if err := e.ctx.Err(); err != nil {
		return 0, err
	}
	return e.r.ReadAt(p, at)
}
