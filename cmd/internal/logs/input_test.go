package logs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func gz(t *testing.T, texts ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, text := range texts {
		z := gzip.NewWriter(&out)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func zst(t *testing.T, dict []byte, texts ...string) []byte {
	t.Helper()
	var options []zstd.EOption
	if dict != nil {
		options = append(options, zstd.WithEncoderDictRaw(0, dict))
	}
	z, err := zstd.NewWriter(nil, options...)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for _, text := range texts {
		out = z.EncodeAll([]byte(text), out)
	}
	return out
}

func skippable(magic byte, content []byte) []byte {
	n := len(content)
	return append([]byte{magic, 0x2a, 0x4d, 0x18, byte(n), byte(n >> 8), byte(n >> 16), 0}, content...)
}

func TestOpenTellsCompressionByContent(t *testing.T) {
	dict := []byte(strings.Repeat("http://example.com/a/dictionary ", 40))
	want := "http://a.example/\nhttp://example.com/a/dictionary\n"
	cases := map[string][]byte{
		"plain":              []byte(want),
		"gzip":               gz(t, want),
		"gzip members":       gz(t, want[:7], "", want[7:]),
		"padded gzip":        append(gz(t, want[:7], want[7:]), make([]byte, 100_000)...),
		"zstd frames":        zst(t, nil, want[:7], want[7:]),
		"skippable first":    append(skippable(0x51, []byte("note")), zst(t, nil, want)...),
		"dictionary":         append(skippable(0x5d, dict), zst(t, dict, want[:20], want[20:])...),
		"packed dictionary":  append(skippable(0x5d, zst(t, nil, string(dict))), zst(t, dict, want)...),
		"skippable in midst": append(zst(t, nil, want[:9]), append(skippable(0x5f, []byte("x")), zst(t, nil, want[9:])...)...),
	}
	for name, stored := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "misnamed.txt")
			if err := os.WriteFile(path, stored, 0o600); err != nil {
				t.Fatal(err)
			}
			for source, stdin := range map[string]io.Reader{path: nil, "-": bytes.NewReader(stored)} {
				f, err := Open(t.Context(), source, stdin)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(f)
				if err != nil || string(got) != want {
					t.Errorf("got %q, %v; want %q", got, err, want)
				}
				if f.Offset() != int64(len(stored)) {
					t.Errorf("got offset %d; want %d", f.Offset(), len(stored))
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestOpenFails(t *testing.T) {
	for name, source := range map[string]string{"missing": filepath.Join(t.TempDir(), "none"), "directory": t.TempDir()} {
		if f, err := Open(t.Context(), source, nil); err == nil {
			t.Errorf("%s: got %v; want an error", name, f)
		}
	}
	cut := append(skippable(0x5d, nil)[:4], 0xff, 0xff, 0xff, 0xff)
	if _, err := Open(t.Context(), "-", bytes.NewReader(cut)); err == nil {
		t.Error("dictionary of 4 GiB: got no error")
	}
}

// TestNamesOfWhatIsNotRead: what is no text is named, with what to do.
func TestNamesOfWhatIsNotRead(t *testing.T) {
	for text, want := range map[string]string{
		"\x7fELF\x00\x01": "a program", "h\x00t\x00t\x00p\x00": "iconv -f UTF-16LE", "\x00h\x00t\x00t\x00p": "iconv -f UTF-16BE", "a\x00b": "binary data",
		"\xfd7zXZ\x00\x01": "xz -dc", "\x04\x22\x4d\x18dd": "lz4 -dc", "%PDF-1.4\n": "a PDF", "\xff\xfe\x00\x00h\x00\x00\x00": "UTF-32",
	} {
		f, err := Open(t.Context(), "-", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Detect(f, Options{}); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v; want %s in it", text, err, want)
		}
	}
}

func TestBlocksGiveEveryLineOnce(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	texts := map[string]string{
		"empty":             "",
		"one line":          line,
		"no last line end":  line + "tail",
		"several blocks":    strings.Repeat(line, 3*blockSize/100+7),
		"block ends at end": strings.Repeat("y", blockSize-1) + "\n" + line,
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			next := int64(1)
			for b, err := range blocks(iotest.HalfReader(strings.NewReader(text)), '\n') {
				if err != nil {
					t.Fatal(err)
				}
				if b.first != next || b.tooLong {
					t.Errorf("got first line %d, too long %v; want %d", b.first, b.tooLong, next)
				}
				next += b.lines
				got.Write(b.text)
				b.release()
			}
			if got.String() != text {
				t.Errorf("got %d bytes back; want the %d that went in", got.Len(), len(text))
			}
		})
	}
}

func TestBlocksSkipALineTooLong(t *testing.T) {
	long := strings.Repeat("z", 5*blockSize)
	for _, c := range []struct{ text, want string }{
		{"a\n" + long + "\nb\n", "a,too long,b"},
		{"a\n" + long + "\n", "a,too long"},
		{"a\n" + long, "a,too long"},
		{"a\n" + long[:blockSize-1], "a," + long[:blockSize-1]}, // with its line end, as long as may be
		{"a\n" + long[:blockSize], "a,too long"},
	} {
		var lines []string
		for b, err := range blocks(strings.NewReader(c.text), '\n') {
			if err != nil {
				t.Fatal(err)
			}
			if b.tooLong {
				lines = append(lines, "too long")
				if b.first != 2 || b.lines != 1 {
					t.Errorf("got line %d, %d lines; want line 2, 1 line", b.first, b.lines)
				}
				continue
			}
			splitLines(string(b.text), '\n', func(line string) bool { lines = append(lines, line); return true })
		}
		if got := strings.Join(lines, ","); got != c.want {
			t.Errorf("%d bytes: got %.50s; want %.50s", len(c.text), got, c.want)
		}
	}
}

func TestBlocksKeepWhatCameBeforeAnError(t *testing.T) {
	stored := gz(t, "http://a/\nhttp://b/\n"+strings.Repeat("c", 1000))
	f, err := Open(t.Context(), "-", bytes.NewReader(stored[:len(stored)-12]))
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	var last error
	for b, err := range blocks(f, '\n') {
		if last = err; b != nil {
			text = append(text, b.text...)
		}
	}
	if string(text) != "http://a/\nhttp://b/\n" || !errors.Is(last, io.ErrUnexpectedEOF) {
		t.Errorf("got %.30q, %v; want both lines and %v", text, last, io.ErrUnexpectedEOF)
	}
}

// TestBlocksDontWaitForASlowWriter reads lines while the writer pauses.
func TestBlocksDontWaitForASlowWriter(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close() // ends the goroutine that reads
	lines := []string{"http://a/\n", "http://b/\nhttp://", "c/\n", strings.Repeat("d", 8<<10) + "\n"}
	file := make(chan *File)
	go func() {
		f, err := Open(t.Context(), "-", r)
		if err != nil {
			t.Error(err)
		}
		file <- f
	}()
	if _, err := io.WriteString(w, lines[0]); err != nil {
		t.Fatal(err)
	}
	f := <-file
	if got := string(f.Peek(64 << 10)); got != lines[0] {
		t.Errorf("Peek: got %q; want %q", got, lines[0])
	}
	next, stop := iter.Pull2(blocks(f, '\n'))
	defer stop()
	var got strings.Builder
	for i, line := range lines {
		if i > 0 {
			go func() { _, _ = w.Write([]byte(line)) }()
		}
		b, err, _ := next()
		if err != nil {
			t.Fatal(err)
		}
		got.Write(b.text)
	}
	if want := strings.Join(lines, ""); got.String() != want {
		t.Errorf("got %q; want %q", got.String(), want)
	}
}

func TestLines(t *testing.T) {
	var got []string
	splitLines("a\r\n\nb\rc\nlast", '\n', func(line string) bool { got = append(got, line); return true })
	if want := "a||b\rc|last"; strings.Join(got, "|") != want {
		t.Errorf("got %q; want %s", got, want)
	}
}

// TestSilentPipeEndsWithTheContext ends a context while a reader waits for a pipe into
// which nothing is written.
func TestSilentPipeEndsWithTheContext(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close() // ends the goroutine that reads
	ctx, cancel := context.WithCancel(t.Context())
	head := make(chan error)
	go func() {
		_, err := io.WriteString(w, "http://a.example/\n")
		cancel()
		head <- err
	}()
	f, err := Open(ctx, "-", r)
	if err == nil {
		_, err = io.ReadAll(f)
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v; want the error of the context", err)
	}
	if err := <-head; err != nil {
		t.Error(err)
	}
}
