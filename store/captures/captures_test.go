package captures

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firstseen/firstseen/store"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func open(t testing.TB, dir string, opt Options) *Sample {
	t.Helper()
	s, err := Open(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // most tests have closed it
	return s
}

func list(t testing.TB, s *Sample) (all []Capture) {
	t.Helper()
	for c, err := range s.All() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

func add(t testing.TB, s *Sample, all ...Capture) {
	t.Helper()
	if err := s.Add(all...); err != nil {
		t.Fatal(err)
	}
}

func TestFirstAndLatest(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	visit := func(n int) Capture {
		return Capture{URL: "http://a.example/p?x=1", Time: noon.Add(time.Duration(n) * time.Hour), Status: 200, Digest: fmt.Sprint("d", n)}
	}
	add(t, s, visit(0), visit(1), visit(2), Capture{URL: "mailto:nobody"})
	want := []Capture{visit(0), visit(2)}
	if got := list(t, s); !slices.Equal(got, want) {
		t.Errorf("got %v; want %v", got, want)
	}
	if got := s.Stats(); got != (Stats{Rows: 2, Share: 1, Taken: 3}) {
		t.Errorf("got %+v; want two rows of three captures", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := list(t, open(t, dir, Options{readOnly: true})); !slices.Equal(got, want) {
		t.Errorf("reopened: got %v; want %v", got, want)
	}
}

// Every spelling that a rule might merge is of one place, so that pairs stay together.
func TestPlaces(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	same := []string{"http://a.example/p", "https://www.a.example/P/", "http://a.example/p/index.html?b=1", "http://a.example//p;jsessionid=1?sid=2#x"}
	hash := func(url string) uint64 {
		form, err := s.coarse.AppendCanonical(nil, []byte(url))
		if err != nil {
			t.Fatal(err)
		}
		return hash64(form)
	}
	for _, u := range same[1:] {
		if hash(u) != hash(same[0]) {
			t.Errorf("%q and %q are of two places; want one", same[0], u)
		}
	}
	for _, u := range []string{"http://b.example/p", "http://a.example/q", "http://a.example:81/p"} {
		if hash(u) == hash(same[0]) {
			t.Errorf("%q and %q are of one place; want two", same[0], u)
		}
	}
}

// A full sample drops whole places, keeps the others whole, and takes none of the dropped again.
func TestHalving(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{MaxRows: 500})
	capture := func(place, spelling int) Capture {
		return Capture{URL: fmt.Sprintf("http://h%d.example/?v=%d", place, spelling), Time: noon, Status: 200, Digest: "d"}
	}
	const places, spellings = 1000, 4
	for v := range spellings {
		for p := range places {
			add(t, s, capture(p, v))
		}
	}
	count := map[string]int{}
	for _, c := range list(t, s) {
		place, _, _ := strings.Cut(c.URL, "?")
		count[place]++
	}
	for place, n := range count {
		if n != spellings {
			t.Errorf("%s has %d spellings; want all %d", place, n, spellings)
		}
	}
	st := s.Stats()
	if st.Rows > 500 || st.Rows < 100 || st.Rows != len(count)*spellings {
		t.Errorf("got %d rows of %d places; want 100 to 500, all listed", st.Rows, len(count))
	}
	if want := float64(len(count)) / places; st.Share < want/2 || st.Share > want*2 {
		t.Errorf("got share %v; want about %v", st.Share, want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir, Options{MaxRows: 500}).Stats()
	if again.Rows != st.Rows || again.Share != st.Share {
		t.Errorf("reopened: got %+v; want %+v", again, st)
	}
}

func TestOnePlaceIsBounded(t *testing.T) {
	s := open(t, t.TempDir(), Options{maxVariants: 10})
	for i := range 100 {
		add(t, s, Capture{URL: fmt.Sprintf("http://a.example/search?q=%d", i), Time: noon, Digest: "d"})
	}
	if st := s.Stats(); st.Rows != 10 || st.Full != 90 {
		t.Errorf("got %+v; want 10 rows, 90 left out", st)
	}
}

func TestConcurrentUse(t *testing.T) {
	s := open(t, t.TempDir(), Options{MaxRows: 300})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(g)))
			for range 300 {
				if err := s.Add(Capture{URL: fmt.Sprintf("http://h%d.example/", r.IntN(500)), Time: noon, Digest: "d"}); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for range 10 {
				for _, err := range s.All() {
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if got, want := len(list(t, s)), s.Stats().Rows; got != want || got > 300 {
		t.Errorf("got %d captures; want the %d counted, at most 300", got, want)
	}
}

// What is offered before Close is there after it; what finds no room is counted.
func TestOffer(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	const n = 3 * waiting
	for i := range n {
		s.Offer(Capture{URL: fmt.Sprintf("http://h%d.example/", i), Time: noon, Digest: "d"})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	st := s.Stats()
	if got := len(list(t, open(t, dir, Options{}))); got != st.Rows || int64(got)+st.Dropped != n {
		t.Errorf("got %d captures, %d dropped; want %d in all", got, st.Dropped, n)
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{filepath.Join(dir, "nowhere"), dir} {
		if _, err := Open(name, Options{readOnly: true}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v for a sample that isn't there to read, %s; want %v", err, name, fs.ErrNotExist)
		}
		if _, _, err := Verify(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Verify: got %v; want %v", err, fs.ErrNotExist)
		}
	}
	occupied := filepath.Join(dir, "file")
	if err := os.WriteFile(occupied, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(occupied, Options{}); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v for a sample that can't be made; want another error than %v", err, fs.ErrNotExist)
	}
	s := open(t, dir, Options{})
	if _, err := Open(dir, Options{}); !errors.Is(err, store.ErrLocked) {
		t.Errorf("got %v for a sample that is being written; want %v", err, store.ErrLocked)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Add(Capture{URL: "http://a.example/"}); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v; want ErrClosed", err)
	}
	for _, err := range s.All() {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("got %v; want ErrClosed", err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "captures.log"), []byte("firstseen captures v3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, store.ErrFormat) {
		t.Errorf("got %v for a later version; want %v", err, store.ErrFormat)
	}
}

// TestTexts keeps texts of any bytes as they are.
func TestTexts(t *testing.T) {
	dir := t.TempDir()
	want := []Capture{{URL: "http://a.example/caf\xe9\t\n\"\\ é", Time: time.Unix(-5, 0).UTC(), Status: 999, Digest: "\x00\xff", Redirect: "\u2028",
		Canonical: "http://a.example/\xff", NoVarySearch: "params=(\"a\")", CleanParam: "a\tb\nc"}}
	s := open(t, dir, Options{})
	add(t, s, want...)
	add(t, s, Capture{URL: "http://b.example/", Digest: strings.Repeat("d", maxText+1)}, Capture{URL: "http://c.example/?" + strings.Repeat("x", maxLine)})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := list(t, open(t, dir, Options{})); !slices.Equal(got, want) {
		t.Errorf("got %+v; want %+v", got, want)
	}
}

// TestListingsTakeLittleMemory: a listing needs room for its longest line, not for the longest there may be.
func TestListingsTakeLittleMemory(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	add(t, s, Capture{URL: "http://a.example/", Digest: "d"}, Capture{URL: "http://b.example/?" + strings.Repeat("x", 5000), Digest: "e"})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const n = 20
	for range n {
		if got := len(list(t, s)); got != 2 {
			t.Fatalf("got %d captures; want 2", got)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / n; each > 64<<10 {
		t.Errorf("a listing of two captures takes %d bytes; want at most 64 KiB", each)
	}
}

func FuzzParseLine(f *testing.F) {
	c := Capture{URL: "http://a/", Time: noon, Status: 200, Digest: "d", Redirect: "http://b/"}
	f.Add(appendLine(nil, func(b []byte) []byte { return b })[9:])
	f.Add(c.append(nil, 1, 2)[9:])
	f.Add(appendLevel(nil, 3)[9:])
	f.Fuzz(func(t *testing.T, rest []byte) {
		_, _ = parseLine(rest) // has no panic
		text := appendLine(nil, func(b []byte) []byte { return append(b, rest...) })
		l, err := parseLine(text[:len(text)-1])
		if err != nil || !l.isCapture {
			return
		}
		c, err := l.capture()
		if err != nil {
			return
		}
		again, err := parseLine(bytes.TrimSuffix(c.append(nil, l.place, l.variant), []byte{'\n'}))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := again.capture(); err != nil || got != c || again.place != l.place || again.variant != l.variant {
			t.Errorf("got %+v, %v; want %+v", got, err, c)
		}
	})
}

// TestQuotes: the short way to quote a text writes what strconv writes.
func TestQuotes(t *testing.T) {
	texts := []string{"", "http://a.example/p?x=1", `a"b`, `a\b`, "tab\t", "日本", "\xff"}
	for c := range 256 {
		texts = append(texts, "a"+string([]byte{byte(c)})+"b")
	}
	for _, text := range texts {
		if got, want := string(appendQuote([]byte("x"), text)), "x"+strconv.Quote(text); got != want {
			t.Errorf("got %s; want %s", got, want)
		}
	}
}
