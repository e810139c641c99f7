package synth

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
)

// WriteOptions select the part of a web to write. The zero value writes all of it, as a list of
// URLs.
type WriteOptions struct {
	// Format is what to write. The default is URLs.
	Format Format
	// Lines ends the output after so many. The default is no bound.
	Lines int64
	// From is the first page, to continue where an earlier run ended. The default is 0.
	From int64
	// Workers make pages at the same time; the bytes don't depend on it. The
	// default is one for each processor.
	Workers int
}

// Written is the result of a Write.
type Written struct {
	Lines int64 // without a header
	Next  int64 // the page to continue from; a page that Lines cut short is written again as a whole
}

// chunkPages is how many pages a worker makes at once.
const chunkPages = 256

// Write writes the web to out. When the context ends, it returns the context's error and
// the part that was written.
func (w *Web) Write(ctx context.Context, out io.Writer, opt WriteOptions) (Written, error) {
	if opt.Format == "" {
		opt.Format = URLs
	}
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	done := Written{Next: opt.From}
	if err := w.Check(opt); err != nil {
		return done, err
	}
	if opt.From == 0 {
		if _, err := io.WriteString(out, opt.Format.header()); err != nil {
			return done, fmt.Errorf("cannot write the header: %w", err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for chunk := range w.chunks(ctx, opt) {
		made := <-chunk
		if made == nil {
			break // the context ended before a worker took it
		}
		full, err := done.add(out, made, opt.Lines)
		if err != nil || full {
			return done, err
		}
	}
	return done, ctx.Err()
}

// Check returns the error that Write would refuse the options with, or nil.
func (w *Web) Check(opt WriteOptions) error {
	if opt.From < 0 || opt.From > w.Pages() {
		return fmt.Errorf("cannot begin at page %d; want 0 to %d", opt.From, w.Pages())
	}
	if opt.Lines < 0 {
		return fmt.Errorf("cannot write %d lines; want 0 or more", opt.Lines)
	}
	if opt.Format == "" {
		return nil
	}
	return opt.Format.check()
}

// chunk is the lines of some pages.
type chunk struct {
	text  []byte
	lines []int64 // of each page
}

// add writes a chunk, and reports whether the requested number of lines is reached.
func (d *Written) add(out io.Writer, c *chunk, want int64) (full bool, err error) {
	text := c.text
	for _, n := range c.lines {
		if want > 0 && d.Lines+n > want {
			text, full = firstLines(c.text, want-d.Lines+d.linesOf(c)), true
			d.Lines = want
			break
		}
		d.Lines, d.Next = d.Lines+n, d.Next+1
		c.lines = c.lines[1:]
	}
	if _, err := out.Write(text); err != nil {
		return false, fmt.Errorf("cannot write after line %d: %w", d.Lines, err)
	}
	return full || want > 0 && d.Lines == want, nil
}

// linesOf counts the lines of the chunk that d counts already.
func (d *Written) linesOf(c *chunk) int64 {
	total := int64(bytes.Count(c.text, []byte{'\n'}))
	for _, n := range c.lines {
		total -= n
	}
	return total
}

func firstLines(text []byte, n int64) []byte {
	end := 0
	for range n {
		end += bytes.IndexByte(text[end:], '\n') + 1
	}
	return text[:end]
}

// chunks makes the chunks with several workers and returns them in order: it sends the channel of
// each chunk before the chunk is made.
func (w *Web) chunks(ctx context.Context, opt WriteOptions) <-chan chan *chunk {
	order := make(chan chan *chunk, opt.Workers)
	free := make(chan struct{}, opt.Workers)
	go func() {
		defer close(order)
		for from := opt.From; from < w.Pages(); from += chunkPages {
			select {
			case free <- struct{}{}:
			case <-ctx.Done():
				return
			}
			result := make(chan *chunk, 1)
			go func() {
				result <- w.makeChunk(opt.Format, from, min(from+chunkPages, w.Pages()))
				<-free
			}()
			select {
			case order <- result:
			case <-ctx.Done():
				return
			}
		}
	}()
	return order
}

func (w *Web) makeChunk(f Format, from, to int64) *chunk {
	c := &chunk{lines: make([]int64, 0, to-from)}
	if f.links() {
		w.makeLinks(c, f, from, to)
	} else {
		w.makeCaptures(c, f, from, to)
	}
	return c
}

func (w *Web) makeLinks(c *chunk, f Format, from, to int64) {
	var s Spelling
	cur := w.cursorAt(from)
	for range to - from {
		p, _ := cur.next()
		n := int64(0)
		w.links(p, &s, func(s *Spelling) {
			c.text = f.appendLink(c.text, s)
			n++
		})
		c.lines = append(c.lines, n)
	}
}

func (w *Web) makeCaptures(c *chunk, f Format, from, to int64) {
	var capture Capture
	cur := w.cursorAt(from)
	behind := w.cursorAt(max(0, from-lag))
	for k := from; k < to; k++ {
		p, _ := cur.next()
		var before *page
		if k >= lag {
			b, _ := behind.next()
			before = &b
		}
		n := int64(0)
		w.captures(k, p, before, &capture, func(capture *Capture) {
			c.text = f.appendCapture(c.text, capture)
			n++
		})
		c.lines = append(c.lines, n)
	}
}
