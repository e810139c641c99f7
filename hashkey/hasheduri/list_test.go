package hasheduri

import (
	"bytes"
	"crypto/sha512"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func list(t testing.TB, h Hasher, lines ...string) *List {
	t.Helper()
	l, err := ReadList(strings.NewReader(strings.Join(lines, "\n")), h)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// algorithms are two private ones, of unusual sizes.
func algorithms(t testing.TB) Algorithms {
	t.Helper()
	a, err1 := Algorithms{}.With("x-fnv", func() hash.Hash { return fnv.New32a() })
	a, err2 := a.With("X-SHA512", sha512.New)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestListAgreesWithMatch: what a list finds is what Match would, entry by entry.
func TestListAgreesWithMatch(t *testing.T) {
	private := algorithms(t)
	var lines []string
	var entries []URI
	for i := range 3000 {
		h := Hasher{
			Variant: N, KeepQuery: i%2 == 0, KeepFragment: i%3 == 0, Algorithms: private,
			Algorithm: []string{"md5", "sha1", "x-sha256", "x-sha512", "x-fnv"}[i%5],
		}
		u, err := h.Sum(fmt.Sprintf("http://host%d.example/p?q=%d#f", i, i))
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, u)
		lines = append(lines, " "+u.String()+" \r", "# a comment", "")
	}
	h := Hasher{Variant: N, Algorithms: private}
	l := list(t, h, append(lines, lines[:300]...)...)
	if l.Len() != len(entries) {
		t.Errorf("got %d entries; want %d", l.Len(), len(entries))
	}
	for i := range 3100 {
		for _, url := range []string{
			fmt.Sprintf("HTTP://HOST%d.example:80/p?q=%d#f", i, i), fmt.Sprintf("http://host%d.example/p", i), fmt.Sprintf("http://host%d.example/p?q=%d", i, i),
		} {
			want := false
			if i < len(entries) {
				want, _ = h.Match(entries[i], url)
			}
			entry, got := l.Match(url)
			if got != want || got && entry != entries[i] || l.Excluded(url) != want {
				t.Errorf("%s: got %v, %t; want %t", url, entry, got, want)
			}
		}
	}
	if _, ok := l.Match("//host1.example/p"); ok {
		t.Error("got a match for a relative reference; want none")
	}
}

// TestExcludedKnowsTheEmptyPath: the draft's own example has no slash; a canonical form has.
func TestExcludedKnowsTheEmptyPath(t *testing.T) {
	l := list(t, Hasher{Variant: N}, "hashed:sha1=87ed28009f511ed7ef630180a229ba257180a481") // http://www.thus.net
	for url, want := range map[string][2]bool{                                               // Match, Excluded
		"http://www.thus.net": {true, true}, "http://www.thus.net/": {false, true}, "http://www.thus.net/?q#f": {false, true},
		"http://www.thus.net/a": {false, false}, "http://www.thus.net//": {false, false}, "/": {false, false}, "x:/": {false, false},
	} {
		if _, ok := l.Match(url); ok != want[0] || l.Excluded(url) != want[1] {
			t.Errorf("%s: got %t, %t; want %v", url, ok, l.Excluded(url), want)
		}
	}
}

func TestEmptyList(t *testing.T) {
	l := list(t, Hasher{}, "", "# nothing")
	if l.Len() != 0 || l.Excluded("http://h/") {
		t.Errorf("got %d entries, or a match; want none", l.Len())
	}
}

func TestListErrorsNameTheLine(t *testing.T) {
	good := "hashed:md5=cd933f3b87ee60e58917448c9678ee32"
	for _, c := range []struct {
		name, text, where string
		want              error
	}{
		{"not a hashed URI", good + "\n\nhttp://h/\n" + good, "line 3:", ErrScheme},
		{"wrong digits", "# c\n" + good + "x", "line 2:", ErrBadHex},
		{"unknown private algorithm", "hashed:x-mine=00", "line 1:", ErrUnknownAlgorithm},
		{"private algorithm with other digits", good + "\nhashed:x-sha256=00", "line 2:", ErrHashLength},
		{"binary", "\x00\x01", "line 1:", ErrScheme},
		{"endless line", good + "\n" + strings.Repeat("0", maxLine+1), "line 2:", nil},
	} {
		_, err := ReadList(strings.NewReader(c.text), Hasher{})
		if err == nil || !strings.Contains(err.Error(), c.where) || c.want != nil && !errors.Is(err, c.want) || len(err.Error()) > 500 {
			t.Errorf("%s: got %v; want %s and %v", c.name, err, c.where, c.want)
		}
	}
	broken := errors.New("disk gone")
	_, err := ReadList(io.MultiReader(strings.NewReader(good+"\n"+good+"\n"), iotest.ErrReader(broken)), Hasher{})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "after line 2") {
		t.Errorf("got %v; want %v after line 2", err, broken)
	}
}

// TestCraftedDigests: digests that all begin alike are found all
// the same.
func TestCraftedDigests(t *testing.T) {
	const n, size = 20_000, 20
	flat := make([]byte, 0, n*size)
	for i := range n {
		flat = append(flat, fmt.Sprintf("%012d%08d", 0, i*7919%n)...)
	}
	d := newDigests(flat, size)
	if d.Len() != n {
		t.Fatalf("got %d digests; want %d", d.Len(), n)
	}
	for i := range n {
		if !d.has(fmt.Appendf(nil, "%012d%08d", 0, i)) || d.has(fmt.Appendf(nil, "%012d%08d", 0, n+i)) {
			t.Fatalf("digest %d: not found, or one found that is not there", i)
		}
	}
}

// TestCraftedRepeats: so do those that are all equal. A sort that compares each with each
// would take minutes.
func TestCraftedRepeats(t *testing.T) {
	const n, size = 200_000, 20
	one := []byte("12345678901234567890")
	d := newDigests(bytes.Repeat(one, n), size)
	if d.Len() != 1 || !d.has(one) || d.has([]byte("12345678901234567891")) {
		t.Errorf("got %d digests of one repeated; want it alone", d.Len())
	}
}
