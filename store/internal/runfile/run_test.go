package runfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// testKeys returns the keys of the numbers from lo to hi-1, in order.
func testKeys(lo, hi int) []Key {
	keys := make([]Key, 0, hi-lo)
	for n := lo; n < hi; n++ {
		sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(n)))
		keys = append(keys, Key(sum[:]))
	}
	sortKeys(keys)
	return keys
}

func sortKeys(keys []Key) {
	slices.SortFunc(keys, Key.Compare)
}

func order(n int) []uint32 {
	all := make([]uint32, n)
	for i := range all {
		all[i] = uint32(i)
	}
	return all
}

// made makes a run of keys, said to be about n.
func made(t testing.TB, fs vfs.FS, dir string, keys []Key, n int64) *Run {
	t.Helper()
	w, err := Create(fs, dir, ID{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	w.Begin(7, 5)
	if err := w.Add(testKeys(90_000, 90_005)); err != nil { // another run before it
		t.Fatal(err)
	}
	if _, err := w.End(); err != nil {
		t.Fatal(err)
	}
	w.Begin(7, n)
	for len(keys) > 0 {
		part := min(len(keys), 1000)
		if err := w.Add(keys[:part]); err != nil {
			t.Fatal(err)
		}
		keys = keys[part:]
	}
	place, err := w.End()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.File.Release)
	r, err := w.File.Run(7, place)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wantKeys wants a run to have the keys, and none of others.
func wantKeys(t *testing.T, r *Run, keys, others []Key) {
	t.Helper()
	for _, c := range []struct {
		keys []Key
		want bool
	}{{keys, true}, {others, false}} {
		for _, find := range []func([]Key, []uint32, []bool) error{r.Find, r.FindCold} {
			known := make([]bool, len(c.keys))
			if err := find(c.keys, order(len(c.keys)), known); err != nil {
				t.Fatal(err)
			}
			if i := slices.Index(known, !c.want); i >= 0 {
				t.Errorf("key %x: got %v; want %v", c.keys[i], !c.want, c.want)
			}
		}
	}
}

func TestRun(t *testing.T) {
	edge := []Key{{}, {15: 1}, {0: 0xff, 15: 1}}
	last := Key(bytes.Repeat([]byte{0xff}, 16))
	many := testKeys(0, 20_000)
	for _, tt := range []struct {
		name  string
		keys  []Key
		about int64 // as Begin is called with
	}{
		{"none", nil, 0},
		{"one", testKeys(0, 1), 1},
		{"first and last", append(slices.Clone(edge), last), 4},
		{"many", many, 20_000},
		{"far fewer than expected", testKeys(0, 100), 1_000_000},
		{"far more than expected", many, 10}, // long buckets
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, fs := range map[string]vfs.FS{"memory": vfs.NewMem(), "disk": vfs.Default} {
				dir := t.TempDir()
				if name == "memory" {
					dir = ""
				}
				r := made(t, fs, dir, tt.keys, tt.about)
				if r.Len() != int64(len(tt.keys)) || r.File.ID() != (ID{1, 2, 3}) {
					t.Errorf("got %d keys, id %x; want %d, 010203", r.Len(), r.File.ID(), len(tt.keys))
				}
				wantKeys(t, r, tt.keys, append(testKeys(50_000, 60_000), Key{7: 9}, Key{0: 0x80}))
				if got := read(t, r.Read(nil)); !slices.Equal(got, tt.keys) {
					t.Errorf("%s: read %d keys that aren't the %d written", name, len(got), len(tt.keys))
				}
				for _, i := range []int{0, len(tt.keys) / 3, len(tt.keys) - 1} {
					if i < 0 || i >= len(tt.keys) {
						continue
					}
					if got := read(t, r.Read(&tt.keys[i])); !slices.Equal(got, tt.keys[i:]) {
						t.Errorf("%s: from key %d on read %d keys; want %d", name, i, len(got), len(tt.keys)-i)
					}
					if n, err := r.CountUpTo(&tt.keys[i]); err != nil || n != int64(i+1) {
						t.Errorf("%s: got %d keys up to key %d, %v", name, n, i, err)
					}
				}
			}
		})
	}
}

func read(t *testing.T, from Source) (all []Key) {
	t.Helper()
	for {
		keys, err := from()
		if err != nil {
			t.Fatal(err)
		}
		if len(keys) == 0 {
			return all
		}
		all = append(all, keys...)
	}
}

// TestFindLeavesKnown skips known keys, and looks only for those of the
// order.
func TestFindLeavesKnown(t *testing.T) {
	keys := testKeys(0, 100)
	r := made(t, vfs.NewMem(), "", keys, 100)
	foreign := testKeys(1000, 1002)
	batch := []Key{foreign[0], keys[5], keys[6], foreign[1]}
	known := []bool{true, false, false, false}
	if err := r.Find(batch, []uint32{0, 1, 3}, known); err != nil {
		t.Fatal(err)
	}
	if want := []bool{true, true, false, false}; !slices.Equal(known, want) {
		t.Errorf("got %v; want %v", known, want)
	}
	if ok, err := has(r, &keys[99]); !ok || err != nil {
		t.Errorf("got %v, %v; want true", ok, err)
	}
}

func TestMerge(t *testing.T) {
	all := testKeys(0, 30_000)
	parts := make([][]Key, 4)
	for i, k := range all {
		parts[i%3] = append(parts[i%3], k)
		if i%2 == 0 {
			parts[3] = append(parts[3], k) // in two runs
		}
	}
	var sources []Source
	mem := vfs.NewMem()
	for i, p := range parts {
		dir := string(rune('a' + i))
		if err := mem.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		sources = append(sources, made(t, mem, dir, p, int64(len(p))).Read(nil))
	}
	if got := read(t, Merge(sources)); !slices.Equal(got, all) {
		t.Errorf("got %d keys; want the %d in order, once each", len(got), len(all))
	}
	if got := read(t, Merge(nil)); len(got) != 0 {
		t.Errorf("got %d keys of no source", len(got))
	}
}

func TestWriterWantsOrder(t *testing.T) {
	mem := vfs.NewMem()
	for _, keys := range [][]Key{{{1}, {1}}, {{2}, {1}}} {
		w, err := Create(mem, "", ID{})
		if err != nil {
			t.Fatal(err)
		}
		w.Begin(7, 2)
		if w.Add(keys) == nil {
			t.Errorf("took %x", keys)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if _, err := mem.Stat(ID{}.Name()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v; want the file gone", err)
		}
	}
}

// TestDamage inverts each byte of a file in turn. Opening it fails, or tells of the damage, or each
// look-up returns an error or the right answer.
func TestDamage(t *testing.T) {
	mem := vfs.NewMem()
	keys := testKeys(0, 60)
	place := made(t, mem, "", keys, 60).Place
	f, err := mem.OpenReadWrite(ID{1, 2, 3}.Name(), vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	flip := func(at int64) {
		b := []byte{0}
		if _, err := f.ReadAt(b, at); err != nil {
			t.Fatal(err)
		}
		b[0] ^= 0xff
		if _, err := f.WriteAt(b, at); err != nil {
			t.Fatal(err)
		}
	}
	asked := append(slices.Clone(keys), testKeys(100, 160)...)
	for at := place.Offset; at < info.Size(); at++ {
		flip(at)
		if !noticed(t, mem, place, asked, 60) {
			t.Errorf("byte %d: nobody noticed", at)
		}
		flip(at)
	}
}

// noticed asks for keys, of which the first ones were written.
func noticed(t *testing.T, mem vfs.FS, place Place, keys []Key, written int) (noticed bool) {
	f, err := Open(mem, "", ID{1, 2, 3})
	if err != nil {
		return errors.Is(err, ErrDamaged)
	}
	defer f.Release()
	r, err := f.Run(7, place)
	if err != nil {
		return errors.Is(err, ErrDamaged)
	}
	for i := range keys {
		ok, err := has(r, &keys[i])
		if err != nil {
			noticed = true
		} else if ok != (i < written) {
			t.Errorf("key %d: got %v", i, ok)
		}
	}
	if _, err := r.Read(nil)(); (err != nil) != noticed {
		t.Errorf("reading all: got %v; look-ups noticed %v", err, noticed)
	}
	return noticed || f.Damage() != nil // which needs no more than to be told
}

// TestCutFile takes the end of a file away while it is mapped: the system can't
// give the pages.
func TestCutFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ID{1, 2, 3}.Name())
	keys := testKeys(0, 5000)
	r := made(t, vfs.Default, dir, keys, 5000)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	known := make([]bool, len(keys))
	if err := r.Find(keys, order(len(keys)), known); !errors.Is(err, ErrDamaged) {
		if f, ferr := vfs.Default.Open(path); ferr == nil && f.Fd() == vfs.InvalidFd {
			t.Skip("files can't be mapped here")
		}
		t.Errorf("got %v; want ErrDamaged", err)
	}
	if _, err := Open(vfs.Default, dir, ID{1, 2, 3}); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v; want ErrDamaged", err)
	}
}

// TestWriteFails fails each write of a file in turn.
func TestWriteFails(t *testing.T) {
	errDisk := errors.New("the disk is broken")
	for at := 0; ; at++ {
		n, reached := 0, false
		mem := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind != errorfs.OpCreate && op.Kind != errorfs.OpFileWrite && op.Kind != errorfs.OpFileSync {
				return nil
			}
			if n++; n-1 == at {
				reached = true
				return errDisk
			}
			return nil
		}))
		err := writeAll(mem, testKeys(0, 200_000))
		if !reached {
			if at < 3 {
				t.Errorf("only %d writes", at)
			}
			return
		}
		if !errors.Is(err, errDisk) {
			t.Errorf("write %d: got %v; want %v", at, err, errDisk)
		}
		if names, err := mem.List("/"); err != nil || len(names) > 0 {
			t.Errorf("write %d: got %v, %v left", at, names, err)
		}
	}
}

func writeAll(fs vfs.FS, keys []Key) error {
	w, err := Create(fs, "", ID{})
	if err != nil {
		return err
	}
	w.Begin(7, int64(len(keys)))
	err = w.Add(keys)
	if err == nil {
		_, err = w.End()
	}
	if err == nil {
		err = w.Finish()
	}
	return errors.Join(err, w.Close())
}

func BenchmarkFind(b *testing.B) {
	const n, batch = 5_000_000, 10_000
	keys := make([]Key, n)
	for i := range keys {
		sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(i)))
		keys[i] = Key(sum[:])
	}
	var batches [16][]Key
	for i := range batches {
		batches[i] = slices.Clone(keys[i*batch : (i+1)*batch])
		sortKeys(batches[i])
	}
	sortKeys(keys)
	r := made(b, vfs.Default, b.TempDir(), keys, n)
	known, all := make([]bool, batch), order(batch)
	for i := 0; b.Loop(); i++ {
		clear(known)
		if err := r.Find(batches[i%16], all, known); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/key")
}

func TestSort(t *testing.T) {
	for _, n := range []int{0, 1, 100, 40_000} {
		want := testKeys(0, n)
		keys := append(slices.Clone(want), want[:n/3]...)
		for i := range keys {
			j := (i * 7919) % len(keys)
			keys[i], keys[j] = keys[j], keys[i]
		}
		if got := Sort(keys); !slices.Equal(got, want) {
			t.Errorf("got %d keys of %d; want them in order, once each", len(got), n)
		}
	}
}

// has reports whether k is in r.
func has(r *Run, k *Key) (bool, error) {
	var known [1]bool
	err := r.Find([]Key{*k}, []uint32{0}, known[:])
	return known[0], err
}
