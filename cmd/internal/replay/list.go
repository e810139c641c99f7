package replay

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/firstseen/firstseen/cmd/internal/input"
)

// byteOrderMark may begin a text file.
var byteOrderMark = []byte("\xef\xbb\xbf")

// List reads one URL a line from an opened file.
func List(f *input.File) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		if f.Binary() {
			yield(nil, fmt.Errorf("cannot read %s; got %w; want text", f.Name, input.ErrBinary))
			return
		}
		for block, err := range input.Blocks(f) {
			if err != nil {
				yield(nil, fmt.Errorf("cannot read %s to its end: %w", f.Name, err))
				return
			}
			if !yield(listBatch(block), nil) {
				return
			}
		}
	}
}

func listBatch(block *input.Block) *Batch {
	b := &Batch{Format: "list", First: block.First, Lines: block.Lines, block: block}
	if block.TooLong {
		b.BadCount = 1
		b.Bad = []Refusal{{Line: block.First, Text: excerpt(block.Text), Code: "too-long",
			Reason: fmt.Sprintf("cannot read line; got more than %d bytes", len(block.Text))}}
		return b
	}
	b.Text, b.Split = block.Text, true
	if block.First == 1 {
		b.Text = bytes.TrimPrefix(b.Text, byteOrderMark)
	}
	return b
}
