package pebblestore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// TestLargeGroupIsDurable cuts the power after the answer to a group that is too large for Pebble's buffer, which
// Pebble writes into the log before it begins another. All of it must be there, and the log after it is no loss.
func TestLargeGroupIsDurable(t *testing.T) {
	mem := vfs.NewCrashableMem()
	opt := tiny(mem)
	s := mustOpen(t, "db", opt)
	see(t, s, "", testKeys(0, 100))
	var items []store.Item
	for i := range 5000 {
		items = append(items, store.Item{Key: testKey(1000 + i), Queue: "q", URL: fmt.Sprint(i, strings.Repeat("x", 500))})
	}
	if _, err := s.Add(t.Context(), "", items, store.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	after := mem.CrashClone(vfs.CrashCloneCfg{})
	if err := s.note.write(); err != nil {
		t.Fatal(err)
	}
	noted := mem.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, disk := range []*vfs.MemFS{after, noted} {
		s := mustOpen(t, "db", opt.on(disk))
		wantSeen(t, s, "", 5100)
		wantSound(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
