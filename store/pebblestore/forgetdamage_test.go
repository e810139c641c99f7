package pebblestore

import (
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// TestForgetBesideDamage flips bits of the run of one of two generations, and forgets keys of the other, older or newer one: a
// part that is damaged may hide keys of its own, and none that another run has.
func TestForgetBesideDamage(t *testing.T) {
	clock := newStepClock()
	opt := Options{FS: vfs.NewMem(), IndexBytes: -1, Clock: clock.Now, tuning: tuning{flushKeys: 100}}
	s := mustOpen(t, "db", opt)
	var runs []string
	for i := range 2 {
		see(t, s, "", testKeys(1000*i, 1000*i+300))
		flushRuns(t, s)
		clock.step(40 * 24 * time.Hour) // beyond what one generation holds
	}
	for _, g := range s.crawls[store.DefaultCrawl].gens {
		for _, r := range g.runs {
			runs = append(runs, r.File.Path())
		}
	}
	if err := s.Close(); err != nil || len(runs) != 2 {
		t.Fatalf("got the runs %v, %v; want one in each of two generations", runs, err)
	}
	w := &mutated{files: filesBelow(t, opt.FS, "db")}
	size := min(len(w.files[runs[0]]), len(w.files[runs[1]]))
	opened := 0
	for at := 0; at < size; at += 61 {
		for damaged, path := range runs {
			text := slices.Clone(w.files[path])
			text[at] ^= 0xff
			opt.FS = w.disk(t, mutation{name: path, text: text})
			s, err := openPrepared("db", opt)
			if err != nil { // it says what is damaged
				continue
			}
			opened++
			first := 1000 * (1 - damaged)
			for i := first; i < first+300; i += 29 {
				if n, err := s.Forget(t.Context(), store.Selection{Keys: testKeys(i, i+1)}); err != nil || n != 1 {
					t.Errorf("byte %d of run %d, key %d of the other: got %d forgotten, %v; want it forgotten", at, damaged, i, n, err)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if t.Logf("%d opens with damage", opened); opened < 20 {
		t.Errorf("the store opened %d times; want damage that a run opens with", opened)
	}
}
