package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/firstseen/firstseen/cmd/internal/replay"
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

// appendJSON appends a text, or what else has a form in JSON.
func appendJSON(dst []byte, v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

func (o *output) Flush() error { return o.w.Flush() }

// endOutput flushes the output, and returns errRefused if input was refused.
func endOutput(out *output, refused int64) error {
	if err := out.Flush(); err != nil {
		return fmt.Errorf("cannot write output: %w", err)
	}
	if refused > 0 {
		return errRefused
	}
	return nil
}

// answer writes v as a JSON object, or its text.
func (a *app) answer(asJSON bool, v any, text func(*output)) error {
	out := newOutput(a.out)
	if asJSON {
		out.json(v)
	} else {
		text(out)
	}
	return endOutput(out, 0)
}

// say writes a line.
func (a *app) say(line string) error {
	return a.answer(false, nil, func(out *output) { out.line(line) })
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// isClosed reports whether w was closed when the process began, or may have been: Go's runtime has then opened /dev/null in its place,
// for reading, too, which takes and loses what is written. A /dev/null that the caller has opened so has the same flags, and nothing
// else tells them apart.
func isClosed(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	is, err := f.Stat()
	null, nullErr := os.Stat(os.DevNull)
	if err != nil || nullErr != nil {
		return err != nil
	}
	if !os.SameFile(is, null) {
		return false
	}
	_, err = f.Read(make([]byte, 1))
	return err == io.EOF
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

// progress shows on a terminal how far a command is.
type progress struct {
	w     io.Writer
	done  chan struct{}
	group sync.WaitGroup
}

// showProgress shows what line returns after a time, twice a second, if w is a terminal.
func showProgress(w io.Writer, line func(passed time.Duration) string) *progress {
	p := &progress{w: w, done: make(chan struct{})}
	if !isTerminal(w) {
		return p
	}
	start := time.Now()
	p.group.Go(func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-p.done:
				fmt.Fprint(w, "\r\x1b[K")
				return
			case <-tick.C:
				fmt.Fprintf(w, "\r%s\x1b[K", line(time.Since(start)))
			}
		}
	})
	return p
}

func (p *progress) stop() {
	close(p.done)
	p.group.Wait()
}

// progressLine is the line that is shown after a time: URLs, rate, exact repeats, unique
// ones and, when the size of the input is known, how much of it is left.
func progressLine(c *replay.Counters, read, total int64, passed time.Duration) string {
	urls := c.URLs.Load()
	line := fmt.Sprintf("%s URLs, %s/s, %s exact, %s unique", grouped(urls),
		grouped(int64(float64(urls)/max(passed.Seconds(), 1e-3))), percent(c.Exact.Load(), urls), grouped(c.Unique.Load()))
	if total == 0 || read == 0 {
		return line
	}
	return line + ", " + inputLine(read, total, passed)
}

// inputLine is how much of the input was read, and how long the rest will take.
func inputLine(read, total int64, passed time.Duration) string {
	if total == 0 || read == 0 {
		return grouped(read>>10) + " KiB read"
	}
	left := time.Duration(float64(passed) * float64(max(total-read, 0)) / float64(read))
	return fmt.Sprintf("%s of the input, %v left", percent(read, total), left.Round(time.Second))
}

// inputLine is the progress line of a set of files.
func (s *fileSet) inputLine(passed time.Duration) string {
	read, total := s.read()
	return inputLine(read, total, passed)
}
