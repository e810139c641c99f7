package logs

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadLine(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	r := bufio.NewReaderSize(strings.NewReader("a\n"+long+"\n\nb\n"+long[:99]+"\n"+long[:100]+"\nlast"), 16)
	type line struct {
		text    string
		tooLong int64
		err     error
	}
	for i, want := range []line{
		{"a\n", 0, nil}, {long[:64], 100_001, nil}, {"\n", 0, nil}, {"b\n", 0, nil},
		{long[:99] + "\n", 0, nil}, {long[:64], 101, nil}, {"last", 0, io.EOF}, {"", 0, io.EOF},
	} {
		text, tooLong, err := ReadLine(r, 100)
		if got := (line{string(text), tooLong, err}); got != want {
			t.Errorf("line %d: got %+v; want %+v", i, got, want)
		}
	}
}

func TestReadLineEndsWithTheInput(t *testing.T) {
	broken := errors.New("broken")
	for _, end := range []error{io.EOF, broken} {
		in := io.MultiReader(strings.NewReader(strings.Repeat("x", 200)), iotest.ErrReader(end))
		line, tooLong, err := ReadLine(bufio.NewReaderSize(in, 16), 100)
		if len(line) != 64 || tooLong != 200 || !errors.Is(err, end) {
			t.Errorf("got %d bytes of %d, %v; want 64 of 200, %v", len(line), tooLong, err, end)
		}
	}
}
