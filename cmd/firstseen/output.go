package main

import (
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
