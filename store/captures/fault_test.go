package captures

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// badDisk makes calls fail.
type badDisk struct {
	room   atomic.Int64 // bytes that can still be written
	unread atomic.Bool  // nothing can be read
	stuck  chan struct{}
}

func newBadDisk() *badDisk {
	d := &badDisk{}
	d.room.Store(1 << 40)
	return d
}

func (d *badDisk) open(name string, flag int) (file, error) {
	if flag&os.O_TRUNC != 0 && d.room.Load() <= 0 {
		return nil, syscall.ENOSPC
	}
	f, err := openFile(name, flag)
	return &badFile{f, d}, err
}

type badFile struct {
	file
	d *badDisk
}

// Write writes what there is room for, as a file system does.
func (f *badFile) Write(p []byte) (int, error) {
	if f.d.stuck != nil {
		<-f.d.stuck
	}
	room := f.d.room.Add(-int64(len(p)))
	if room >= 0 {
		return f.file.Write(p)
	}
	n, err := f.file.Write(p[:max(0, len(p)+int(room))])
	f.d.room.Store(0)
	return n, errors.Join(err, syscall.ENOSPC)
}

func (f *badFile) ReadAt(p []byte, at int64) (int, error) {
	if f.d.unread.Load() {
		return 0, syscall.EIO
	}
	return f.file.ReadAt(p, at)
}

func numbered(i int) Capture {
	return Capture{URL: fmt.Sprintf("http://h%d.example/", i), Time: noon, Status: 200, Digest: "d"}
}

// TestFullDisk fills the disk at every byte of a write. The sample must contain the captures that it
// accepted and no others, and must continue when there is room again, also after it is reopened.
func TestFullDisk(t *testing.T) {
	length := int64(len(numbered(0).line()))
	for room := int64(0); room <= 3*length+30; room += 7 {
		dir, d := t.TempDir(), newBadDisk()
		var faults []error
		opt := Options{open: d.open, OnFault: func(err error) { faults = append(faults, err) }}
		s := open(t, dir, opt)
		d.room.Store(room)
		var want []Capture
		for i := range 5 {
			if err := s.Add(numbered(i)); err == nil {
				want = append(want, numbered(i))
			} else if !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("room %d: got %v; want ENOSPC", room, err)
			}
		}
		if got := s.Stats().Rows; got != len(want) || len(want) == 5 {
			t.Fatalf("room %d: got %d rows of %d taken; want as many, and some refused", room, got, len(want))
		}
		d.room.Store(1 << 40)
		add(t, s, numbered(5), numbered(6))
		want = append(want, numbered(5), numbered(6))
		if len(faults) != 2 || !errors.Is(faults[0], syscall.ENOSPC) || faults[1] != nil {
			t.Fatalf("room %d: got faults %v; want one, and its end", room, faults)
		}
		sameCaptures(t, s, want)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir, Options{})
		if st := s.Stats(); st.Damaged > 2 {
			t.Errorf("room %d: got %d damaged lines; want at most the one that was cut off, and the header", room, st.Damaged)
		}
		add(t, s, numbered(7))
		sameCaptures(t, s, append(want, numbered(7)))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func (c Capture) line() []byte { return c.append(nil, 0, 0) }

func sameCaptures(t *testing.T, s *Sample, want []Capture) {
	t.Helper()
	got := list(t, s)
	order := func(a, b Capture) int { return cmp.Or(strings.Compare(a.URL, b.URL), a.Time.Compare(b.Time)) }
	slices.SortFunc(got, order)
	if want = slices.SortedFunc(slices.Values(want), order); !slices.Equal(got, want) {
		t.Errorf("got %d captures, %.1000v; want %d, %.1000v", len(got), got, len(want), want)
	}
}

// TestFullDiskWhileItIsWrittenAgain: the old file stays.
func TestFullDiskWhileItIsWrittenAgain(t *testing.T) {
	dir, d := t.TempDir(), newBadDisk()
	s := open(t, dir, Options{open: d.open})
	s.rewrite = 100
	add(t, s, numbered(0))
	d.room.Store(int64(200 * len(numbered(0).line())))
	for i := range 150 {
		c := numbered(0)
		c.Time = noon.Add(time.Duration(i) * time.Second)
		add(t, s, c)
		if i == 90 {
			d.room.Store(60 * 100)
		}
	}
	last := numbered(0)
	last.Time = noon.Add(149 * time.Second)
	sameCaptures(t, s, []Capture{numbered(0), last})
	d.room.Store(1 << 40)
	s.rewrite = 0
	add(t, s, numbered(1))
	sameCaptures(t, s, []Capture{numbered(0), last, numbered(1)})
	if s.lines != 5 { // header and an end for what may follow
		t.Errorf("got %d lines after it was written again; want 5", s.lines)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("got %v, %v; want the file alone", entries, err)
	}
}

// TestUnreadableDisk: a sample is not opened without what is in it. One that is open needs nothing of the file.
func TestUnreadableDisk(t *testing.T) {
	dir, d := t.TempDir(), newBadDisk()
	s := open(t, dir, Options{open: d.open})
	add(t, s, numbered(0), numbered(1))
	d.unread.Store(true)
	sameCaptures(t, s, []Capture{numbered(0), numbered(1)})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{open: d.open}); !errors.Is(err, syscall.EIO) {
		t.Errorf("got %v; want EIO", err)
	}
	d.unread.Store(false)
	sameCaptures(t, open(t, dir, Options{open: d.open}), []Capture{numbered(0), numbered(1)})
}

// TestStuckDisk: a write that does not return holds up neither offers nor listings.
func TestStuckDisk(t *testing.T) {
	d := newBadDisk()
	s := open(t, t.TempDir(), Options{open: d.open})
	add(t, s, numbered(0))
	d.stuck = make(chan struct{})
	for i := range 4 * waiting { // a batch is with the disk, and as many wait
		s.Offer(numbered(i))
	}
	if st := s.Stats(); st.Dropped < waiting || st.Rows != 1 {
		t.Errorf("got %+v; want one row and most of the others dropped", st)
	}
	sameCaptures(t, s, []Capture{numbered(0)})
	close(d.stuck)
}

// TestDamage flips bits of the file and cuts it: every capture that is listed is one that was
// added, and no damage keeps the sample from being opened and written.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	const n = 40
	sound := map[Capture]bool{}
	for i := range n {
		add(t, s, numbered(i))
		sound[numbered(i)] = true
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "captures.log")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		bad := bytes.Clone(text)
		switch round % 3 {
		case 0:
			bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
		case 1:
			bad = bad[:r.IntN(len(bad))]
		case 2:
			at := r.IntN(len(bad))
			clear(bad[at:min(at+r.IntN(4096), len(bad))])
		}
		if err := os.WriteFile(name, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir, Options{})
		if err != nil {
			if !strings.Contains(err.Error(), "captures v") { // the version was hit
				t.Fatalf("round %d: %v", round, err)
			}
			continue
		}
		more := numbered(n)
		add(t, s, more)
		got := list(t, s)
		for _, c := range got {
			if !sound[c] && c != more {
				t.Errorf("round %d: got %+v, which was never added", round, c)
			}
		}
		if !slices.Contains(got, more) || round%3 == 0 && len(got) < n-1 {
			t.Errorf("round %d: got %d captures; want the new one, and all but two of the others", round, len(got))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		rows, damaged, err := Verify(dir)
		whole := round%3 == 1 && rows == len(got)+1 // only the line end had been cut off
		if err != nil || rows != len(got) && !whole || damaged == 0 && rows < n+1 && round%3 != 1 {
			t.Errorf("round %d: Verify: got %d, %d, %v; want %d rows and some damage", round, rows, damaged, err, len(got))
		}
	}
}

// TestListingOutlivesAll ends listings by a panic, and reads one on while the file is written again
// and the sample closed.
func TestListingOutlivesAll(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	for i := range 10 {
		add(t, s, numbered(i))
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("got no panic")
			}
		}()
		for range s.All() {
			panic("the client is gone")
		}
	}()
	n := 0
	for _, err := range s.All() {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 3 {
			s.rewrite = 0
			add(t, s, numbered(10))
		}
		if n == 5 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n != 10 {
		t.Errorf("got %d captures; want the 10 that were there", n)
	}
	if _, err := s.file.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v of a write; want a closed file", err)
	}
}

// TestWrittenAgain replaces captures until the file is written again, many times, and compares with a
// plain model, also after it is opened again.
func TestWrittenAgain(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{MaxRows: 200})
	r := rand.New(rand.NewPCG(3, 4))
	firsts, latest := map[string]Capture{}, map[string]Capture{}
	size := int64(0)
	for i := range 40_000 {
		c := numbered(r.IntN(80))
		c.Time = noon.Add(time.Duration(i) * time.Second)
		add(t, s, c)
		if _, ok := firsts[c.URL]; ok {
			latest[c.URL] = c
		} else {
			firsts[c.URL] = c
		}
		if i%1000 == 0 {
			info, err := os.Stat(s.name)
			if err != nil {
				t.Fatal(err)
			}
			size = max(size, info.Size())
		}
	}
	var want []Capture
	for url, c := range firsts {
		want = append(want, c, latest[url])
	}
	sameCaptures(t, s, want)
	if limit := int64(11_000 * len(numbered(0).line())); size > limit || size < limit/4 {
		t.Errorf("the file had up to %d bytes; want at most %d, and some growth", size, limit)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	sameCaptures(t, open(t, dir, Options{}), want)
	sameCaptures(t, open(t, dir, Options{readOnly: true}), want) // also while it is being written
}

// TestBytesAreBounded: long URLs count for more, so that memory has a bound. The smaller sample is whole places, too.
func TestBytesAreBounded(t *testing.T) {
	s := open(t, t.TempDir(), Options{MaxRows: 50})
	for i := range 40 {
		add(t, s, Capture{URL: fmt.Sprintf("http://h%d.example/?%s", i, strings.Repeat("x", 5000)), Time: noon})
	}
	held := 0
	for _, c := range list(t, s) {
		held += len(c.line())
	}
	if held > 50*meanBytes || held != s.bytes || s.Stats().Share == 1 {
		t.Errorf("got %d bytes, %d counted, share %v; want at most %d", held, s.bytes, s.Stats().Share, 50*meanBytes)
	}
}

var _ io.Writer = (*badFile)(nil)
