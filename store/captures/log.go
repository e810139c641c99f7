package captures

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
)

// file is what a log needs of an *os.File.
type file interface {
	io.Writer
	io.ReaderAt
	Sync() error
	Stat() (os.FileInfo, error)
	Close() error
}

func openFile(name string, flag int) (file, error) { return os.OpenFile(name, flag, 0o644) }

// log is the open file of captures. Listings share it with the writer, and can still read it after it
// was replaced. The last user closes it.
type log struct {
	file
	end    int64 // where the next line begins
	torn   bool  // the last line has no end
	failed bool  // the last write failed: end and torn are out of date

	mu   sync.Mutex
	uses int
}

func newLog(f file) *log { return &log{file: f, uses: 1} }

func (l *log) use() *log {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.uses++
	return l
}

func (l *log) release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.uses--; l.uses > 0 {
		return nil
	}
	return l.Close()
}

// append writes lines and returns the offset of the first. After an error some of them may be
// there, the last one cut off: the next append looks where the file ends, and ends that line.
func (l *log) append(lines []byte) (at int64, err error) {
	if l.failed {
		info, err := l.Stat()
		if err != nil {
			return 0, err
		}
		l.end, l.torn, l.failed = info.Size(), info.Size() > 0, false
	}
	at = l.end
	if l.torn {
		lines = append([]byte{'\n'}, lines...)
		at++
	}
	n, err := l.Write(lines)
	if l.failed = err != nil; l.failed {
		return 0, err
	}
	l.end, l.torn = l.end+int64(n), false
	return at, nil
}

// scan calls f with each whole line, without its end, and the offset of it. Lines that are too
// long are nil.
func (l *log) scan(f func(text []byte, at int64) error) error {
	in := bufio.NewReaderSize(io.NewSectionReader(l, 0, 1<<62), maxLine)
	for at := int64(0); ; {
		text, err := in.ReadSlice('\n')
		n := int64(len(text))
		if errors.Is(err, bufio.ErrBufferFull) {
			for text = nil; errors.Is(err, bufio.ErrBufferFull); n += int64(len(text)) {
				text, err = in.ReadSlice('\n')
			}
			text = nil
		}
		l.end = at + n
		if errors.Is(err, io.EOF) {
			l.torn = n > 0
			return nil
		}
		if err != nil {
			return err
		}
		if text != nil {
			text = text[:len(text)-1]
		}
		if err := f(text, at); err != nil {
			return err
		}
		at += n
	}
}

// lineReader reads lines at offsets.
type lineReader struct {
	l   *log
	buf []byte
}

// shortRead is how much is read at a time: a line is hardly ever longer.
const shortRead = 512

func newLineReader(l *log) *lineReader { return &lineReader{l: l} }

// read returns a line, with its end, until the next call.
func (r *lineReader) read(at int64) ([]byte, error) {
	for r.buf = r.buf[:0]; len(r.buf) < maxLine; {
		had := len(r.buf)
		r.buf = slices.Grow(r.buf, shortRead)[:had+shortRead]
		n, err := r.l.ReadAt(r.buf[had:], at+int64(had))
		r.buf = r.buf[:had+n]
		if i := bytes.IndexByte(r.buf[had:], '\n'); i >= 0 {
			return r.buf[:had+i+1], nil
		}
		if n > 0 {
			continue // an error comes again
		}
		if errors.Is(err, io.EOF) {
			return nil, errLine
		}
		return nil, err
	}
	return nil, errLine
}

// rewrite writes a new file with the lines of some captures, and returns it with the places of those that
// are not damaged. After a power cut the name is that of either file, both whole.
func (l *log) rewrite(name string, open func(string, int) (file, error), level uint8, all []entry) (_ *log, moved []entry, err error) {
	temp := name + ".new"
	f, err := open(temp, os.O_CREATE|os.O_TRUNC|os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, nil, err
	}
	fresh := newLog(f)
	if moved, err = fresh.copyFrom(l, level, all); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(temp, name)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close(), os.Remove(temp))
	}
	return fresh, moved, nil
}

func (l *log) copyFrom(old *log, level uint8, all []entry) (moved []entry, err error) {
	w := copier{to: l, from: newLineReader(old), buf: append([]byte(header), '\n')}
	if level > 0 {
		w.buf = appendLevel(w.buf, level)
	}
	for _, e := range all {
		e.first = w.line(e.first)
		if e.latest != 0 {
			e.latest = w.line(e.latest)
		}
		if e.first == 0 {
			e.first, e.latest = e.latest, 0
		}
		if e.first != 0 {
			moved = append(moved, e)
		}
		if w.err != nil {
			return nil, w.err
		}
	}
	w.flush()
	return moved, w.err
}

// copier copies lines until the first error.
type copier struct {
	to   *log
	from *lineReader
	buf  []byte
	err  error
}

// line copies a line and returns its new offset, or 0 for a damaged line.
func (w *copier) line(at int64) int64 {
	if w.err != nil {
		return 0
	}
	text, err := w.from.read(at)
	if err == nil {
		_, err = parseLine(text[:len(text)-1])
	}
	if err != nil {
		if !errors.Is(err, errLine) {
			w.err = err
		}
		return 0
	}
	if len(w.buf) > 1<<18 {
		w.flush()
	}
	at = w.to.end + int64(len(w.buf))
	w.buf = append(w.buf, text...)
	return at
}

func (w *copier) flush() {
	if w.err == nil {
		_, w.err = w.to.append(w.buf)
	}
	w.buf = w.buf[:0]
}
