package replay

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/firstseen/firstseen/cmd/internal/input"
)

// byteOrderMark may begin a text file.
var byteOrderMark = []byte("\xef\xbb\xbf")

// List reads one URL a line from an opened file.
func List(f *input.File) iter.Seq2[*Batch, error] { return list(f, '\n') }

// list reads one URL a line, which ends with end.
func list(f *input.File, end byte) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		if end != 0 && f.Binary() {
			yield(nil, fmt.Errorf("cannot read %s; got %w; want text", f.Name, input.ErrBinary))
			return
		}
		for block, err := range input.Blocks(f, end) {
			if err != nil {
				yield(nil, fmt.Errorf("cannot read %s to its end: %w", f.Name, err))
				return
			}
			if !yield(listBatch(block, end), nil) {
				return
			}
		}
	}
}

func listBatch(block *input.Block, end byte) *Batch {
	b := &Batch{Format: "list", First: block.First, Lines: block.Lines, End: end, block: block}
	if block.TooLong {
		b.BadCount = 1
		b.Bad = []Refusal{{Line: block.First, Text: excerpt(block.Text), Code: "too-long",
			Reason: fmt.Sprintf("cannot read line; got more than %d bytes", len(block.Text))}}
		return b
	}
	b.Text, b.Split = block.Text, true
	if block.First == 1 {
		b.Text = bytes.TrimPrefix(b.Text, byteOrderMark)
		b.skipHeader()
	}
	return b
}

// headers are what the first line of a table with one column may call it.
var headers = []string{"url", "urls", "uri", "link", "loc", "address", "href"}

// skipHeader skips the name of the column where a list is a table with one column.
func (b *Batch) skipHeader() {
	line, rest, ok := bytes.Cut(b.Text, []byte{b.End})
	name := strings.Trim(string(bytes.TrimSpace(line)), `"`)
	if ok && slices.ContainsFunc(headers, func(h string) bool { return strings.EqualFold(h, name) }) {
		b.Text, b.First, b.Skipped = rest, b.First+1, 1
	}
}
