package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/storetest"
)

// snapshotOf returns all files and directories below a directory, with their bytes and times.
func snapshotOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var b []byte
		if !d.IsDir() {
			if b, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		got[path] = fmt.Sprintf("%v %v %q", info.Mode(), info.ModTime(), b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestReadingOnlyReads: whatever is asked of a store that is open for reading alone, each of its files keeps every byte and its time,
// whether the store was closed, killed, or killed before its first record, and whether it has the file LOCK.
func TestReadingOnlyReads(t *testing.T) {
	fill := func(t *testing.T, s *Store) {
		for i := 0; i < 2000; i += 200 {
			see(t, s, "", testKeys(10_000+i, 10_200+i))
			addItems(t, s, placedItems(i, i+200))
		}
		flushRuns(t, s)
		completeSome(t, s, 100)
		takeSome(t, s, 50)
		if _, err := s.Forget(t.Context(), store.Selection{Keys: testKeys(10_000, 10_050)}); err != nil {
			t.Fatal(err)
		}
	}
	for name, leave := range map[string]func(t *testing.T, dir string){
		"closed": func(t *testing.T, dir string) {
			s := mustOpen(t, dir, Options{KeepURLs: true})
			fill(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		},
		"killed": func(t *testing.T, dir string) {
			s := mustOpen(t, dir+".lives", Options{KeepURLs: true, tuning: tuning{journalFrom: 1, keptStates: 10, keptPlaces: 300}})
			defer s.Close()
			fill(t, s)
			if err := s.note.write(); err != nil { // as it is after a second
				t.Fatal(err)
			}
			if err := os.CopyFS(dir, os.DirFS(dir+".lives")); err != nil {
				t.Fatal(err)
			}
		},
		"new": func(t *testing.T, dir string) {
			if err := mustOpen(t, dir, Options{}).Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(filepath.Join(dir, "LOCK")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "db")
			leave(t, dir)
			before := snapshotOf(t, dir)
			s := mustOpen(t, dir, Options{Mode: OpenReadOnly, Clock: func() time.Time { return time.Now().Add(time.Hour) }})
			ctx := t.Context()
			for range s.Keys(ctx, "*") {
			}
			for range s.Entries(ctx, "", "") {
			}
			for range s.Queues(ctx, "*", "") {
			}
			_, errLookup := storetest.Lookup(ctx, s, "", testKey(1))
			_, errInfo := s.QueueInfo(ctx, "", "q1")
			_, errMetrics := s.Metrics(ctx)
			_, errExport := s.Export(ctx, io.Discard, "")
			r, errVerify := s.Verify(ctx)
			errKnown := s.Known(ctx, "", testKeys(0, 10), make([]bool, 10))
			for _, err := range []error{errLookup, errInfo, errMetrics, errExport, errVerify, errKnown, s.Prepare(ctx, store.Terms{})} {
				if err != nil && !errors.Is(err, store.ErrNotFound) {
					t.Error(err)
				}
			}
			if len(r.Findings) > 0 {
				t.Errorf("got %v", r.Findings)
			}
			_, errAdd := s.Add(ctx, "", placedItems(5000, 5001), store.AddOptions{})
			_, errTake := s.Take(ctx, store.TakeRequest{Crawl: "*"})
			_, errForget := s.Forget(ctx, store.Selection{})
			for _, err := range []error{errAdd, errTake, errForget, s.See(ctx, "", testKeys(0, 1), make([]bool, 1), store.SeeOptions{})} {
				if !errors.Is(err, store.ErrInvalid) {
					t.Errorf("got %v of a write; want ErrInvalid", err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if _, _, err := Upgrade(ctx, dir, dir+".new", Options{}); err != nil { // of a store that needs none
				t.Fatal(err)
			}
			after := snapshotOf(t, dir)
			for path, was := range before {
				if after[path] != was {
					t.Errorf("%s has changed", path)
				}
			}
			if len(after) != len(before) {
				t.Errorf("got %d files and directories; want the %d that there were", len(after), len(before))
			}
		})
	}
}

// TestRefusedByReading: a directory that has a file where a store has its runs is refused in every mode, and stays as it is.
func TestRefusedByReading(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	if err := mustOpen(t, dir, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	runs := filepath.Join(dir, "runs")
	if err := errors.Join(os.Remove(runs), os.WriteFile(runs, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	before := snapshotOf(t, dir)
	for _, mode := range []Mode{OpenOrCreate, OpenExisting, OpenReadOnly, OpenRepair} {
		wantOpenError(t, dir, Options{Mode: mode}, syscall.ENOTDIR)
	}
	for path, was := range snapshotOf(t, dir) {
		if before[path] != was {
			t.Errorf("%s has changed", path)
		}
	}
}

// TestLockWithoutItsFile: a store whose file LOCK somebody removed is locked all the same, for every way in.
func TestLockWithoutItsFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	s := mustOpen(t, dir, Options{})
	defer s.Close()
	see(t, s, "", testKeys(0, 10))
	if err := os.Remove(filepath.Join(dir, "LOCK")); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []Mode{OpenOrCreate, OpenExisting, OpenReadOnly, OpenRepair} {
		if _, err := Open(dir, Options{Mode: mode}); !errors.Is(err, store.ErrLocked) {
			t.Errorf("mode %d: got %v; want ErrLocked", mode, err)
		}
	}
	if _, _, err := Upgrade(context.Background(), dir, dir+".new", Options{}); !errors.Is(err, store.ErrLocked) {
		t.Errorf("Upgrade: got %v; want ErrLocked", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "LOCK")); err == nil {
		t.Error("a way in that was refused made the file LOCK")
	}
	if n := see(t, s, "", testKeys(0, 20)); n != 10 {
		t.Errorf("got %d new; want 10", n)
	}
}

// TestDamagedPlaces: damage to what says where a URL is refuses the steps that need it, of that URL alone: they name the damage, and
// the store goes on.
func TestDamagedPlaces(t *testing.T) {
	var told []string
	opt := Options{KeepURLs: true, OnDamage: func(err error) { told = append(told, err.Error()) }, tuning: tuning{keptPlaces: 50}}
	s := mustOpen(t, t.TempDir(), opt)
	addItems(t, s, placedItems(0, 100))
	completeSome(t, s, 100)
	addItems(t, s, placedItems(100, 300)) // the places of the first leave the journal
	bad := testKey(7)
	if err := s.db.Set(appendKeyRow(nil, tablePlace, 1, &bad), []byte{1}, nil); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, s, s.dir, opt)
	defer s.Close()
	want := func(what string, got, bad []store.SettleStatus) {
		for i := range got {
			if got[i] != bad[i] {
				t.Errorf("%s: got %v; want %v", what, got, bad)
			}
		}
	}
	for _, o := range []store.Outcome{store.Complete, store.Requeue, store.Drop} {
		got, err := s.Settle(t.Context(), "", []store.Settlement{{Key: testKey(6), Outcome: store.Complete}, {Key: bad, Outcome: o}, {Key: testKey(8), Outcome: store.Complete}})
		if err != nil {
			t.Fatal(err)
		}
		want(fmt.Sprint("outcome ", o), got, []store.SettleStatus{store.Settled, store.Unreadable, store.Settled})
	}
	got, err := s.Settle(t.Context(), "", []store.Settlement{{Key: bad, Outcome: store.Requeue, Create: true, Queue: "q0", URL: "u"}})
	if err != nil {
		t.Fatal(err)
	}
	want("create", got, []store.SettleStatus{store.Unreadable})
	items := placedItems(5, 10)
	for i := range items {
		items[i].Force = true
	}
	v, err := s.Add(t.Context(), "", items, store.AddOptions{WantFirst: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range v {
		if damaged := items[i].Key == bad; (v[i].Status == store.Damaged) != damaged || v[i].Requeued == damaged {
			t.Errorf("item %d: got %+v; want it queued again, or refused for its damage", i, v[i])
		}
	}
	entries, err := s.Lookup(t.Context(), "", testKeys(5, 310))
	var damaged *store.DamagedKeys
	if !errors.As(err, &damaged) || !slices.Equal(damaged.At, []int{2}) || !errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrFailed) {
		t.Errorf("got %v of a look-up; want it to leave out one key", err)
	}
	for i := range entries {
		if known := i != 2 && i < 295; entries[i].Known() != known {
			t.Errorf("key %d: got %+v; want it known: %v", i, entries[i], known)
		}
	}
	if len(told) != 1 || !strings.Contains(told[0], "place") {
		t.Errorf("told of %q; want the damaged place, once", told)
	}
	if n := see(t, s, "", testKeys(0, 310)); n != 10 {
		t.Errorf("got %d new; want 10", n)
	}
}
