package logs

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/firstseen/firstseen/cmd/internal/parquetfile"
	"github.com/firstseen/firstseen/internal/zerocopy"
)

// parquet reads the rows of a Parquet file. A file with a column of statuses is of
// fetches, others of links. Its index is at the end, so it can't be read from a pipe.
func (s *sink) parquet(f *File) error {
	stored, size := f.Stored()
	if stored == nil {
		return fmt.Errorf("cannot read %s; got Parquet in a pipe; want a file", f.Name)
	}
	must := slices.DeleteFunc(slices.Clone(s.opt.Must), func(name string) bool {
		return slices.ContainsFunc(recorded, func(m meaning) bool { return slices.Contains(vocabulary[m], plainName(name)) })
	})
	bare := s.opt.OnlyURLs && len(s.opt.Fields) == 0 && (s.opt.Events == Auto || s.opt.Events == All)
	opt := parquetfile.Options{Names: parquetNames, URLColumn: s.opt.URLField, Fields: s.opt.Fields, Must: must, OnlyURLs: bare}
	err := parquetfile.Read(&endableAt{f.ctx, stored}, size, opt, func(number int64, row *parquetfile.Row, err error) bool {
		if err == nil && s.opt.Scheme != "" && isHost(string(row.URL)) {
			row.URL = append([]byte(s.opt.Scheme+"://"), row.URL...)
		}
		switch s.number = number; {
		case err != nil:
		case bare && kindOf(zerocopy.String(row.URL), Link) == Link:
			s.url(row.URL)
		default:
			s.emit(parquetRecord(row))
		}
		s.unit(err, "")
		return !s.stopped
	})
	if err != nil && !s.stopped {
		return fmt.Errorf("cannot read %s beyond row %d: %w", f.Name, s.number, err)
	}
	return nil
}

// parquetNames finds columns by the names that tables have, too. Where two can be the URL, none is.
func parquetNames(columns []string) (named [parquetfile.Columns][]string) {
	for m, i := range map[meaning]int{aURL: parquetfile.URL, aTime: parquetfile.Time, aStatus: parquetfile.Status, aDigest: parquetfile.Digest,
		aType: parquetfile.MIME, aRedirect: parquetfile.Redirect, aLength: parquetfile.Length} {
		for _, name := range vocabulary[m] {
			for _, column := range columns {
				if plainName(column) == name {
					named[i] = append(named[i], column)
				}
			}
		}
	}
	if urls := named[parquetfile.URL]; len(urls) > 1 {
		named[parquetfile.URL] = slices.DeleteFunc(urls, func(s string) bool { return !slices.Contains(own, plainName(s)) })
	}
	return named
}

func parquetRecord(row *parquetfile.Row) Record {
	r := Record{URL: string(row.URL), Kind: Link, Time: row.Time, MIME: row.MIME,
		Digest: bareDigest(row.Digest), Redirect: row.Redirect, Length: row.Length, Fields: row.Fields}
	if r.Time.IsZero() {
		r.Time = ParseTime(row.TimeText)
	}
	if row.Fetched {
		r.Kind = Fetch
	}
	if r.Kind = kindOf(r.URL, r.Kind); r.MIME == "warc/revisit" && r.Kind == Fetch {
		r.Kind, r.Status = Revisit, row.Status
	} else if row.Fetched {
		r.answered(strconv.Itoa(row.Status))
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
