package pebblestore

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// TestTableOfAnotherStore: Pebble takes a table of another store for its own if its number and length are right. Open may refuse the
// store for what the rows say; else Verify names the table.
func TestTableOfAnotherStore(t *testing.T) {
	disk := vfs.NewMem()
	for n, dir := range []string{"a", "b"} {
		s := mustOpen(t, dir, Options{FS: disk, KeepURLs: true})
		for round := range 3 { // tables of the first level, which are not compressed
			items := make([]store.Item, 100)
			for i := range items {
				num := 1_000_000*n + 1000*round + i
				items[i] = store.Item{Key: testKey(num), Queue: "q", URL: fmt.Sprintf("http://q/%07d", num)}
			}
			addItems(t, s, items)
			if err := s.db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	swapped := 0
	a := filesBelow(t, disk, "a")
	for name, foreign := range filesBelow(t, disk, "b") {
		own := strings.Replace(name, "b/", "a/", 1)
		if !strings.HasSuffix(name, ".sst") || len(a[own]) != len(foreign) || bytes.Equal(a[own], foreign) {
			continue
		}
		swapped++
		copied := vfs.NewMem()
		if _, err := vfs.Clone(disk, copied, "a", "a"); err != nil {
			t.Fatal(err)
		}
		f, err := copied.Create(own, vfs.WriteCategoryUnspecified)
		if err == nil {
			_, err = f.Write(foreign)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err := Open("a", Options{FS: copied, KeepURLs: true})
		if err == nil {
			if _, err = s.Verify(t.Context()); err == nil || !strings.Contains(err.Error(), "of another store") {
				t.Errorf("%s: got %v; want a table of another store", own, err)
			}
			_ = s.Close()
		}
		if !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: got %v; want ErrCorrupt", own, err)
		}
	}
	if swapped < 3 {
		t.Errorf("got %d tables of equal length; want at least 3", swapped)
	}
}
