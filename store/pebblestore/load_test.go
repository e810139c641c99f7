package pebblestore

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// TestAnswersBeforeTheIndex checks that after Open the runs answer while the index is filled, and that
// keys recorded and forgotten in the meantime are right afterwards.
func TestAnswersBeforeTheIndex(t *testing.T) {
	opt := Options{FS: vfs.NewMem(), tuning: tuning{flushKeys: 100}}
	s := mustOpen(t, "db", opt)
	see(t, s, "", testKeys(0, 1000))
	flushRuns(t, s)
	see(t, s, "", testKeys(1000, 1050))
	opt.holdFill = make(chan struct{})
	s = reopen(t, s, "db", opt)
	defer s.Close()
	if info := s.Index(); !info.Filling {
		t.Fatalf("got %+v; want the index not filled", info)
	}
	if n := see(t, s, "", testKeys(0, 2000)); n != 950 {
		t.Errorf("got %d new; want 950", n)
	}
	forget(t, s, store.Selection{Keys: testKeys(100, 200)})
	if n := see(t, s, "", testKeys(100, 150)); n != 50 {
		t.Errorf("got %d new; want the 50 that were forgotten", n)
	}
	flushRuns(t, s)
	wantSound(t, s)
	close(opt.holdFill)
	for s.Index().Filling {
		see(t, s, "", testKeys(0, 1))
	}
	if n := see(t, s, "", testKeys(0, 2000)); n != 50 {
		t.Errorf("got %d new; want the other 50 that were forgotten", n)
	}
	wantSeen(t, s, "", 2000)
	wantSound(t, s)
}

// TestOpenRefusesWrongCounts makes stores that lack keys, a run or a file.
func TestOpenRefusesWrongCounts(t *testing.T) {
	for name, harm := range map[string]func(s *Store) error{
		"packed row": func(s *Store) error {
			return s.db.DeleteRange([]byte{tablePacked}, rowBound(tablePacked), pebble.Sync)
		},
		"run": func(s *Store) error {
			r := s.crawls[store.DefaultCrawl].gens[0].runs[0]
			return s.db.Delete(appendRunRow(nil, 1, r.File.ID()), pebble.Sync)
		},
		"file": func(s *Store) error {
			r := s.crawls[store.DefaultCrawl].gens[0].runs[0]
			return s.opt.FS.Remove(s.opt.FS.PathJoin(s.runsDir(), r.File.ID().Name()))
		},
	} {
		opt := Options{FS: vfs.NewMem()}
		s := mustOpen(t, "db", opt)
		see(t, s, "", testKeys(0, 10))
		flushRuns(t, s)
		see(t, s, "", testKeys(10, 20))
		if err := harm(s); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Open("db", opt); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: got %v; want corrupt", name, err)
		}
	}
}

// TestSwappedFiles: a file in the place of another is refused.
func TestSwappedFiles(t *testing.T) {
	opt := Options{FS: vfs.NewMem(), tuning: tuning{flushKeys: 100}}
	s := mustOpen(t, "db", opt)
	for i := range 2 {
		see(t, s, "", testKeys(300*i, 300*i+300))
		flushRuns(t, s)
	}
	runs := s.crawls[store.DefaultCrawl].gens[0].runs
	if len(runs) != 2 {
		t.Fatalf("got %d runs; want 2", len(runs))
	}
	path := func(i int) string { return opt.FS.PathJoin(s.runsDir(), runs[i].File.ID().Name()) }
	for _, move := range [][2]string{{path(0), "x"}, {path(1), path(0)}, {"x", path(1)}} {
		if err := opt.FS.Rename(move[0], move[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("db", opt); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("got %v; want corrupt", err)
	}
}
