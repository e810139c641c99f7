package input

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"sync"
)

// blockSize is the length of a block, and so of the longest line.
const blockSize = 1 << 20

// A Block is a run of whole lines.
type Block struct {
	// Text holds the lines with their line ends; the last line of the input may
	// have none.
	Text []byte
	// First is the number of the first line, counted from 1.
	First int64
	// Lines is how many there are.
	Lines int64
	// TooLong is set for the beginning of one line that is longer than a
	// block; the rest of it was skipped.
	TooLong bool
	// Idle is set if a pipe had no more for the moment.
	Idle bool

	buf *[]byte
}

var buffers = sync.Pool{New: func() any { b := make([]byte, blockSize); return &b }}

// Release frees the memory of the block. Text is not valid afterwards.
func (b *Block) Release() {
	if b.buf != nil {
		buffers.Put(b.buf)
		b.buf, b.Text = nil, nil
	}
}

// Blocks cuts r into blocks of lines that end with end. A block belongs to the caller until it is released.
// The sequence ends with the input or with the first error. Complete lines before an error
// are returned first, as a block.
func Blocks(r io.Reader, end byte) iter.Seq2[*Block, error] {
	return func(yield func(*Block, error) bool) {
		c := cutter{r: r, end: end, line: 1}
		for {
			b, err := c.next()
			if b != nil && !yield(b, nil) {
				return
			}
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// cutter holds the bytes read past the last line end.
type cutter struct {
	r    io.Reader
	end  byte
	rest []byte
	line int64
}

// next returns a block, an error, or both.
func (c *cutter) next() (*Block, error) {
	buf := buffers.Get().(*[]byte)
	n := copy(*buf, c.rest)
	m, idle, err := fill(c.r, (*buf)[n:], c.end)
	b := &Block{Text: (*buf)[:n+m], First: c.line, Idle: idle, buf: buf}
	c.rest = nil
	if err != io.EOF && len(b.Text) > 0 {
		err = errors.Join(err, c.cut(b, err != nil))
	}
	if len(b.Text) == 0 {
		b.Release()
		return nil, err
	}
	b.Lines = countLines(b.Text, c.end)
	c.line += b.Lines
	return b, err
}

// fill reads until p is full, or a pipe is idle after the end of a line: someone waits for
// the outcome. Unlike io.ReadFull it returns the reader's own error, so that a plain end can
// be distinguished from one that a decompressor complains of.
func fill(r io.Reader, p []byte, end byte) (n int, idle bool, err error) {
	pipe, _ := r.(interface{ Idle() bool })
	line := false
	for n < len(p) && err == nil {
		var m int
		m, err = r.Read(p[n:])
		line = line || pipe != nil && bytes.IndexByte(p[n:n+m], end) >= 0
		n += m
		if line && err == nil && pipe.Idle() {
			return n, true, nil
		}
	}
	if n == len(p) {
		err = nil // the reader returns it again
	}
	return n, false, err
}

// cut moves what follows the last line end to the next block, or drops it if the
// input broke off there: half a line is another line.
func (c *cutter) cut(b *Block, broken bool) error {
	i := bytes.LastIndexByte(b.Text, c.end)
	if i < 0 && !broken {
		b.TooLong = true
		return c.skipLine()
	}
	if !broken {
		c.rest = bytes.Clone(b.Text[i+1:])
	}
	b.Text = b.Text[:i+1]
	return nil
}

// skipLine reads to the end of the line, or of the input, which the next read meets.
func (c *cutter) skipLine() error {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	for {
		n, err := c.r.Read(*buf)
		if i := bytes.IndexByte((*buf)[:n], c.end); i >= 0 {
			c.rest = bytes.Clone((*buf)[i+1 : n])
			return nil
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func countLines(text []byte, end byte) int64 {
	n := int64(bytes.Count(text, []byte{end}))
	if len(text) > 0 && text[len(text)-1] != end {
		n++
	}
	return n
}

// Lines calls f with each line of text, without its end, until f returns false. Where
// lines end with LF, they may also end with CR LF.
func Lines(text []byte, end byte, f func(line []byte) bool) {
	for len(text) > 0 {
		line := text
		if i := bytes.IndexByte(text, end); i >= 0 {
			line, text = text[:i], text[i+1:]
		} else {
			text = nil
		}
		if n := len(line); end == '\n' && n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		if !f(line) {
			return
		}
	}
}
