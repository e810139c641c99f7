package logs

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
	"strings"
	"sync"
)

// blockSize is the length of a block, and so of the longest line.
const blockSize = 1 << 20

// A block is a run of whole lines, about a megabyte: one call for each line would cost more than the look-up of its URL.
type block struct {
	text    []byte // with the line ends; the last line of the input may have none
	first   int64  // number of the first line, from 1
	lines   int64
	tooLong bool // text is the beginning of one line that is longer than a block; the rest was skipped
	idle    bool // a pipe had no more for the moment

	buf *[]byte
}

var buffers = sync.Pool{New: func() any { b := make([]byte, blockSize); return &b }}

// release frees the memory of the block. text is not valid afterwards.
func (b *block) release() {
	if b.buf != nil {
		buffers.Put(b.buf)
		b.buf, b.text = nil, nil
	}
}

// blocks cuts r into blocks of lines that end with end. A block belongs to the caller until it is released.
// The sequence ends with the input or with the first error. Complete lines before an error
// are returned first, as a block.
func blocks(r io.Reader, end byte) iter.Seq2[*block, error] {
	return func(yield func(*block, error) bool) {
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
func (c *cutter) next() (*block, error) {
	buf := buffers.Get().(*[]byte)
	n := copy(*buf, c.rest)
	m, idle, err := fill(c.r, (*buf)[n:], c.end)
	b := &block{text: (*buf)[:n+m], first: c.line, idle: idle, buf: buf}
	c.rest = nil
	if err != io.EOF && len(b.text) > 0 {
		err = errors.Join(err, c.cut(b, err != nil))
	}
	if len(b.text) == 0 {
		b.release()
		return nil, err
	}
	b.lines = countLines(b.text, c.end)
	c.line += b.lines
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
func (c *cutter) cut(b *block, broken bool) error {
	i := bytes.LastIndexByte(b.text, c.end)
	if i < 0 && !broken {
		b.tooLong = true
		return c.skipLine()
	}
	if !broken {
		c.rest = bytes.Clone(b.text[i+1:])
	}
	b.text = b.text[:i+1]
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

// splitLines calls f with each line of text, without its end, until f returns false. Where
// lines end with LF, they may also end with CR LF.
func splitLines(text string, end byte, f func(line string) bool) {
	for len(text) > 0 {
		line, rest, _ := strings.Cut(text, string(end))
		if text = rest; end == '\n' {
			line = strings.TrimSuffix(line, "\r")
		}
		if !f(line) {
			return
		}
	}
}

// cutLineEnd returns the first line of text, without its end, and the rest.
func cutLineEnd(text []byte, end byte) (line, rest []byte) {
	line = text
	if i := bytes.IndexByte(text, end); i >= 0 {
		line, rest = text[:i], text[i+1:]
	}
	if n := len(line); end == '\n' && n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, rest
}

// isBlank reports whether a line has nothing but blanks.
func isBlank(line []byte) bool {
	for _, c := range line {
		if c > ' ' {
			return false
		}
	}
	return true
}

// longPrefix is how much of a line that is too long ReadLine returns.
const longPrefix = 64

// ReadLine reads a line of at most max bytes, including its line end. It reads
// a longer line to its end without holding it: line is then its first 64 bytes,
// and tooLong its length in bytes, which is 0 for every other line.
//
// The error is that of r. Text before it is a last line without a line end, or,
// if the error is not io.EOF, a line that was cut off.
func ReadLine(r *bufio.Reader, max int) (line []byte, tooLong int64, err error) {
	for {
		piece, err := r.ReadSlice('\n')
		switch {
		case tooLong > 0:
			tooLong += int64(len(piece))
		case len(line)+len(piece) > max:
			tooLong = int64(len(line) + len(piece))
			line = append(line, piece...)
			line = append([]byte(nil), line[:min(len(line), longPrefix)]...)
		default:
			line = append(line, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}
