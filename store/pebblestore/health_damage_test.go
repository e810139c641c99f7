package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store"
)

// TestCompactionMeetsDamage damages tables of queued URLs, and has them compacted after some of the URLs were leased:
// the store goes on, tells of the table once, and closes. Opened again, all that was acknowledged is there.
func TestCompactionMeetsDamage(t *testing.T) {
	mem := vfs.NewMem()
	opt := tiny(mem)
	s := mustOpen(t, "db", opt)
	for i := range 20 {
		var items []store.Item
		for j := range 300 {
			items = append(items, store.Item{Key: testKey(1000*i + j), Queue: fmt.Sprint("q", j%7), URL: fmt.Sprint("http://h/", i, j)})
		}
		if _, err := s.Add(t.Context(), "", items, store.AddOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := s.db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	met := 0
	names, err := mem.List("db")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".sst") {
			continue
		}
		disk := vfs.NewMem()
		if _, err := vfs.Clone(mem, disk, "db", "db"); err != nil {
			t.Fatal(err)
		}
		info, err := disk.Stat("db/" + name)
		if err != nil {
			t.Fatal(err)
		}
		flipAt(t, disk, "db/"+name, info.Size()*2/3)
		opt := opt.on(disk)
		told := make(chan error, mostDamage)
		opt.OnDamage = func(err error) { told <- err }
		s, err := openPrepared("db", opt)
		if err != nil {
			continue // a row that it needs
		}
		if _, err := s.Take(t.Context(), store.TakeRequest{MaxURLs: 700, MaxPerQueue: 100}); err != nil {
			if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), name) {
				t.Error(err)
			}
			s.Close() // with the same error: how Pebble laid its tables out, the URLs that are served first are in the damaged block
			continue
		}
		compacted := make(chan error, 1)
		go func() { compacted <- s.db.Compact(context.Background(), []byte{0}, []byte{255}, false) }()
		hang.Within(t, "the compaction", func() {
			select {
			case err := <-told:
				if met++; !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), name) {
					t.Errorf("got %v; want ErrCorrupt, and %s named", err, name)
				}
			case err := <-compacted:
				if err != nil {
					t.Errorf("%s: got %v", name, err)
				}
			}
		})
		see(t, s, "other", testKeys(0, 100))
		hang.Within(t, "Close", func() {
			if err := s.Close(); err != nil {
				t.Errorf("%s: Close: %v", name, err)
			}
		})
		copied := vfs.NewMem() // this process cannot open it again
		if _, err := vfs.Clone(disk, copied, "db", "db"); err != nil {
			t.Fatal(err)
		}
		s = mustOpen(t, "db", opt.on(copied))
		if n := see(t, s, "other", testKeys(0, 100)); n > 0 {
			t.Errorf("%s: %d keys are lost", name, n)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if met == 0 {
		t.Error("no compaction met the damage")
	}
}
