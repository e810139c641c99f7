package durable

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

func openStore(t *testing.T, dir string) *pebblestore.Store {
	t.Helper()
	s, err := pebblestore.Open(dir, pebblestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // a test may have closed it
	if err := s.Prepare(t.Context(), store.Terms{Identity: store.IdentityOf(canon.Qiita())}); err != nil {
		t.Fatal(err)
	}
	return s
}

func see(t *testing.T, s *pebblestore.Store, n byte) bool {
	t.Helper()
	fresh := make([]bool, 1)
	if err := s.See(t.Context(), "", []store.Key{{n}}, fresh, store.SeeOptions{}); err != nil {
		t.Fatal(err)
	}
	return fresh[0]
}

func namesOf(t *testing.T, d *Backups) (names []string) {
	t.Helper()
	all, err := d.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range all {
		names = append(names, b.Name)
	}
	return names
}

// TestRestore backs up, adds a key, and restores: the new store has the earlier key and not
// the later one, and the files beside the store. The backup can be restored again.
func TestRestore(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "db")
	s := openStore(t, db)
	see(t, s, 1)
	notes := map[string]string{"imports.jsonl": "{}\n", "declared.json": "[]\n", filepath.Join("captures", "captures.log"): "x\n"}
	for name, text := range notes {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(db, name)), 0o755), os.WriteFile(filepath.Join(db, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	d, err := OpenBackups(filepath.Join(dir, "backups"), s, db)
	if err != nil {
		t.Fatal(err)
	}
	info, err := d.Make(t.Context(), "one", 0)
	if err != nil || info.Keys != 1 || info.Bytes < info.Copied || info.Copied <= 0 {
		t.Fatalf("got %+v, %v; want a backup of a key", info, err)
	}
	see(t, s, 2)
	for i := range 2 {
		to := filepath.Join(dir, fmt.Sprint("restored", i))
		if _, err := Restore(t.Context(), filepath.Join(dir, "backups", "one"), to); err != nil {
			t.Fatal(err)
		}
		r := openStore(t, to)
		if see(t, r, 1) || !see(t, r, 2) {
			t.Error("want the first key and not the second")
		}
		for name, want := range notes {
			if got, err := os.ReadFile(filepath.Join(to, name)); string(got) != want {
				t.Errorf("%s: got %q, %v; want %q", name, got, err, want)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Restore(t.Context(), filepath.Join(dir, "backups", "one"), db); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("got %v; want a store in use to be left alone", err)
	}
}

// TestKeep makes more backups than are to stay, and finds the latest; a directory that is no
// backup stays.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, filepath.Join(dir, "db"))
	path := filepath.Join(dir, "backups")
	if err := os.MkdirAll(filepath.Join(path, "holiday"), 0o755); err != nil {
		t.Fatal(err)
	}
	d, err := OpenBackups(path, s, filepath.Join(dir, "db"))
	if err != nil {
		t.Fatal(err)
	}
	for i, keep := range []int{0, 0, 0, 2} {
		info, err := d.Make(t.Context(), fmt.Sprint("n", 9-i), keep)
		if err != nil || (len(info.Removed) == 2) != (keep == 2) {
			t.Fatalf("got %+v, %v", info, err)
		}
	}
	if got := namesOf(t, d); !slices.Equal(got, []string{"n7", "n6"}) {
		t.Errorf("got %q; want the latest two", got)
	}
	if _, err := os.Stat(filepath.Join(path, "holiday")); err != nil {
		t.Errorf("a directory that is no backup was removed: %v", err)
	}
}

// TestRefused asserts which names are refused, and that two backups are not made at once.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, filepath.Join(dir, "db"))
	d, err := OpenBackups(filepath.Join(dir, "backups"), s, filepath.Join(dir, "db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"..", "../x", "a/b", `a\b`, ".hidden", "-rf", "a b", "x.partial", "a\x00", strings.Repeat("a", 101)} {
		if _, err := d.Make(t.Context(), name, 0); !errors.Is(err, ErrName) {
			t.Errorf("%q: got %v; want ErrName", name, err)
		}
	}
	if _, err := d.Make(t.Context(), "a", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Make(t.Context(), "a", 0); !errors.Is(err, ErrExists) {
		t.Errorf("got %v; want ErrExists", err)
	}
	d.mu.Lock()
	if _, err := d.Make(t.Context(), "b", 0); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v; want ErrBusy", err)
	}
	d.mu.Unlock()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("got %v, %v; want the store and the backups alone", entries, err)
	}
}

// halfStore fails when half of a backup is there, as a crash does: nothing is removed.
type halfStore struct{ crash func() }

func (h *halfStore) Backup(_ context.Context, dir string, _ ...string) (pebblestore.BackupSize, error) {
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "runs"), 0o755), os.WriteFile(filepath.Join(dir, "000004.sst"), nil, 0o600)); err != nil {
		return pebblestore.BackupSize{}, err
	}
	h.crash()
	return pebblestore.BackupSize{}, nil
}

// TestIncomplete asserts that a part of a backup is not taken for one: it is not listed and not
// restored, and the next Open removes it, also when the crash was amid its note.
func TestIncomplete(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "backups")
	crashed := errors.New("crash")
	h := &halfStore{crash: func() { panic(crashed) }}
	d, err := OpenBackups(path, h, dir)
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if r := recover(); r != crashed {
				t.Errorf("got %v; want the crash", r)
			}
		}()
		_, _ = d.Make(t.Context(), "half", 0) // it does not return
	}()
	if got := namesOf(t, d); len(got) != 0 {
		t.Errorf("got %q; want none", got)
	}
	if _, err := Restore(t.Context(), filepath.Join(path, "half"+partial), filepath.Join(dir, "new")); err == nil || !strings.Contains(err.Error(), "no complete backup") {
		t.Errorf("got %v; want it refused", err)
	}
	if err := os.WriteFile(filepath.Join(path, "half"+partial, noteName), []byte(`{"crc32c":"12`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenBackups(path, h, dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(path); err != nil || len(left) != 0 {
		t.Errorf("got %v, %v; want nothing left", left, err)
	}
}

// TestRestoreDamaged asserts that a backup without one of its files is refused, and nothing is
// left.
func TestRestoreDamaged(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, filepath.Join(dir, "db"))
	see(t, s, 1)
	d, err := OpenBackups(filepath.Join(dir, "backups"), s, filepath.Join(dir, "db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Make(t.Context(), "one", 0); err != nil {
		t.Fatal(err)
	}
	one := filepath.Join(dir, "backups", "one")
	tables, err := filepath.Glob(filepath.Join(one, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("got %q, %v; want tables", tables, err)
	}
	if err := os.Remove(tables[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), one, filepath.Join(dir, "new")); err == nil {
		t.Error("want an error")
	}
	left, err := filepath.Glob(filepath.Join(dir, "new*"))
	if err != nil || len(left) != 0 {
		t.Errorf("got %q, %v; want nothing left", left, err)
	}
}

// TestForeign: what others put into the directory of backups stays, and stops nothing: a file, a link, a directory that
// looks like a part of a backup, a file in such a part, and a damaged note.
func TestForeign(t *testing.T) {
	dir := t.TempDir()
	db, path := filepath.Join(dir, "db"), filepath.Join(dir, "backups")
	s := openStore(t, db)
	see(t, s, 1)
	d, err := OpenBackups(path, s, db)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if _, err := d.Make(t.Context(), name, 0); err != nil {
			t.Fatal(err)
		}
	}
	note := filepath.Join(path, "a", noteName)
	text, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	stray := []string{"notes.txt", "mine.partial", filepath.Join("c.partial", "thesis.odt"), filepath.Join("d.partial", "runs", "thesis.odt")}
	for _, name := range stray {
		name = filepath.Join(path, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte("mine"), 0o600))
	}
	if err = errors.Join(err, os.WriteFile(note, text, 0o600), os.Symlink("nowhere", filepath.Join(path, "link"))); err != nil {
		t.Fatal(err)
	}
	if d, err = OpenBackups(path, s, db); err != nil {
		t.Fatal(err)
	}
	info, err := d.Make(t.Context(), "e", 1)
	if err != nil || !slices.Equal(info.Removed, []string{"b"}) {
		t.Errorf("got %+v, %v; want a backup that replaces b", info, err)
	}
	all, err := d.List()
	if err != nil || len(all) != 2 || all[0].Name != "a" || !strings.Contains(all[0].Damaged, "checksum") || all[1].Name != "e" {
		t.Errorf("got %+v, %v; want a, damaged, and e", all, err)
	}
	for _, name := range stray {
		if text, err := os.ReadFile(filepath.Join(path, name)); string(text) != "mine" {
			t.Errorf("%s: got %q, %v; want it as it was", name, text, err)
		}
	}
	if _, err := Restore(t.Context(), filepath.Join(path, "a"), filepath.Join(dir, "new")); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("got %v of a backup whose note is damaged; want ErrCorrupt", err)
	}
}
