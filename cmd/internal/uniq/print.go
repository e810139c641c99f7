package uniq

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Output chooses the form of the printed lines.
type Output struct {
	// End is written after each. The default is NUL.
	End byte
	// JSON writes an object for each. The default is its text.
	JSON bool
	// Duplicates prints, instead of first lines, each further one of a group with the
	// first and the rules that Why returns.
	Duplicates bool
	Why        func(first, other []byte) []string
	// Count prints, at the end, the first line of each group and how many there were.
	Count bool
	// ShowGroup prints the group of each line, too.
	ShowGroup bool
}

// printer gathers output.
type printer struct {
	opt  *Output
	w    io.Writer
	buf  bytes.Buffer
	json *json.Encoder
}

// outBytes is how much output is written at once.
const outBytes = 256 << 10

func newPrinter(opt *Output, w io.Writer) printer { return printer{opt: opt, w: w} }

func (p *printer) full() bool { return p.buf.Len() >= outBytes }

// outLine is a line of JSON output.
type outLine struct {
	URL     string   `json:"url"`
	Count   int64    `json:"count,omitempty"`
	First   string   `json:"first,omitempty"`
	Rules   []string `json:"rules,omitempty"`
	Group   string   `json:"group,omitempty"`
	Invalid bool     `json:"invalid,omitempty"`
}

func (p *printer) object(o outLine) {
	if p.json == nil {
		p.json = json.NewEncoder(&p.buf)
		p.json.SetEscapeHTML(false)
	}
	_ = p.json.Encode(o) // texts alone
	p.buf.Truncate(p.buf.Len() - 1)
	p.buf.WriteByte(p.opt.End)
}

// url prints a line, after its group if that is to be shown.
func (p *printer) url(text []byte, group string) {
	if p.opt.JSON {
		p.object(outLine{URL: string(text), Group: group})
		return
	}
	if p.opt.ShowGroup {
		p.buf.WriteString(group)
		p.buf.WriteByte('\t')
	}
	p.text(text)
}

// invalid prints a line that is no URL.
func (p *printer) invalid(text []byte) {
	if p.opt.JSON {
		p.object(outLine{URL: string(text), Invalid: true})
		return
	}
	p.text(text)
}

func (p *printer) text(text []byte) {
	p.buf.Write(text)
	p.buf.WriteByte(p.opt.End)
}

func (p *printer) count(text []byte, n int64) {
	if p.opt.JSON {
		p.object(outLine{URL: string(text), Count: n})
		return
	}
	fmt.Fprintf(&p.buf, "%7d ", n)
	p.text(text)
}

// duplicate prints a line, the first of its group, and the rules that merged them.
func (p *printer) duplicate(text, first []byte, group string) {
	rules := []string{"identical"}
	if !bytes.Equal(text, first) {
		rules = p.opt.Why(first, text)
	}
	if p.opt.JSON {
		p.object(outLine{URL: string(text), First: string(first), Rules: rules, Group: group})
		return
	}
	p.buf.Write(text)
	p.buf.WriteByte('\t')
	p.buf.Write(first)
	p.buf.WriteByte('\t')
	if p.opt.ShowGroup {
		p.buf.WriteString(group)
		p.buf.WriteByte('\t')
	}
	p.text([]byte(strings.Join(rules, ",")))
}

// write writes the gathered output, and returns how many bytes were written.
func (p *printer) write() (int, error) {
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
