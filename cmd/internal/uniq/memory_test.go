package uniq

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// brokenOutput takes some bytes and then fails; it calls before with each write.
type brokenOutput struct {
	takes  int
	got    strings.Builder
	before func()
}

var errFull = errors.New("no space left")

func (o *brokenOutput) Write(p []byte) (int, error) {
	o.before()
	n := min(len(p), o.takes)
	o.takes -= n
	o.got.Write(p[:n])
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

func openStore(t *testing.T) *pebblestore.Store {
	t.Helper()
	s, err := pebblestore.Open(t.TempDir(), pebblestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Prepare(t.Context(), store.Terms{Identity: store.IdentityOf(canon.Qiita())}); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestMemoryHasWhatWasPrinted: a URL is recorded after it was written, so that a kill
// swallows none, and only if all of it was written.
func TestMemoryHasWhatWasPrinted(t *testing.T) {
	const list = "http://a.example/1\nhttp://a.example/2\nhttp://a.example/3\nhttp://A.example/1\n"
	for _, c := range []struct{ takes, recorded int64 }{{0, 0}, {18, 0}, {19, 1}, {56, 2}, {57, 3}} {
		s := openStore(t)
		seen := func() int64 {
			stats, err := s.Stats(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			return stats.Seen
		}
		out := &brokenOutput{takes: int(c.takes), before: func() {
			if n := seen(); n != 0 {
				t.Errorf("got %d URLs recorded before the output was written; want none", n)
			}
		}}
		opt := options(2)
		opt.Memory = &Memory{Store: s, Unicode: canon.Qiita().HasUnicodeHost}
		_, err := Run(t.Context(), []logs.Input{source(t.Context(), strings.NewReader(list))}, out, opt)
		if failed := errors.Is(err, errFull); failed != (c.takes < 57) || err != nil && !failed {
			t.Errorf("%d bytes: got %v", c.takes, err)
		}
		if n := seen(); n != c.recorded {
			t.Errorf("%d bytes: got %d URLs recorded; want the %d that were printed whole", c.takes, n, c.recorded)
		}
		// The next run prints the rest.
		again := &brokenOutput{takes: 1 << 20, before: func() {}}
		r, err := Run(t.Context(), []logs.Input{source(t.Context(), strings.NewReader(list))}, again, opt)
		if err != nil || r.Printed != 3-c.recorded || r.Known != c.recorded {
			t.Errorf("%d bytes, again: got %+v, %v; want %d printed", c.takes, r, err, 3-c.recorded)
		}
		_ = s.Close()
	}
}

// failing is a store whose See fails.
type failing struct{ Remembering }

func (failing) See(context.Context, string, []store.Key, []bool, store.SeeOptions) error {
	return store.ErrFailed
}

func TestMemoryThatFailsEndsTheRun(t *testing.T) {
	s := openStore(t)
	defer s.Close()
	opt := options(2)
	opt.Memory = &Memory{Store: failing{s}, Unicode: canon.Qiita().HasUnicodeHost}
	out := &brokenOutput{takes: 1 << 20, before: func() {}}
	_, err := Run(t.Context(), []logs.Input{source(t.Context(), strings.NewReader("http://a.example/\n"))}, out, opt)
	if !errors.Is(err, store.ErrFailed) || out.got.String() != "http://a.example/\n" {
		t.Errorf("got %v, %q; want the URL printed, and the store's error", err, out.got.String())
	}
}

// TestBothErrorsAreReported: a closed pipe and a store that fails come together.
func TestBothErrorsAreReported(t *testing.T) {
	s := openStore(t)
	defer s.Close()
	opt := options(2)
	opt.Memory = &Memory{Store: failing{s}, Unicode: canon.Qiita().HasUnicodeHost}
	out := &brokenOutput{takes: 19, before: func() {}}
	_, err := Run(t.Context(), []logs.Input{source(t.Context(), strings.NewReader("http://a.example/1\nhttp://a.example/2\n"))}, out, opt)
	if !errors.Is(err, store.ErrFailed) || !errors.Is(err, errFull) {
		t.Errorf("got %v; want the error of the output and that of the store", err)
	}
}

// TestAgainstIsReadWhole: where the list to compare with breaks off, nothing is printed.
func TestAgainstIsReadWhole(t *testing.T) {
	opt := options(2)
	opt.Against = []logs.Input{source(t.Context(), strings.NewReader("\x1f\x8bnot gzip"))}
	out := &brokenOutput{takes: 1 << 20, before: func() {}}
	if _, err := Run(t.Context(), []logs.Input{source(t.Context(), strings.NewReader("http://a.example/\n"))}, out, opt); err == nil || out.got.Len() > 0 {
		t.Errorf("got %v, %q; want an error and no output", err, out.got.String())
	}
}
