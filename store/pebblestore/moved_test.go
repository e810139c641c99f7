package pebblestore

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// tablesBelow returns the tables of a store.
func tablesBelow(t *testing.T, fs vfs.FS) map[string][]byte {
	t.Helper()
	tables := filesBelow(t, fs, "db")
	maps.DeleteFunc(tables, func(path string, _ []byte) bool { return !strings.HasSuffix(path, ".sst") })
	return tables
}

func replace(t *testing.T, fs vfs.FS, path string, table []byte) {
	t.Helper()
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(table)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// noticed reports whether a store is refused, or does not verify.
func noticed(t *testing.T, fs vfs.FS) bool {
	t.Helper()
	s, err := Open("db", Options{FS: fs, Mode: OpenReadOnly, KeepURLs: true})
	if err != nil {
		return true
	}
	defer s.Close()
	return s.verifies(t.Context()) != nil
}

// TestMovedBlocks: a block of a table in the place of another of equal length, of which Pebble takes no notice, is found by Open or by
// Verify.
func TestMovedBlocks(t *testing.T) {
	fs := vfs.NewMem()
	moved := 0
	s := mustOpen(t, "db", Options{FS: fs, KeepURLs: true, tuning: tuning{keptPlaces: 500}})
	for i := 0; i < 4000; i += 500 {
		var items []store.Item
		for j := i; j < i+500; j++ {
			items = append(items, store.Item{Key: testKey(j), Queue: fmt.Sprintf("queue-%02d", j%20), URL: fmt.Sprintf("https://example.com/%09d", j)})
		}
		addItems(t, s, items)
	}
	completeSome(t, s, 100)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for path, table := range tablesBelow(t, fs) {
		f, err := fs.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		readable, err := sstable.NewSimpleReadable(f)
		if err != nil {
			t.Fatal(err)
		}
		r, err := sstable.NewReader(t.Context(), readable, sstable.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		layout, err := r.Layout()
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		const trailer = 5 // compression 1, checksum 4
		for i, a := range layout.Data {
			for _, b := range layout.Data[i+1:] {
				if a.Length != b.Length || moved >= 40 {
					continue
				}
				moved++
				other := slices.Clone(table)
				copy(other[b.Offset:], table[a.Offset:][:a.Length+trailer])
				if replace(t, fs, path, other); !noticed(t, fs) {
					t.Errorf("%s: the block at %d was put to %d, and nobody noticed", path, a.Offset, b.Offset)
				}
			}
		}
		replace(t, fs, path, table)
	}
	if t.Logf("%d blocks moved", moved); moved == 0 {
		t.Error("want blocks of equal length")
	}
}

// TestSwappedTables: two tables of a store that have equal length and were swapped are found by Open or by Verify.
func TestSwappedTables(t *testing.T) {
	swapped := 0
	for round := 0; round < 20 && swapped < 5; round++ {
		fs := vfs.NewMem()
		s := mustOpen(t, "db", Options{FS: fs, KeepURLs: true, tuning: tuning{keptPlaces: 50}})
		for i := range 12 { // as many as Pebble does not compact
			var items []store.Item
			for j := range 40 {
				n := round*1000 + i*40 + j
				items = append(items, store.Item{Key: testKey(n), Queue: fmt.Sprintf("queue-%02d", j), URL: fmt.Sprintf("https://example.com/%09d", n)})
			}
			addItems(t, s, items)
			if err := s.db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		tables := tablesBelow(t, fs)
		paths := slices.Sorted(maps.Keys(tables))
		for i, a := range paths {
			for _, b := range paths[i+1:] {
				if len(tables[a]) != len(tables[b]) || swapped >= 5 {
					continue
				}
				swapped++
				replace(t, fs, a, tables[b])
				replace(t, fs, b, tables[a])
				if !noticed(t, fs) {
					t.Errorf("%s and %s were swapped, and nobody noticed", a, b)
				}
				replace(t, fs, a, tables[a])
				replace(t, fs, b, tables[b])
			}
		}
		if noticed(t, fs) {
			t.Fatal("a store whose tables are in their places does not verify")
		}
	}
	if t.Logf("%d pairs swapped", swapped); swapped == 0 {
		t.Error("want tables of equal length")
	}
}
