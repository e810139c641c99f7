package synth

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"strings"
	"testing"
)

func web(t testing.TB, opt Options) *Web {
	t.Helper()
	w, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func write(t testing.TB, w *Web, opt WriteOptions) (string, Written) {
	t.Helper()
	var out bytes.Buffer
	done, err := w.Write(context.Background(), &out, opt)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), done
}

func TestSameBytesForAnyNumberOfWorkers(t *testing.T) {
	w := web(t, Options{Hosts: 80, Window: 8, Quantum: 4})
	for _, f := range Formats() {
		want, _ := write(t, w, WriteOptions{Format: f, Workers: 1})
		for _, workers := range []int{2, 5} {
			if got, _ := write(t, w, WriteOptions{Format: f, Workers: workers}); md5.Sum([]byte(got)) != md5.Sum([]byte(want)) {
				t.Errorf("%s: got other bytes with %d workers", f, workers)
			}
		}
	}
}

func TestGoesOnFromAnyPage(t *testing.T) {
	w := web(t, Options{Hosts: 100, Window: 16, Quantum: 3})
	for _, f := range []Format{URLs, CDX} {
		whole, _ := write(t, w, WriteOptions{Format: f})
		for _, from := range []int64{1, 255, 256, 700, w.Pages()} {
			rest, _ := write(t, w, WriteOptions{Format: f, From: from})
			if !strings.HasSuffix(whole, rest) || from < w.Pages() && rest == "" {
				t.Errorf("%s: what page %d begins isn't the end of the whole", f, from)
			}
		}
	}
}

func TestLinesCutTheOutput(t *testing.T) {
	w := web(t, Options{Hosts: 50})
	whole, all := write(t, w, WriteOptions{})
	for _, n := range []int64{1, 2, 63, 5000, all.Lines, all.Lines + 1} {
		got, done := write(t, w, WriteOptions{Lines: n})
		if want := min(n, all.Lines); done.Lines != want || int64(strings.Count(got, "\n")) != want {
			t.Errorf("got %d lines, said %d; want %d", strings.Count(got, "\n"), done.Lines, want)
		}
		if !strings.HasPrefix(whole, got) {
			t.Errorf("the first %d lines aren't those of the whole", n)
		}
	}
}

// TestNoSpellingHasTwoIdentities: the planted truth contradicts itself nowhere.
func TestNoSpellingHasTwoIdentities(t *testing.T) {
	w := web(t, Options{Hosts: 2000, Pages: 30_000, Params: 0.3})
	for _, f := range []Format{Truth, Captures} {
		text, _ := write(t, w, WriteOptions{Format: f, Lines: 600_000})
		identity := map[string]string{}
		rules := map[string]int{}
		for line := range strings.Lines(text) {
			fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			if known, ok := identity[fields[0]]; ok && known != fields[1] {
				t.Fatalf("%s: %s is both %s and %s", f, fields[0], known, fields[1])
			}
			identity[fields[0]] = fields[1]
			rules[fields[2]]++
		}
		for r := Own; r < numRules; r++ {
			if rules[r.String()] == 0 && !(f == Captures && r == Fragment) && !(f == Truth && r >= NeutralParam) {
				t.Errorf("%s: no spelling by %s", f, r)
			}
		}
	}
}

func TestLinkStreamRepeatsAsRealOnesDo(t *testing.T) {
	w := web(t, Options{Hosts: 3000, Pages: 30_000, Nav: 40})
	text, done := write(t, w, WriteOptions{})
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		seen[line] = true
	}
	dup := 1 - float64(len(seen))/float64(done.Lines)
	if dup < 0.85 || dup > 0.98 {
		t.Errorf("got %.1f %% exact duplicates; want 85 to 98", 100*dup)
	}
}

func TestRefusesWhatMakesNoWeb(t *testing.T) {
	for _, opt := range []Options{{Hosts: -1}, {Pages: -2}, {Cross: 1.5}, {Variant: -0.1}, {Window: -1}, {Links: 1e9}} {
		if _, err := New(opt); err == nil {
			t.Errorf("got a web of %+v; want an error", opt)
		}
	}
	w := web(t, Options{Hosts: 10})
	for _, opt := range []WriteOptions{{Format: "xml"}, {From: -1}, {From: w.Pages() + 1}} {
		if _, err := w.Write(context.Background(), &bytes.Buffer{}, opt); err == nil {
			t.Errorf("wrote %+v; want an error", opt)
		}
	}
}

func TestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	w := web(t, Options{Hosts: 5000})
	_, err := w.Write(ctx, cancelAfter{cancel}, WriteOptions{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v; want that the context was cancelled", err)
	}
}

// cancelAfter cancels with the first bytes it is given.
type cancelAfter struct{ cancel func() }

func (c cancelAfter) Write(p []byte) (int, error) {
	if len(p) > 0 {
		c.cancel()
	}
	return len(p), nil
}

func BenchmarkLinks(b *testing.B) {
	w := web(b, Options{Hosts: 100_000})
	var n countWriter
	done, err := w.Write(context.Background(), &n, WriteOptions{Lines: int64(b.N)})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(n) / max(1, done.Lines))
}

type countWriter int64

func (c *countWriter) Write(p []byte) (int, error) { *c += countWriter(len(p)); return len(p), nil }
