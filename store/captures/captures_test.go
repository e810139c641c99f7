package captures

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func open(t testing.TB, fsys vfs.FS, opt Options) *Sample {
	t.Helper()
	opt.FS = fsys
	s, err := Open("captures", opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
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
	fsys := vfs.NewMem()
	s := open(t, fsys, Options{})
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
	if got := list(t, open(t, fsys, Options{ReadOnly: true})); !slices.Equal(got, want) {
		t.Errorf("reopened: got %v; want %v", got, want)
	}
}

// Every spelling that a rule might merge is of one place, so that pairs stay together.
func TestPlaces(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
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
	fsys := vfs.NewMem()
	s := open(t, fsys, Options{MaxRows: 500})
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
	again := open(t, fsys, Options{MaxRows: 500}).Stats()
	if again.Rows != st.Rows || again.Share != st.Share {
		t.Errorf("reopened: got %+v; want %+v", again, st)
	}
}

func TestOnePlaceIsBounded(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{MaxSpellings: 10})
	for i := range 100 {
		add(t, s, Capture{URL: fmt.Sprintf("http://a.example/search?q=%d", i), Time: noon, Digest: "d"})
	}
	if st := s.Stats(); st.Rows != 10 || st.Full != 90 {
		t.Errorf("got %+v; want 10 rows, 90 left out", st)
	}
}

func TestConcurrentUse(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{MaxRows: 300})
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
	fsys := vfs.NewMem()
	s := open(t, fsys, Options{})
	const n = 3 * waiting
	for i := range n {
		s.Offer(Capture{URL: fmt.Sprintf("http://h%d.example/", i), Time: noon, Digest: "d"})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	st := s.Stats()
	if got := len(list(t, open(t, fsys, Options{}))); got != st.Rows || int64(got)+st.Dropped != n {
		t.Errorf("got %d captures, %d dropped; want %d in all", got, st.Dropped, n)
	}
}

// noDirs is a file system in which no directory can be made.
type noDirs struct{ vfs.FS }

func (noDirs) MkdirAll(string, fs.FileMode) error { return fs.ErrPermission }

func TestErrors(t *testing.T) {
	mem := vfs.NewMem()
	if err := mem.MkdirAll("empty", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"nowhere", "empty"} {
		if _, err := Open(dir, Options{FS: mem, ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v for a sample that isn't there to read, %s; want %v", err, dir, fs.ErrNotExist)
		}
	}
	if _, err := Open("nowhere", Options{FS: noDirs{mem}}); !errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v for a sample that can't be made; want %v alone", err, fs.ErrPermission)
	}
	s := open(t, vfs.NewMem(), Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(Capture{URL: "http://a.example/"}); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v; want ErrClosed", err)
	}
	for _, err := range s.All() {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("got %v; want ErrClosed", err)
		}
	}
}

// A disk that fails keeps the one who writes, as Pebble's Fatalf doesn't return; those who wait for it,
// and who come later, are told.
func TestADiskFailsUnderTheLock(t *testing.T) {
	s, err := Open("captures", Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	fail := make(chan struct{})
	if err := s.enter(); err != nil {
		t.Fatal(err)
	}
	go func() {
		<-fail
		s.guard.Fatalf("the disk is gone")
	}()
	steps := map[string]func() error{
		"Add": func() error { return s.Add(Capture{URL: "http://a.example/"}) },
		"All": func() (err error) {
			for _, err = range s.All() {
			}
			return err
		},
		"Close": s.Close,
	}
	for _, when := range []string{"waiting", "later"} {
		told := make(chan error)
		for name, step := range steps {
			go func() {
				if err := step(); err == nil || !strings.Contains(err.Error(), "the disk is gone") {
					told <- fmt.Errorf("%s, %s: got %w; want that the disk is gone", when, name, err)
					return
				}
				told <- nil
			}()
		}
		if when == "waiting" {
			close(fail)
		}
		for range steps {
			select {
			case err := <-told:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s: a step waits for ever; want an error", when)
			}
		}
	}
}

func FuzzParseCapture(f *testing.F) {
	f.Add([]byte{})
	c := Capture{URL: "http://a/", Time: noon, Status: 200, Digest: "d", Redirect: "http://b/"}
	f.Add(c.append(nil))
	f.Fuzz(func(t *testing.T, row []byte) {
		c, err := parseCapture(row)
		if err != nil {
			return
		}
		if got := c.append(nil); string(got) != string(row) {
			t.Errorf("got %x back; want %x", got, row)
		}
	})
}
