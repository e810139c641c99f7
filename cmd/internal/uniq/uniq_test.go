package uniq

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/logs"
)

// source is an input that reads r.
func source(ctx context.Context, r io.Reader) logs.Input {
	return sourceOf(ctx, r, logs.Options{})
}

func sourceOf(ctx context.Context, r io.Reader, opt logs.Options) logs.Input {
	return logs.Input{Name: "-", Open: func() iter.Seq2[*logs.Batch, error] {
		f, err := logs.Open(ctx, "-", r)
		if err != nil {
			return func(yield func(*logs.Batch, error) bool) { yield(nil, err) }
		}
		return logs.Read(f, opt)
	}}
}

func options(workers int) Options {
	return Options{Identify: canon.Qiita().AppendCanonical, Output: Output{End: '\n'}, Workers: workers}
}

// TestRunIsWhatAMapWouldDo compares the output with that of a map, for any number of workers
// and a list that repeats itself near and far.
func TestRunIsWhatAMapWouldDo(t *testing.T) {
	const urls = 60_000
	rng := rand.New(rand.NewPCG(1, 2))
	var list, want bytes.Buffer
	seen := map[string]bool{}
	profile := canon.Qiita()
	for i := range urls {
		raw := fmt.Sprintf("http://h%d.example/p%d?b=2&a=%d", rng.IntN(20), rng.IntN(1+i/10), rng.IntN(3))
		switch rng.IntN(10) {
		case 0:
			raw = strings.ToUpper(raw[:12]) + raw[12:] + "#top"
		case 1:
			raw = "no url " + raw
		}
		fmt.Fprintln(&list, raw)
		if form, err := profile.Canonicalize(raw); err == nil && !seen[form] {
			seen[form] = true
			fmt.Fprintln(&want, raw)
		}
	}
	for _, workers := range []int{1, 2, 7} {
		var got bytes.Buffer
		r, err := Run(t.Context(), []logs.Input{source(t.Context(), bytes.NewReader(list.Bytes()))}, &got, options(workers))
		if err != nil || len(r.Errors) > 0 {
			t.Fatal(err, r.Errors)
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%d workers: got %d bytes; want the %d of the map", workers, got.Len(), want.Len())
		}
		if r.URLs != urls || r.Printed != int64(len(seen)) || r.URLs != r.Printed+r.Duplicates+r.Refused || r.Refused < urls/20 {
			t.Errorf("%d workers: got %+v; want counts that add up", workers, r)
		}
	}
}

// TestRunPassesLinesOnWhileItWaits reads each line before the next one is written.
func TestRunPassesLinesOnWhileItWaits(t *testing.T) {
	for _, line := range []string{"http://a.example/%d", `{"url": "http://a.example/%d"}`} {
		in, feed := io.Pipe()
		out, printed := io.Pipe()
		go func() {
			_, err := Run(t.Context(), []logs.Input{source(t.Context(), in)}, printed, options(2))
			_ = printed.CloseWithError(err)
		}()
		buf := make([]byte, 100)
		for i := range 5 {
			if _, err := fmt.Fprintf(feed, line+"\n", i); err != nil {
				t.Fatal(err)
			}
			n, err := out.Read(buf)
			if want := fmt.Sprintf("http://a.example/%d\n", i); err != nil || string(buf[:n]) != want {
				t.Fatalf("got %q, %v; want %q", buf[:n], err, want)
			}
		}
		_ = feed.Close()
		if _, err := out.Read(buf); err != io.EOF {
			t.Errorf("got %v; want the end", err)
		}
	}
}

// TestRunEndsWithItsOutput: a reader that went away ends the run, whatever the input has.
func TestRunEndsWithItsOutput(t *testing.T) {
	gone := errors.New("gone")
	out, printed := io.Pipe()
	_ = out.CloseWithError(gone)
	list := strings.Repeat("http://a.example/"+strings.Repeat("x", 1000)+"\n", 50_000)
	if _, err := Run(t.Context(), []logs.Input{source(t.Context(), strings.NewReader(list))}, printed, options(2)); !errors.Is(err, gone) {
		t.Errorf("got %v; want %v", err, gone)
	}
}

// TestInvalidLinesStayAsTheyAre: only what would end the line goes.
func TestInvalidLinesStayAsTheyAre(t *testing.T) {
	for _, c := range []struct {
		text string
		end  byte
		want string
	}{
		{" not a url\tnote\r", '\n', " not a url\tnote\r\n"},
		{"not\x00a url\xff", '\n', "not\x00a url\xff\n"},
		{"not\na url", '\n', "nota url\n"},
		{"not\na\turl", 0, "not\na\turl\x00"},
	} {
		out := newPrinter(&Output{End: c.end}, io.Discard)
		out.invalid(&item{text: []byte(c.text)})
		if got := out.buf.String(); got != c.want {
			t.Errorf("%q: got %q; want %q", c.text, got, c.want)
		}
	}
}
