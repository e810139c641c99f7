package pebblestore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/storetest"
)

// The format after the current one, for these tests: its rows are those of the code. In the
// format before it, the secret has another name, and the names of crawls are written backwards.
const (
	nextFormat    = formatVersion + 1
	metaSecretOld = 9
)

// backwards is the artificial upgrade, and its own inverse but for the secret.
func backwards(db *pebble.DB, secretFrom, secretTo byte) error {
	b := db.NewBatch()
	defer b.Close()
	secret, closer, err := db.Get(metaKey(secretFrom))
	if err != nil {
		return err
	}
	err = errors.Join(b.Set(metaKey(secretTo), secret, nil), closer.Close(), b.Delete(metaKey(secretFrom), nil))
	if err != nil {
		return err
	}
	err = scanRows(db, []byte{tableCrawl}, rowBound(tableCrawl), func(key, value []byte) error {
		name := bytes.Clone(value)
		slices.Reverse(name)
		return b.Set(key, name, nil)
	})
	return errors.Join(err, b.Commit(pebble.Sync))
}

func upgradeOptions(fs vfs.FS) Options {
	opt := Options{FS: fs, KeepURLs: true}
	opt.flushKeys, opt.format = 100, nextFormat
	opt.upgrades = map[uint32]upgrade{formatVersion: func(_ *upgrading, db *pebble.DB) error {
		return backwards(db, metaSecretOld, metaSecret)
	}}
	return opt
}

// oldStore makes a store of the format before in db: keys in runs and packed, queued, leased and
// completed URLs, and settings. It returns all that the store lists.
func oldStore(t *testing.T, fs vfs.FS) string {
	t.Helper()
	opt := upgradeOptions(fs)
	s := openFor(t, "db", testIdentity, opt)
	see(t, s, "keys", testKeys(0, 500))
	flushRuns(t, s)
	see(t, s, "keys", testKeys(500, 530))
	var items []store.Item
	for i := range 20 {
		items = append(items, store.Item{Key: testKey(1000 + i), Queue: fmt.Sprintf("q%d", i%4), URL: fmt.Sprintf("http://q%d/%d", i%4, i), Meta: []byte("m"), Priority: uint8(i % 3)})
	}
	if _, err := s.Add(t.Context(), "urls", items, store.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	taken, err := s.Take(t.Context(), store.TakeRequest{Crawl: "urls", MaxURLs: 2, Lease: time.Hour})
	if err != nil || len(taken.Leases) != 2 {
		t.Fatalf("got %d leases, %v; want 2", len(taken.Leases), err)
	}
	if _, err := s.Settle(t.Context(), "urls", []store.Settlement{{Key: taken.Leases[0].Key, Token: taken.Leases[0].Token, Outcome: store.Complete}}); err != nil {
		t.Fatal(err)
	}
	limit, paused := int64(7), true
	if err := s.Configure(t.Context(), "urls", "q3", store.QueueChange{Limit: &limit, Paused: &paused}); err != nil {
		t.Fatal(err)
	}
	all := allOf(t, s)
	if err := backwards(s.db, metaSecret, metaSecretOld); err != nil {
		t.Fatal(err)
	}
	if err := s.db.Set(metaKey(metaFormat), binary.BigEndian.AppendUint32(nil, formatVersion), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	n, err := readNote(fs, "db")
	if err != nil {
		t.Fatal(err)
	}
	n.format = formatVersion
	if err := writeNote(fs, "db", n.append(nil)); err != nil {
		t.Fatal(err)
	}
	return all
}

// allOf is all that a store lists, as text.
func allOf(t *testing.T, s *Store) string {
	t.Helper()
	var b strings.Builder
	crawls, err := s.Crawls(t.Context())
	fmt.Fprintln(&b, crawls, err, s.Identity())
	for _, c := range crawls {
		st, err := s.Stats(t.Context(), c)
		fmt.Fprintln(&b, c, struct{ Seen, Held, InFlight, Completed, Dropped, Queues, Active int64 }{
			st.Seen, st.Held, st.InFlight, st.Completed, st.Dropped, st.Queues, st.Active}, err) // what format 3 counted
		for k, err := range s.Keys(t.Context(), c) {
			e, errLookup := storetest.Lookup(t.Context(), s, c, k)
			fmt.Fprintln(&b, k, e.State, e.URL, e.Queue, string(e.Meta), e.Created.UnixNano(), e.Due.UnixNano(), e.Expires.UnixNano(), e.Attempts, e.Priority, err, errLookup)
		}
		for q, err := range s.Queues(t.Context(), c, "") {
			set := q.QueueSettings
			fmt.Fprintln(&b, q.Name, fmt.Sprintf("{%v %v %v %v %v %v}", set.Delay, set.MaxInFlight, set.BlockedUntil, set.Limit, set.Weight, set.Paused), q.Held, q.InFlight, q.Completed, q.LastTake.UnixNano(), err)
		}
	}
	for _, g := range s.byName {
		for _, gen := range g.gens {
			fmt.Fprintln(&b, g.name, gen.num, gen.created, gen.last, gen.keys)
		}
	}
	return b.String()
}

// filesOf is the contents of a directory, but for what opening it for reading leaves there.
func filesOf(t *testing.T, fs vfs.FS, dir string) string {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		path := fs.PathJoin(dir, name)
		info, err := fs.Stat(path)
		switch {
		case err != nil:
			t.Fatal(err)
		case info.IsDir():
			b.WriteString(filesOf(t, fs, path))
		default:
			f, err := fs.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			text := make([]byte, info.Size())
			if _, err := f.ReadAt(text, 0); err != nil && len(text) > 0 {
				t.Fatal(err)
			}
			_ = f.Close() // it was read only
			fmt.Fprintf(&b, "%s %x\n", path, text)
		}
	}
	return b.String()
}

func upgradeStore(t *testing.T, opt Options) error {
	t.Helper()
	was, now, err := Upgrade(t.Context(), "db", "new", opt)
	if err == nil && (was != formatVersion || now != nextFormat) {
		t.Errorf("got formats %d and %d; want %d and %d", was, now, formatVersion, nextFormat)
	}
	return err
}

// TestUpgrade migrates a store of the format before: keys, ages, queues, leases and settings are
// the same, and the old store is as it was. Opened again, it is refused with the command that helps.
func TestUpgrade(t *testing.T) {
	fs := vfs.NewMem()
	want := oldStore(t, fs)
	opt := upgradeOptions(fs)
	if _, err := Open("db", opt); !errors.Is(err, store.ErrFormat) || !strings.Contains(err.Error(), "firstseen migrate --db db --to NEW") {
		t.Errorf("got %v; want ErrFormat and the command", err)
	}
	before := filesOf(t, fs, "db")
	if err := upgradeStore(t, opt); err != nil {
		t.Fatal(err)
	}
	if after := filesOf(t, fs, "db"); after != before {
		t.Error("the old store has changed")
	}
	s := mustOpen(t, "new", opt)
	wantSound(t, s)
	if got := allOf(t, s); got != want {
		t.Errorf("got %s; want %s", got, want)
	}
	see(t, s, "keys", testKeys(600, 700)) // a store like any other
	if _, _, err := Upgrade(t.Context(), "new", "newer", opt); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a store in use: got %v; want %v", err, store.ErrLocked)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if after := filesOf(t, fs, "db"); after != before {
		t.Error("the old store has changed by writes to the new one")
	}
	if was, now, err := Upgrade(t.Context(), "new", "newer", opt); was != nextFormat || now != nextFormat || err != nil {
		t.Errorf("got formats %d and %d, %v; want that nothing is to be done", was, now, err)
	}
	if _, err := fs.Stat("newer"); err == nil {
		t.Error("a store of this format was copied")
	}
}

// TestUpgradeRefused: what cannot be migrated is refused, and nothing is made.
func TestUpgradeRefused(t *testing.T) {
	errStep := errors.New("no such row")
	for name, c := range map[string]struct {
		prep func(fs vfs.FS, opt *Options) error
		want error
	}{
		"a directory with something in it": {func(fs vfs.FS, _ *Options) error { return fs.MkdirAll("new/x", 0o755) }, store.ErrInvalid},
		"no store":                         {func(fs vfs.FS, _ *Options) error { return fs.RemoveAll("db") }, store.ErrNotFound},
		"a newer format":                   {func(_ vfs.FS, opt *Options) error { opt.format = formatVersion - 1; return nil }, store.ErrFormat},
		"no step":                          {func(_ vfs.FS, opt *Options) error { opt.upgrades = nil; return nil }, store.ErrFormat},
		"no second step":                   {func(_ vfs.FS, opt *Options) error { opt.format++; return nil }, store.ErrFormat},
		"a step that fails": {func(_ vfs.FS, opt *Options) error {
			opt.upgrades[formatVersion] = func(*upgrading, *pebble.DB) error { return errStep }
			return nil
		}, errStep},
		"a step that loses rows": {func(_ vfs.FS, opt *Options) error {
			opt.upgrades[formatVersion] = func(_ *upgrading, db *pebble.DB) error {
				return errors.Join(backwards(db, metaSecretOld, metaSecret), db.DeleteRange([]byte{tablePacked}, rowBound(tablePacked), pebble.Sync))
			}
			return nil
		}, store.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			oldStore(t, fs)
			opt := upgradeOptions(fs)
			if err := c.prep(fs, &opt); err != nil {
				t.Fatal(err)
			}
			if err := upgradeStore(t, opt); !errors.Is(err, c.want) {
				t.Errorf("got %v; want %v", err, c.want)
			}
			for _, dir := range []string{"new/CURRENT", "new/runs", "new.partial"} {
				if _, err := fs.Stat(dir); err == nil {
					t.Errorf("%s is there", dir)
				}
			}
		})
	}
}

// TestUpgradeCrashes loses power before each of the operations of a migration: the old store is as
// it was, and the new one is whole if it is there. Then a migration makes it.
func TestUpgradeCrashes(t *testing.T) {
	mem := vfs.NewCrashableMem()
	want := oldStore(t, mem)
	root, err := mem.OpenDir("/")
	if err = errors.Join(err, root.Sync()); err != nil {
		t.Fatal(err)
	}
	before := filesOf(t, mem, "db")
	var n atomic.Int64
	var clones []vfs.FS
	every := int64(tortureSize(21, 7))
	hooked := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.HasPrefix(op.Path, "new") {
			if i := n.Add(1); i%every == 0 || op.Kind == errorfs.OpRename || op.Kind == errorfs.OpRemove {
				clones = append(clones, mem.CrashClone(vfs.CrashCloneCfg{}))
			}
		}
		return nil
	}))
	if err := upgradeStore(t, upgradeOptions(hooked)); err != nil {
		t.Fatal(err)
	}
	clones = append(clones, mem.CrashClone(vfs.CrashCloneCfg{}))
	whole := 0
	for i, fs := range clones {
		if filesOf(t, fs, "db") != before {
			t.Errorf("crash %d: the old store has changed", i)
		}
		opt := upgradeOptions(fs)
		if names, err := fs.List("new"); err == nil && len(names) > 0 {
			whole++
		} else if err := upgradeStore(t, opt); err != nil {
			t.Errorf("crash %d: %v", i, err)
			continue
		}
		s := mustOpen(t, "new", opt)
		wantSound(t, s)
		if got := allOf(t, s); got != want {
			t.Errorf("crash %d: got %s; want %s", i, got, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(clones) < 10 || whole < 1 || whole == len(clones) {
		t.Errorf("got %d crashes, %d with a new store; want some of both", len(clones), whole)
	}
}

// TestUpgradeFrom3 migrates stores that the last program of format 3 made, closed and killed, and finds all that
// program listed. Open refuses them with the command, and changes nothing.
func TestUpgradeFrom3(t *testing.T) {
	for _, name := range []string{"closed", "killed"} {
		fs := vfs.NewMem()
		if ok, err := vfs.Clone(vfs.Default, fs, "testdata/format3/"+name, "db"); !ok || err != nil {
			t.Fatal(ok, err)
		}
		now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
		opt := Options{FS: fs, KeepURLs: true, Clock: func() time.Time { return now }}
		before := filesOf(t, fs, "db")
		for _, mode := range []Mode{OpenOrCreate, OpenExisting, OpenReadOnly, OpenRepair} {
			opt.Mode = mode
			if _, err := Open("db", opt); !errors.Is(err, store.ErrFormat) || !strings.Contains(err.Error(), "firstseen migrate --db db --to NEW") {
				t.Errorf("%s, mode %d: got %v; want ErrFormat and the command", name, mode, err)
			}
		}
		opt.Mode = OpenOrCreate
		if was, is, err := Upgrade(t.Context(), "db", "new", opt); was != 3 || is != 4 || err != nil {
			t.Fatalf("%s: got formats %d and %d, %v; want 3 and 4", name, was, is, err)
		}
		if filesOf(t, fs, "db") != before {
			t.Errorf("%s: the old store has changed", name)
		}
		s := mustOpen(t, "new", opt)
		wantSound(t, s)
		if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(allOf(t, s)))); sum != listedFrom3 {
			t.Errorf("%s: got %s; want what the old program listed", name, allOf(t, s))
		}
		if st, err := s.Stats(t.Context(), "*"); err != nil || st.Fetched != st.Completed || st.Completed == 0 || st.Failed != 0 {
			t.Errorf("%s: got stats %+v, %v; want what was completed as fetched, and none failed", name, st, err)
		}
		if n := see(t, s, "keys", testKeys(0, 560)); n != 10 {
			t.Errorf("%s: got %d new keys; want the 10 that were forgotten", name, n)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// listedFrom3 is the SHA-256 of what allOf returned in the program of format 3.
const listedFrom3 = "0e94c3784bc750864d01e4883d652e34718ec0a2c1f8814c9abcab2842acd64d"
