package pebblestore

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// closedStore makes a store of URLs and keys from a number on, and returns its tables.
func closedStore(t *testing.T, fs vfs.FS, from int) (tables map[string][]byte) {
	t.Helper()
	at := time.UnixMilli(1_800_000_000_000)
	s := mustOpen(t, "db", Options{FS: fs, KeepURLs: true, Clock: func() time.Time { return at }, tuning: tuning{keptPlaces: 500}})
	for i := from; i < from+4000; i += 500 {
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
	tables = filesBelow(t, fs, "db")
	for path := range tables {
		if !strings.HasSuffix(path, ".sst") {
			delete(tables, path)
		}
	}
	return tables
}

// noticed reports whether a store whose table was replaced is refused, or does not verify.
func noticed(t *testing.T, fs vfs.FS, path string, table []byte) bool {
	t.Helper()
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(table); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open("db", Options{FS: fs, Mode: OpenReadOnly, KeepURLs: true})
	if err != nil {
		return true
	}
	defer s.Close()
	r, err := s.Verify(t.Context())
	return err != nil || len(r.Findings) > 0
}

// TestMovedBlocks: a block of a table in the place of another of equal length, of which Pebble takes no notice, is found by Open or by
// Verify.
func TestMovedBlocks(t *testing.T) {
	fs := vfs.NewMem()
	moved := 0
	for path, table := range closedStore(t, fs, 0) {
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
				if !noticed(t, fs, path, other) {
					t.Errorf("%s: the block at %d was put to %d, and nobody noticed", path, a.Offset, b.Offset)
				}
			}
		}
		noticed(t, fs, path, table) // puts it back
	}
	if t.Logf("%d blocks moved", moved); moved == 0 {
		t.Error("want blocks of equal length")
	}
}

// TestSwappedTables: a table of another store in the place of one of equal length is found by Open or by Verify.
func TestSwappedTables(t *testing.T) {
	fs := vfs.NewMem()
	own := closedStore(t, fs, 0)
	swapped := 0
	for from := 10_000; from < 200_000 && swapped < 5; from += 10_000 {
		for path, table := range closedStore(t, vfs.NewMem(), from) {
			if len(table) != len(own[path]) || bytes.Equal(table, own[path]) {
				continue
			}
			swapped++
			if !noticed(t, fs, path, table) {
				t.Errorf("%s was swapped, and nobody noticed", path)
			}
			noticed(t, fs, path, own[path]) // puts it back
		}
	}
	if t.Logf("%d tables swapped", swapped); swapped == 0 {
		t.Error("want tables of equal length")
	}
}
