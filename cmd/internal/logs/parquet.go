package logs

import (
	"errors"
	"fmt"
	"slices"

	"github.com/firstseen/firstseen/cmd/internal/parquetfile"
	"github.com/firstseen/firstseen/internal/zerocopy"
)

// A parquetTable has the places of columns in the rows of a Parquet file. It finds them by the names that tables have, too.
type parquetTable struct {
	column [meanings]int // -1 for none
	fields []int         // columns of Options.Fields, -1 for none
}

// parquet reads the rows of a Parquet file. A file with a column of statuses is of
// fetches, others of links. Its index is at the end, so it can't be read from a pipe.
func (s *sink) parquet(f *File) error {
	stored, size := f.Stored()
	if stored == nil {
		return fmt.Errorf("cannot read %s; got Parquet in a pipe; want a file", f.Name)
	}
	bare := s.opt.OnlyURLs && len(s.opt.Fields) == 0 && (s.opt.Events == Auto || s.opt.Events == All)
	t := parquetTable{column: noColumns}
	s.units = "row"
	in, err := parquetfile.NewReader(stored, size)
	if err == nil {
		err = t.find(in, &s.opt, bare)
	}
	if err == nil {
		err = in.Read(func(number int64, row parquetfile.Row) bool {
			s.number = number
			url, unread := row.Bytes(t.column[aURL]), error(nil)
			if s.opt.Scheme != "" && isHost(zerocopy.String(url)) {
				text, _ := withScheme(string(url), s.opt.Scheme)
				url = []byte(text)
			}
			switch {
			case len(url) == 0 && row.IsNull(t.column[aURL]):
				unread = errNoCell
			case len(url) == 0:
				unread = errNoText
			case bare && kindOf(zerocopy.String(url), Link) == Link:
				s.url(url)
			default:
				s.emit(t.record(string(url), row))
			}
			s.unit(unread, "")
			return !s.stopped && f.ctx.Err() == nil
		})
	}
	if err == nil {
		err = f.ctx.Err()
	}
	if err != nil && !s.stopped {
		return fmt.Errorf("cannot read %s beyond row %d: %w", f.Name, s.number, err)
	}
	return nil
}

// Rows without a URL. Those after them can be read.
var (
	errNoCell = errors.New("got an empty cell in the column of URLs")
	errNoText = errors.New("got no text of at most 1 MiB in the column of URLs")
)

// find finds the columns. Where two can be the URL, none is.
func (t *parquetTable) find(in *parquetfile.Reader, opt *Options, bare bool) (err error) {
	names, read := in.Columns(), recorded
	if bare {
		read = nil
	}
	for _, m := range append([]meaning{aURL}, read...) {
		var named []string
		for _, name := range vocabulary[m] {
			for _, column := range names {
				if plainName(column) == name {
					named = append(named, column)
				}
			}
		}
		if m == aURL && len(named) > 1 {
			named = slices.DeleteFunc(named, func(s string) bool { return !slices.Contains(own, plainName(s)) })
		}
		if m == aURL && opt.URLField != "" {
			named = opt.urlFields()
		}
		for _, name := range named {
			if t.column[m] >= 0 {
				break
			}
			if t.column[m], err = in.Column(name); err != nil && m == aURL { // one of lists can be of something else
				return err
			}
		}
	}
	names = names[:min(len(names), 50)]
	if t.column[aURL] < 0 {
		return fmt.Errorf("got columns %q; want one that is named url, or --url-field", names)
	}
	for _, name := range opt.Fields {
		place, err := in.Column(name)
		if err != nil {
			return err
		}
		known := func(m meaning) bool { return slices.Contains(vocabulary[m], plainName(name)) }
		if place < 0 && slices.Contains(opt.Must, name) && !slices.ContainsFunc(recorded, known) {
			return fmt.Errorf("got no column %q; its columns are %q", name, names)
		}
		t.fields = append(t.fields, place)
	}
	return nil
}

func (t *parquetTable) record(url string, row parquetfile.Row) Record {
	get := func(m meaning) string { return row.Text(t.column[m]) }
	r := Record{URL: url, Time: ParseTime(get(aTime)), MIME: get(aType), Digest: bareDigest(get(aDigest)), Redirect: get(aRedirect), Via: get(aReferrer),
		Length: number(get(aLength))}
	for _, place := range t.fields {
		r.Fields = append(r.Fields, row.Text(place))
	}
	r.silent = true
	if r.Kind = kindOf(r.URL, Link); t.column[aStatus] >= 0 {
		if r.silent, r.Kind = false, kindOf(r.URL, Fetch); r.MIME == "warc/revisit" {
			r.Kind = kindOf(r.URL, Revisit)
		}
		r.answered(get(aStatus))
	}
	return r
}
