package uniq

import (
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/firstseen/firstseen/cmd/internal/parquetfile"
	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/internal/whatwg"
	"github.com/firstseen/firstseen/internal/wire"
)

// Output chooses the form of the printed lines.
type Output struct {
	// End is written after each. The default is NUL.
	End byte
	// Form is what each is written as. The default is its text.
	Form Form
	// Canonical appends the canonical form of a URL, for the forms that have it.
	Canonical func(dst, raw []byte) ([]byte, error)
	// Duplicates prints, instead of first lines, each further one of a group with the
	// first and the rules that Why returns.
	Duplicates bool
	Why        func(first, other []byte) []string
	// Count prints, at the end, the first line of each group and how many there were.
	Count bool
	// ShowGroup prints the group of each line, too.
	ShowGroup bool
}

// A Form is a form of the output.
type Form int

// The forms. All but Text name the place of a URL, its canonical form and its key. Duplicates and Count have Text and JSON.
const (
	Text    Form = iota
	JSON         // an object a line
	CSV          // with a header
	Parquet      // a file that is whole at the end
)

// printer gathers output.
type printer struct {
	opt   *Output
	w     io.Writer
	buf   bytes.Buffer
	json  *json.Encoder
	csv   *csv.Writer
	table *parquetfile.Writer // writes to w itself, a row group at a time
	form  []byte

	failed error // of the table
	closed bool  // the table is whole
}

// outBytes is how much output is written at once.
const outBytes = 256 << 10

func newPrinter(opt *Output, w io.Writer) printer {
	p := printer{opt: opt, w: w}
	if opt.Form == Parquet {
		p.table = parquetfile.NewWriter(w)
	}
	return p
}

func (p *printer) full() bool { return p.buf.Len() >= outBytes }

// row makes the row of a URL.
func (p *printer) row(it *item) parquetfile.Place {
	r := parquetfile.Place{File: it.file, Row: it.row, Offset: max(it.offset, 0), URL: string(it.text)}
	if p.opt.Form != CSV {
		r.File, r.URL = whatwg.UTF8(r.File), whatwg.UTF8(r.URL)
	}
	var err error
	if p.form, err = p.opt.Canonical(p.form[:0], it.text); err == nil {
		key := hashkey.SumShort(p.form)
		r.Canonical, r.Key = whatwg.UTF8(string(p.form)), hex.EncodeToString(key[:])
	}
	return r
}

// outLine is a line of JSON output. Bytes that are not UTF-8 have escapes in its texts; url_bytes and first_bytes, in base64, are
// URLs as they were found.
type outLine struct {
	URL     string   `json:"url"`
	Bytes   []byte   `json:"url_bytes,omitempty"`
	Count   int64    `json:"count,omitempty"`
	First   string   `json:"first,omitempty"`
	Other   []byte   `json:"first_bytes,omitempty"`
	Rules   []string `json:"rules,omitempty"`
	Group   string   `json:"group,omitempty"`
	Invalid bool     `json:"invalid,omitempty"`

	File      string `json:"file,omitempty"`
	Row       int64  `json:"row,omitempty"`
	Offset    *int64 `json:"offset,omitempty"` // of archives
	Canonical string `json:"canonical,omitempty"`
	Key       string `json:"key,omitempty"`
}

// object prints a URL with its place, and what else there is to say of it.
func (p *printer) object(it *item, o outLine) {
	if p.json == nil {
		p.json = json.NewEncoder(&p.buf)
		p.json.SetEscapeHTML(false)
	}
	r := p.row(it)
	o.URL, o.Bytes, o.Group = r.URL, wire.BytesOf(string(it.text)), whatwg.UTF8(it.shown)
	o.File, o.Row, o.Offset, o.Canonical, o.Key = r.File, r.Row, it.start(), r.Canonical, r.Key
	_ = p.json.Encode(o) // texts alone
	p.buf.Truncate(p.buf.Len() - 1)
	p.buf.WriteByte(p.opt.End)
}

// url prints a line, after its group if that is to be shown.
func (p *printer) url(it *item) {
	switch p.opt.Form {
	case JSON:
		p.object(it, outLine{})
		return
	case CSV:
		if p.csv == nil {
			p.csv = csv.NewWriter(&p.buf)
			_ = p.csv.Write([]string{"file", "row", "offset", "url", "canonical", "key"})
		}
		r := p.row(it)
		_ = p.csv.Write([]string{r.File, strconv.FormatInt(r.Row, 10), strconv.FormatInt(r.Offset, 10), r.URL, r.Canonical, r.Key})
		p.csv.Flush() // into the buffer
		return
	case Parquet:
		r := p.row(it)
		if err := p.table.Write(&r); err != nil && p.failed == nil {
			p.failed = err
		}
		return
	}
	if p.opt.ShowGroup {
		p.buf.WriteString(it.shown)
		p.buf.WriteByte('\t')
	}
	p.text(it.text)
}

// start is where the archive record begins that has a URL; nil elsewhere.
func (it *item) start() *int64 {
	at := it.offset
	if at < 0 {
		return nil
	}
	return &at // not it.offset: then every item would be allocated
}

// invalid prints a line that is no URL, as it is if that is one line.
func (p *printer) invalid(it *item) {
	if p.opt.Form == JSON {
		p.object(it, outLine{Invalid: true})
		return
	}
	if bytes.IndexByte(it.text, p.opt.End) >= 0 {
		p.text(it.text)
		return
	}
	p.buf.Write(it.text)
	p.buf.WriteByte(p.opt.End)
}

// text prints the last text of a line.
func (p *printer) text(text []byte) {
	p.part(text)
	p.buf.WriteByte(p.opt.End)
}

// part prints a URL so that it stays one line, and the same URL.
func (p *printer) part(text []byte) {
	breaks := "\t\n\r\x00"
	if p.opt.End == 0 {
		breaks = "\x00"
	}
	if bytes.ContainsAny(text, breaks) {
		text = []byte(whatwg.Line(string(text)))
	}
	p.buf.Write(text)
}

// count prints the first line of a group, and how many there were.
func (p *printer) count(it *item) {
	if p.opt.Form == JSON {
		p.object(it, outLine{Count: it.n})
		return
	}
	fmt.Fprintf(&p.buf, "%7d ", it.n)
	p.text(it.text)
}

// duplicate prints a line, the first of its group, and the rules that merged them.
func (p *printer) duplicate(it *item) {
	rules := []string{"identical"}
	if !bytes.Equal(it.text, it.first) {
		rules = p.opt.Why(it.first, it.text)
	}
	if p.opt.Form == JSON {
		p.object(it, outLine{First: whatwg.UTF8(string(it.first)), Other: wire.BytesOf(string(it.first)), Rules: rules})
		return
	}
	p.part(it.text)
	p.buf.WriteByte('\t')
	p.part(it.first)
	p.buf.WriteByte('\t')
	if p.opt.ShowGroup {
		p.buf.WriteString(it.shown)
		p.buf.WriteByte('\t')
	}
	p.text([]byte(strings.Join(rules, ",")))
}

// write writes the gathered output, and returns how many bytes were written.
func (p *printer) write() (int, error) {
	if p.failed != nil {
		return 0, fmt.Errorf("cannot write output: %w", p.failed)
	}
	if p.buf.Len() == 0 {
		return 0, nil
	}
	n, err := p.w.Write(p.buf.Bytes())
	p.buf.Reset()
	if err != nil {
		return n, fmt.Errorf("cannot write output: %w", err)
	}
	return n, nil
}
