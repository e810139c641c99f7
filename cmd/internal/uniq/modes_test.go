package uniq

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/logs"
)

// runList runs a list and returns the output.
func runList(t *testing.T, list string, opt Options) (string, Result) {
	t.Helper()
	var out strings.Builder
	r, err := Run(t.Context(), []logs.Input{source(t.Context(), strings.NewReader(list))}, &out, opt)
	if err != nil || len(r.Errors) > 0 {
		t.Fatal(err, r.Errors)
	}
	return out.String(), r
}

// TestBeyondTheMemory leaves the sets room for few URLs: the temporary store must answer as the
// memory does, for the list and for the one it is compared with, and be removed.
func TestBeyondTheMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var list, old bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&list, "http://h%d.example/%d\n", rng.IntN(20), rng.IntN(1+i/2))
		fmt.Fprintf(&old, "http://h%d.example/%d\n", rng.IntN(20), rng.IntN(10_000))
	}
	opt := options(2)
	opt.Against = []logs.Input{source(t.Context(), bytes.NewReader(old.Bytes()))}
	want, whole := runList(t, list.String(), opt)
	for _, budget := range []int64{1, 130 << 10} {
		opt.TempDir, opt.MemoryBytes = t.TempDir(), budget
		opt.Against = []logs.Input{source(t.Context(), bytes.NewReader(old.Bytes()))}
		got, r := runList(t, list.String(), opt)
		if got != want {
			t.Errorf("%d bytes: got %d bytes of output; want the %d of a run in memory", budget, len(got), len(want))
		}
		if whole.Spilled || !r.Spilled || r.Printed != whole.Printed || r.Duplicates != whole.Duplicates || r.Known != whole.Known {
			t.Errorf("%d bytes: got %+v; want the counts of %+v, and a temporary store", budget, r, whole)
		}
		if left, err := os.ReadDir(opt.TempDir); err != nil || len(left) > 0 {
			t.Errorf("%d bytes: got %v left, %v; want the temporary store removed", budget, left, err)
		}
	}
}

// TestInterruptedBeyondTheMemory ends the context while blocks wait that the temporary store must
// look at: they were read, so they are printed, and the run has no error of its own.
func TestInterruptedBeyondTheMemory(t *testing.T) {
	var list strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&list, "http://a.example/%070d\n", i)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	read := make(chan struct{})
	out := &brokenOutput{takes: 1 << 30, before: func() {
		<-read
		interrupt()
	}}
	opt := options(2)
	opt.TempDir, opt.MemoryBytes = t.TempDir(), 1
	in := io.MultiReader(strings.NewReader(list.String()), closing{read})
	r, err := Run(ctx, []logs.Input{source(t.Context(), in)}, out, opt)
	if n := strings.Count(out.got.String(), "\n"); err != nil || !r.Spilled || int64(n) != r.Printed || r.Printed != r.URLs || n < 40_000 {
		t.Errorf("got %d lines, %+v, %v; want what was read until then", n, r, err)
	}
}

// closing closes a channel when a reader comes to its end.
type closing struct{ ended chan struct{} }

func (c closing) Read([]byte) (int, error) {
	close(c.ended)
	return 0, io.EOF
}

// hosts groups URLs by their host.
func hosts(dst, form []byte) []byte { return append(dst, canon.Host(form)...) }

func TestKeepSomeOfEachGroup(t *testing.T) {
	const list = "http://a.example/1\nhttp://A.example/1\nhttp://b.example/\nhttp://a.example/2\nhttp://a.example/3\nhttp://b.example/#x\nhttp://b.example/2\n"
	for _, c := range []struct {
		keep int
		want string
	}{
		{1, "http://a.example/1\nhttp://b.example/\n"},
		{2, "http://a.example/1\nhttp://b.example/\nhttp://a.example/2\nhttp://b.example/2\n"},
		{9, "http://a.example/1\nhttp://b.example/\nhttp://a.example/2\nhttp://a.example/3\nhttp://b.example/2\n"},
	} {
		opt := options(2)
		opt.Group, opt.Keep = hosts, c.keep
		got, r := runList(t, list, opt)
		if got != c.want || r.URLs != r.Printed+r.Duplicates {
			t.Errorf("keep %d: got %q, %+v; want %q", c.keep, got, r, c.want)
		}
	}
}

// TestCountsAndDuplicatesAreThoseOfAMap compares the ledger with a map, in memory and beyond it:
// the duplicates of first URLs that the memory has no room for are printed at the end.
func TestCountsAndDuplicatesAreThoseOfAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var list, wantCounts strings.Builder
	var order, duplicates, forms []string
	first, n, rank := map[string]string{}, map[string]int{}, map[string]int{}
	for i := range 15_000 {
		raw := fmt.Sprintf("http://a.example/%d?x=%d#%d", rng.IntN(1+i/3), rng.IntN(2), i)
		form, err := canon.Qiita().Canonicalize(raw)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&list, raw)
		if n[form]++; n[form] == 1 {
			first[form], rank[form], order = raw, len(order), append(order, form)
		} else {
			duplicates, forms = append(duplicates, fmt.Sprintf("%s\t%s\ta,b\n", raw, first[form])), append(forms, form)
		}
	}
	for _, form := range order {
		fmt.Fprintf(&wantCounts, "%7d %s\n", n[form], first[form])
	}
	for _, room := range []int{300, 2000, len(order)} {
		var early, late strings.Builder
		for i, form := range forms {
			if rank[form] < room {
				early.WriteString(duplicates[i])
			} else {
				late.WriteString(duplicates[i])
			}
		}
		opt := options(2)
		opt.TempDir, opt.MemoryBytes = t.TempDir(), ledgerEntry*int64(room)
		opt.Duplicates, opt.Why = true, func(_, _ []byte) []string { return []string{"a", "b"} }
		got, r := runList(t, list.String(), opt)
		if got != early.String()+late.String() || r.Printed != r.Duplicates || r.Duplicates != int64(len(forms)) || r.Spilled != (room < len(order)) {
			t.Errorf("room for %d: got %d bytes of duplicates, %+v; want %d of %d lines", room, len(got), r, early.Len()+late.Len(), len(forms))
		}
		opt.Duplicates, opt.Count = false, true
		got, r = runList(t, list.String(), opt)
		if got != wantCounts.String() || r.Printed != int64(len(order)) || r.Duplicates != int64(len(forms)) {
			t.Errorf("room for %d: got %d bytes of counts, %+v; want %d of %d lines", room, len(got), r, wantCounts.Len(), len(order))
		}
		wantNothingIn(t, opt.TempDir)
	}
	opt := options(2)
	opt.TempDir, opt.Count, opt.MemoryBytes = t.TempDir(), true, ledgerEntry
	_, err := Run(t.Context(), []logs.Input{source(t.Context(), strings.NewReader(list.String()))}, io.Discard, opt)
	if err == nil || !strings.Contains(err.Error(), "--memory") {
		t.Errorf("got %v; want an error that names --memory, as a part does not fit either", err)
	}
	wantNothingIn(t, opt.TempDir)
}

// wantNothingIn checks that the temporary files were removed.
func wantNothingIn(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("got %v left, %v; want the temporary files removed", left, err)
	}
}

// TestDuplicatesBeyondTheMemoryHaveTheirGroup: --show-shape with -d.
func TestDuplicatesBeyondTheMemoryHaveTheirGroup(t *testing.T) {
	opt := options(2)
	opt.TempDir, opt.MemoryBytes, opt.Group = t.TempDir(), ledgerEntry, hosts
	opt.Duplicates, opt.ShowGroup, opt.Why = true, true, func(_, _ []byte) []string { return []string{"same host"} }
	got, _ := runList(t, "http://a.example/1\nhttp://b.example/1\nhttp://b.example/2\nhttp://a.example/2\n", opt)
	want := "http://a.example/2\thttp://a.example/1\ta.example\tsame host\nhttp://b.example/2\thttp://b.example/1\tb.example\tsame host\n"
	if got != want {
		t.Errorf("got %q; want %q", got, want)
	}
}

// TestPrintedURLsAreTheSame prints URLs of any bytes in each form for lines: what is read there has the same canonical form, and in
// JSON the bytes that were found.
func TestPrintedURLsAreTheSame(t *testing.T) {
	random, p := rand.New(rand.NewPCG(3, 4)), canon.Qiita()
	parts := []string{"a", "\n", "\r", "\t", "\x00", "\xe9", "\xff\xfe", "ü", "%", "/", "?", "&x=", " ", "\"", "\xc3"}
	for range 2000 {
		url := "http://a.example/"
		for range random.IntN(8) {
			url += parts[random.IntN(len(parts))]
		}
		want, err := p.Canonicalize(url)
		if err != nil {
			t.Fatalf("%q: %v", url, err)
		}
		for _, form := range []Form{Text, JSON} {
			opt := options(1).Output
			opt.Form, opt.Canonical = form, p.AppendCanonical
			out := newPrinter(&opt, io.Discard)
			out.url(&item{text: []byte(url)})
			line, rest, _ := strings.Cut(out.buf.String(), "\n")
			got := line
			if form == JSON {
				var o outLine
				if err := json.Unmarshal([]byte(line), &o); err != nil || o.Canonical != want || len(o.Bytes) > 0 && string(o.Bytes) != url {
					t.Errorf("%q: got %s, %v; want the same URL", url, line, err)
				}
				got = o.URL
			}
			if form, err := p.Canonicalize(got); err != nil || form != want || rest != "" {
				t.Errorf("%q: got %q, %q, %v; want a line of the form %q", url, got, rest, err, want)
			}
		}
	}
}

// TestLinesEndWithNUL: a list with NULs may have line feeds in its URLs.
func TestLinesEndWithNUL(t *testing.T) {
	opt := options(2)
	opt.End = 0
	var out strings.Builder
	const list = "http://a.example/1\x00http://a.example/\n1\x00\x00http://a.example/2\r\x00http://a.example/3"
	r, err := Run(t.Context(), []logs.Input{sourceOf(t.Context(), strings.NewReader(list), logs.Options{Zero: true})}, &out, opt)
	if want := "http://a.example/1\x00http://a.example/2\r\x00http://a.example/3\x00"; err != nil || out.String() != want || r.Duplicates != 1 {
		t.Errorf("got %q, %+v, %v; want %q", out.String(), r, err, want)
	}
}
