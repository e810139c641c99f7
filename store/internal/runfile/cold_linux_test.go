package runfile

import (
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"

	"github.com/firstseen/firstseen/internal/testutil/hang"
)

// TestAsk asks for a part of a file that the page cache lacks, and wants it to be read, though nobody reads it.
func TestAsk(t *testing.T) {
	dir := t.TempDir()
	r := made(t, vfs.Default, dir, testKeys(0, 50_000), 50_000)
	f, err := os.Open(filepath.Join(dir, ID{1, 2, 3}.Name()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := unix.Madvise(r.File.data, unix.MADV_DONTNEED); err != nil { // pages in use are not dropped
		t.Fatal(err)
	}
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	const lo, hi = 100_001, 100_017
	size := os.Getpagesize()
	page := r.File.data[lo/size*size:][:size]
	if cached(t, page) {
		t.Skip("this file system keeps its pages in memory")
	}
	r.ask(lo, hi)
	hang.Until(t, "the page is read", func() bool { return cached(t, page) })
}

// cached reports whether a page is in the page cache.
func cached(t *testing.T, page []byte) bool {
	t.Helper()
	var in [1]byte
	_, _, err := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&page[0])), uintptr(len(page)), uintptr(unsafe.Pointer(&in[0])))
	if err != 0 {
		t.Fatal(err)
	}
	return in[0]&1 != 0
}
