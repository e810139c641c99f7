package logs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// A File is an opened input, without its compression.
type File struct {
	// Name is as it was given, "-" for standard input.
	Name string
	// Size is the length of the stored file in bytes, 0 when it isn't known.
	Size int64
	// Compression is "gzip", "zstd" or "".
	Compression string

	ctx    context.Context // ends the reading
	r      *bufio.Reader
	packed *bufio.Reader // what r decompresses, or r itself
	stored *counter
	text   *counter // counts the decompressed text; nil if the file is not compressed
	parts  []part   // of the compressed file: from the one that has the next byte of r
	close  []func() error
}

// A counter counts the stored bytes read so far, for a progress display that
// looks on from another goroutine. It reads no more after its context ended: a few bytes of a compressed file may be gigabytes of text.
type counter struct {
	ctx context.Context
	r   io.Reader
	n   atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// A pipeReader reads a pipe or terminal, which may be silent for ever: a Read that
// waits ends with the context. Its goroutine ends with the next piece of input, or
// with the process.
type pipeReader struct {
	ctx    context.Context
	pieces chan piece // filled by one goroutine, which is started by the first Read
	r      io.Reader
	rest   piece
}

// piece is what one read returned.
type piece struct {
	data []byte
	err  error
}

// start starts the goroutine that fills pieces.
func (p *pipeReader) start() {
	if p.pieces == nil {
		p.pieces = make(chan piece)
		go p.fill()
	}
}

// idle reports whether a Read would wait for longer than d.
func (p *pipeReader) idle(d time.Duration) bool {
	if len(p.rest.data) > 0 || p.rest.err != nil {
		return false
	}
	p.start()
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case p.rest = <-p.pieces:
		return false
	case <-p.ctx.Done():
		return false
	case <-wait.C:
		return true
	}
}

func (p *pipeReader) Read(b []byte) (int, error) {
	p.start()
	if len(p.rest.data) == 0 && p.rest.err == nil {
		select {
		case p.rest = <-p.pieces:
		case <-p.ctx.Done():
			return 0, p.ctx.Err()
		}
	}
	n := copy(b, p.rest.data)
	if p.rest.data = p.rest.data[n:]; len(p.rest.data) > 0 {
		return n, nil
	}
	return n, p.rest.err
}

// fill reads until an error, a piece ahead: when it fills a buffer again, the piece in the other
// one was taken, and so this one was used up.
func (p *pipeReader) fill() {
	var buffers [2][64 << 10]byte
	for i := 0; ; i = 1 - i {
		b := buffers[i][:]
		n, err := p.r.Read(b)
		select {
		case p.pieces <- piece{b[:n], err}:
		case <-p.ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// Open opens a file, or stdin for the name "-". An empty input is fine. After ctx
// ends, reads fail with its error.
func Open(ctx context.Context, name string, stdin io.Reader) (*File, error) {
	f := &File{Name: name, ctx: ctx, stored: &counter{ctx: ctx, r: &pipeReader{ctx: ctx, r: stdin}}}
	if name != "-" {
		if err := f.openPath(name); err != nil {
			return nil, err
		}
	}
	return f.begin(256 << 10)
}

// New makes a File of a reader that is closed with it. After ctx ends, reads fail
// with its error.
func New(ctx context.Context, name string, stored io.ReadCloser) (*File, error) {
	f := &File{Name: name, ctx: ctx, stored: &counter{ctx: ctx, r: stored}, close: []func() error{stored.Close}}
	return f.begin(64 << 10)
}

// begin looks at what compresses the file. It closes one that it can't read.
func (f *File) begin(ahead int) (*File, error) {
	if err := f.decompress(bufio.NewReaderSize(f.stored, ahead)); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open %s: %w", f.Name, err), f.Close())
	}
	return f, nil
}

// ahead returns the file from its beginning for a look at more than its head, and what brings f back there: a regular file is opened once more, and
// of anything else the text goes to a temporary file. Only a file that was not read from can be looked at.
func (f *File) ahead() (ahead *File, back func() error, err error) {
	if stored, _ := f.Stored(); stored != nil {
		if ahead, err = Open(f.ctx, f.Name, nil); err != nil {
			return nil, nil, err
		}
		return ahead, ahead.Close, nil
	}
	kept, err := os.CreateTemp("", "firstseen-import-")
	if err != nil {
		return nil, nil, fmt.Errorf("cannot keep %s in TMPDIR: %w", f.Name, err)
	}
	f.close = append(f.close, kept.Close)
	if os.Remove(kept.Name()) != nil { // some systems keep the name of a file that is open
		f.close = append(f.close, func() error { return os.Remove(kept.Name()) })
	}
	k := &keeper{r: f.r, kept: kept}
	ahead = &File{Name: f.Name, Compression: f.Compression, ctx: f.ctx, stored: &counter{ctx: f.ctx, r: k}}
	ahead.r = bufio.NewReaderSize(ahead.stored, 256<<10)
	return ahead, func() error {
		if _, err := kept.Seek(0, io.SeekStart); k.err == nil {
			k.err = err
		}
		f.r = bufio.NewReaderSize(io.MultiReader(kept, k.r), 256<<10)
		if k.err != nil {
			return fmt.Errorf("cannot keep %s in TMPDIR, to look for statuses: %w", f.Name, k.err)
		}
		return nil
	}, nil
}

// A keeper copies what it reads to a file.
type keeper struct {
	r    io.Reader
	kept *os.File
	err  error // of keeping it
}

func (k *keeper) Read(p []byte) (int, error) {
	n, err := k.r.Read(p)
	if _, k.err = k.kept.Write(p[:n]); k.err != nil {
		return 0, k.err
	}
	return n, err
}

// Stored returns the stored bytes of a regular file, for formats that are read from
// their end; nil for anything else.
func (f *File) Stored() (io.ReaderAt, int64) {
	file, ok := f.stored.r.(*os.File)
	if !ok || f.Size == 0 {
		return nil, 0
	}
	return file, f.Size
}

func (f *File) openPath(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("cannot %w", err) // open NAME: why
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("got a directory; want a file")
	}
	if err != nil {
		return errors.Join(fmt.Errorf("cannot open %s: %w", name, err), file.Close())
	}
	if info.Mode().IsRegular() {
		f.Size = info.Size()
	}
	f.stored.r = file
	if !info.Mode().IsRegular() {
		f.stored.r = &pipeReader{ctx: f.ctx, r: file}
	}
	f.close = append(f.close, file.Close)
	return nil
}

// Read reads the decompressed bytes.
func (f *File) Read(p []byte) (int, error) { return f.r.Read(p) }

// A pipe that is silent for this long has no more for now: short for lines to be passed on,
// longer, so that more of them show the format.
const (
	silence     = 2 * time.Millisecond
	peekSilence = 100 * time.Millisecond
)

// Idle reports whether a Read would wait for the writer of a pipe or terminal.
func (f *File) Idle() bool { return f.r.Buffered() == 0 && f.silent(silence) }

// silent reports whether the pipe that the file is, if it is one, has no more for d.
func (f *File) silent(d time.Duration) bool {
	p, ok := f.stored.r.(*pipeReader)
	return ok && (f.packed == f.r || f.packed.Buffered() == 0) && p.idle(d)
}

// head returns up to n of the next bytes without reading them, and whether the input ends or fails with them. It
// returns fewer if a pipe falls silent after a whole line, which may end with NUL, and they are enough.
func (f *File) head(n int, enough func(p []byte) bool) (p []byte, whole bool) {
	asked := 0 // bytes that were not enough
	for {
		have := f.r.Buffered()
		p, _ := f.r.Peek(min(n, have))
		if have >= n {
			return p, false
		}
		if have > asked && bytes.ContainsAny(p, "\n\x00") && f.silent(peekSilence) {
			if enough(p) {
				return p, false
			}
			asked = have
		}
		if p, err := f.r.Peek(have + 1); err != nil {
			return p, true // a failure shows at the Read that meets it
		}
	}
}

// Peek returns up to n of the next bytes without reading them: fewer if the input ends or
// fails before, or if a pipe falls silent after a whole line.
func (f *File) Peek(n int) []byte {
	p, _ := f.head(n, func([]byte) bool { return true })
	return p
}

// Reader returns the decompressed bytes with a look-ahead of 256 KiB.
func (f *File) Reader() *bufio.Reader { return f.r }

// Offset is the number of stored bytes read so far; safe from any goroutine.
func (f *File) Offset() int64 { return f.stored.n.Load() }

// Close releases the file.
func (f *File) Close() error {
	var errs []error
	for _, c := range f.close {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}
