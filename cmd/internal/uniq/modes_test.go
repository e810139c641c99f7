package uniq

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/replay"
)

// runList runs a list and returns the output.
func runList(t *testing.T, list string, opt Options) (string, Result) {
	t.Helper()
	var out strings.Builder
	r, err := Run(t.Context(), []replay.Input{source(t.Context(), strings.NewReader(list))}, &out, opt)
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
	for i := range 60_000 {
		fmt.Fprintf(&list, "http://h%d.example/%d\n", rng.IntN(20), rng.IntN(1+i/2))
		fmt.Fprintf(&old, "http://h%d.example/%d\n", rng.IntN(20), rng.IntN(30_000))
	}
	opt := options(2)
	opt.Against = []replay.Input{source(t.Context(), bytes.NewReader(old.Bytes()))}
	want, whole := runList(t, list.String(), opt)
	for _, budget := range []int64{1, 400 << 10} {
		opt.TempDir, opt.MemoryBytes = t.TempDir(), budget
		opt.Against = []replay.Input{source(t.Context(), bytes.NewReader(old.Bytes()))}
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

// TestCountsAndDuplicatesAreThoseOfAMap compares the ledger with a map, over a list whose first
// URLs are in the file and in its buffer.
func TestCountsAndDuplicatesAreThoseOfAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var list, wantDuplicates, wantCounts strings.Builder
	var order []string
	first, n := map[string]string{}, map[string]int{}
	for i := range 50_000 {
		raw := fmt.Sprintf("http://a.example/%d?x=%d#%d", rng.IntN(1+i/3), rng.IntN(2), i)
		form, err := canon.Qiita().Canonicalize(raw)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&list, raw)
		if n[form]++; n[form] == 1 {
			first[form], order = raw, append(order, form)
		} else {
			fmt.Fprintf(&wantDuplicates, "%s\t%s\ta,b\n", raw, first[form])
		}
	}
	for _, form := range order {
		fmt.Fprintf(&wantCounts, "%7d %s\n", n[form], first[form])
	}
	opt := options(2)
	opt.TempDir = t.TempDir()
	opt.Duplicates, opt.Why = true, func(_, _ []byte) []string { return []string{"a", "b"} }
	if got, r := runList(t, list.String(), opt); got != wantDuplicates.String() || r.Printed != r.Duplicates {
		t.Errorf("got %d bytes of duplicates, %+v; want %d", len(got), r, wantDuplicates.Len())
	}
	opt = options(2)
	opt.TempDir, opt.Count = t.TempDir(), true
	if got, _ := runList(t, list.String(), opt); got != wantCounts.String() {
		t.Errorf("got %d bytes of counts; want %d", len(got), wantCounts.Len())
	}
	opt.MemoryBytes = 100_000
	_, err := Run(t.Context(), []replay.Input{source(t.Context(), strings.NewReader(list.String()))}, io.Discard, opt)
	if err == nil || !strings.Contains(err.Error(), "--memory") {
		t.Errorf("got %v; want an error that names --memory", err)
	}
	if left, err := os.ReadDir(opt.TempDir); err != nil || len(left) > 0 {
		t.Errorf("got %v left, %v; want the file of first URLs removed", left, err)
	}
}

// TestLinesEndWithNUL: a list with NULs may have line feeds in its URLs.
func TestLinesEndWithNUL(t *testing.T) {
	opt := options(2)
	opt.End = 0
	var out strings.Builder
	const list = "http://a.example/1\x00http://a.example/\n1\x00\x00http://a.example/2\r\x00http://a.example/3"
	r, err := Run(t.Context(), []replay.Input{sourceOf(t.Context(), strings.NewReader(list), replay.LogOptions{Zero: true})}, &out, opt)
	if want := "http://a.example/1\x00http://a.example/2\r\x00http://a.example/3\x00"; err != nil || out.String() != want || r.Duplicates != 1 {
		t.Errorf("got %q, %+v, %v; want %q", out.String(), r, err, want)
	}
}
