package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// TestFilesAreClosedOnTheWay: a file is closed when its reader ends, wherever that is, and what
// was read of it still counts.
func TestFilesAreClosedOnTheWay(t *testing.T) {
	dir := t.TempDir()
	var names []string
	for i := range 3 {
		name := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(name, []byte("http://a.example/\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	files := &fileSet{}
	for i, in := range files.inputs(t.Context(), append(names, filepath.Join(dir, "none"))) {
		for b, err := range in.Open() {
			if err != nil && i < len(names) {
				t.Fatal(err)
			}
			if b != nil && len(files.files) != 1 {
				t.Errorf("got %d files open; want 1", len(files.files))
			}
			if i == 1 {
				break
			}
		}
		if len(files.files) != 0 {
			t.Errorf("got %d files open after the end; want none", len(files.files))
		}
	}
	if n, _ := files.read(); n != int64(len(names)*len("http://a.example/\n")) {
		t.Errorf("got %d bytes read; want those of %d files", n, len(names))
	}
}
