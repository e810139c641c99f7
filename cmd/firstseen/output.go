package main

import (
	"fmt"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"bufio"
	"bytes"
	"encoding/json"
	"io"
)

// output writes lines; the first error stays and comes out of Flush.
type output struct {
	w        *bufio.Writer
	terminal bool
}

func newOutput(w io.Writer) *output {
	return &output{w: bufio.NewWriterSize(w, 64<<10), terminal: isTerminal(w)}
}

func (o *output) line(text string) {
	_, _ = o.w.WriteString(text)
	_ = o.w.WriteByte('\n')
	o.flushIfTerminal()
}

// json writes a value as one line. URLs keep their "&".
func (o *output) json(v any) {
	e := json.NewEncoder(o.w)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	o.flushIfTerminal()
}

// flushIfTerminal shows an answer at once to a person who types one URL after another.
func (o *output) flushIfTerminal() {
	if o.terminal {
		_ = o.w.Flush()
	}
}

// appendJSON appends a text as JSON.
func appendJSON(dst []byte, s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // of a text never fails
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

func (o *output) Flush() error { return o.w.Flush() }

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// visible is a text as a terminal can show it: control characters, those that change the
// direction of text, and bytes that are not UTF-8 are escaped.
func visible(s string) string {
	if strings.IndexFunc(s, isHidden) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1, r < 0x80 && isHidden(r):
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case isHidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

func isHidden(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }
