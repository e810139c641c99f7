package pebblestore

import (
	"context"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// TestColdRuns asks a store that was just opened, whose runs may not be in the page cache: the callers of See, Add
// and Known look the keys up, and then the committer does. After enough keys the committer does it alone.
func TestColdRuns(t *testing.T) {
	ctx := context.Background()
	opt := Options{FS: vfs.NewMem(), IndexBytes: -1, tuning: tuning{flushKeys: 500}}
	s := mustOpen(t, "db", opt)
	keys := testKeys(0, 20_000)
	for i := range 20 {
		see(t, s, "", keys[1000*i:1000*(i+1)])
	}
	flushRuns(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, "db", opt)
	if s.cold.left.Load() <= 0 {
		t.Error("the runs are taken as cached after open")
	}
	some := keys[3000:3500]
	items := make([]store.Item, len(some))
	for i := range items {
		items[i] = store.Item{Key: some[i], Queue: "h"}
	}
	for name, call := range map[string]func(answers []bool) error{
		"See": func(fresh []bool) error { return s.See(ctx, "", some, fresh, store.SeeOptions{}) },
		"Add": func(fresh []bool) error {
			verdicts, err := s.Add(ctx, "", items, store.AddOptions{})
			for i := range verdicts {
				fresh[i] = verdicts[i].Status != store.Duplicate
			}
			return err
		},
		"Known": func(fresh []bool) error {
			err := s.Known(ctx, "", some, fresh)
			for i := range fresh {
				fresh[i] = !fresh[i]
			}
			return err
		},
	} {
		twice := false
		for range 100 { // or until the process reads the disk for no other reason
			s.cold.left.Store(warmAfter)
			fresh := make([]bool, len(some))
			if err := call(fresh); err != nil {
				t.Fatal(err)
			}
			for i := range fresh {
				if fresh[i] {
					t.Fatalf("%s: known key %x is called new", name, some[i])
				}
			}
			if twice = s.cold.left.Load() == warmAfter-2*int64(len(some)); twice {
				break
			}
		}
		if !twice {
			t.Errorf("%s: the caller does not look for the keys before the committer does", name)
		}
	}
	for i := 0; s.cold.left.Load() > 0; i++ {
		if i == 1000 {
			t.Fatal("the runs stay cold")
		}
		see(t, s, "", keys)
	}
	if n := see(t, s, "", testKeys(19_900, 20_100)); n != 100 {
		t.Errorf("got %d new keys; want 100", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.See(ctx, "", some, make([]bool, len(some)), store.SeeOptions{}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after Close: got %v; want ErrClosed", err)
	}
}
