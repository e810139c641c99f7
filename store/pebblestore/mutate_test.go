package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/storetest"
)

// TestMutations damages each file of stores in every way that people and disks do: it is missing, empty, cut, has a
// flipped bit, is another file of its kind, is an older copy, has one of its blocks at the place of another. Whatever
// is done, no answer may be wrong, nobody's file may be removed, a refusal may change nothing, and nothing may panic.
// A repair must end in a store that is sound, or refuse.
func TestMutations(t *testing.T) {
	stride := tortureCount(t, 48, 1)
	if stride == 1 && testing.Short() {
		stride = 160
	}
	var sum tally
	for name, w := range map[string]*mutated{"closed": newMutated(t, true), "idle": newMutated(t, false)} {
		var own tally
		for i, m := range w.mutations() {
			if i%stride == 0 || strings.HasSuffix(m.name, ".log") && (m.what == "empty" || m.what == "missing") {
				w.try(t, m, &own)
			}
		}
		t.Logf("%s: %+v", name, own)
		sum.add(own)
	}
	if t.Logf("all: %+v", sum); sum.refused == 0 || sum.local == 0 || sum.harmless == 0 {
		t.Error("want mutations of each outcome")
	}
}

// tally counts mutations by what came of them.
type tally struct{ all, refused, local, harmless, repaired int }

func (t *tally) add(o tally) {
	t.all, t.refused, t.local = t.all+o.all, t.refused+o.refused, t.local+o.local
	t.harmless, t.repaired = t.harmless+o.harmless, t.repaired+o.repaired
}

// mutated is a store at rest, and what it must answer.
type mutated struct {
	opt   Options
	files map[string][]byte // by path
	older map[string][]byte // as they were before
	keys  int               // testKeys below that are known
	urls  map[store.Key]string
	names []string
}

const mutatedURLs = 3000

func newMutated(t *testing.T, closed bool) *mutated {
	t.Helper()
	mem := vfs.NewCrashableMem()
	opt := tiny(mem)
	opt.KeepURLs, opt.flushKeys, opt.tableBytes = true, 400, 64<<10
	if !closed {
		opt.memTableBytes = 256 << 10
	}
	w := &mutated{opt: opt, keys: 2000, urls: map[store.Key]string{}}
	s := openFor(t, "db", testIdentity, opt)
	for i := 0; i < w.keys; i += 250 {
		see(t, s, "", testKeys(i, i+250))
		if i%500 == 0 {
			flushRuns(t, s)
		}
	}
	for i := 0; i < mutatedURLs; i += 100 {
		var items []store.Item
		for j := i; j < i+100; j++ {
			it := store.Item{Key: testKey(50_000 + j), Queue: fmt.Sprint("q", j%50), URL: fmt.Sprintf("http://q%d/%d/%s", j%50, j, strings.Repeat("x", j%40))}
			items, w.urls[it.Key] = append(items, it), it.URL
		}
		if _, err := s.Add(t.Context(), "urls", items, store.AddOptions{}); err != nil {
			t.Fatal(err)
		}
		if i == mutatedURLs/2 {
			w.older = filesBelow(t, mem, "db")
			if err := s.db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := s.Take(t.Context(), store.TakeRequest{Crawl: "urls", MaxURLs: 20, Lease: time.Hour}); err != nil {
		t.Fatal(err)
	}
	idle(t, s, func() bool { // merges have ended
		s.mu.RLock()
		defer s.mu.RUnlock()
		s.note.mu.Lock()
		defer s.note.mu.Unlock()
		for g := range s.generations() {
			for _, r := range g.runs {
				if r.busy || !slices.Contains(s.note.now.runs, noteOfRun(r.File)) {
					return false
				}
			}
		}
		return true
	})
	if err := s.note.write(); err != nil { // as it is after a second
		t.Fatal(err)
	}
	if !closed { // all at one moment
		w.files = filesBelow(t, mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: newRand(1)}), "db")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if closed {
		w.files = filesBelow(t, mem, "db")
	}
	for _, name := range []string{"db/lost+found/1", "db/thesis.odt", "db/runs/thesis.odt"} {
		w.files[name] = []byte("not ours")
	}
	for name := range w.files {
		if !strings.Contains(name, "thesis") && !strings.Contains(name, "lost") && !strings.HasSuffix(name, "LOCK") {
			w.names = append(w.names, name)
		}
	}
	slices.Sort(w.names)
	return w
}

// filesBelow reads all files below a directory.
func filesBelow(t *testing.T, fs vfs.FS, dir string) map[string][]byte {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		path := fs.PathJoin(dir, name)
		info, err := fs.Stat(path)
		if isMissing(err) {
			continue // removed in the meantime
		}
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			for path, text := range filesBelow(t, fs, path) {
				files[path] = text
			}
			continue
		}
		if text, err := readFile(fs, path); err == nil {
			files[path] = text
		} else if !isMissing(err) {
			t.Fatal(err)
		}
	}
	return files
}

// mutation changes the files of a store.
type mutation struct {
	what, name string
	text       []byte // of the file then; nil: it is missing
}

func (w *mutated) mutations() (all []mutation) {
	for _, name := range w.names {
		text := w.files[name]
		add := func(what string, text []byte) {
			if text == nil || !bytes.Equal(text, w.files[name]) {
				all = append(all, mutation{what, name, text})
			}
		}
		add("missing", nil)
		add("empty", []byte{})
		for _, n := range []int{1, 12, len(text) / 3, len(text) / 2, len(text) * 9 / 10} {
			if n < len(text) {
				add(fmt.Sprintf("cut to %d of %d", len(text)-n, len(text)), text[:len(text)-n])
			}
		}
		for i := range 24 {
			if at := len(text) * (2*i + 1) / 48; at < len(text) {
				flipped := bytes.Clone(text)
				flipped[at] ^= 1 << (i % 8)
				add(fmt.Sprintf("bit %d of byte %d flipped", i%8, at), flipped)
			}
		}
		for _, other := range w.names {
			if kindOf(other) == kindOf(name) && other != name {
				add("as "+other, w.files[other])
			}
		}
		if old, ok := w.older[name]; ok {
			add("as it was before", old)
		}
		for _, block := range []int{512, 4096} {
			for i := range 6 {
				from, to := i*block, (len(text)/block-1-i)*block
				if from != to && to >= 0 && from+block <= len(text) {
					moved := bytes.Clone(text)
					copy(moved[to:], text[from:from+block])
					add(fmt.Sprintf("%d bytes at %d also at %d", block, from, to), moved)
				}
			}
		}
	}
	return all
}

// kindOf is what siblings have in common.
func kindOf(name string) string {
	if i := strings.LastIndexAny(name, "./"); i >= 0 && !strings.Contains(name, "marker") && !strings.Contains(name, "MANIFEST") {
		return name[i:]
	}
	return strings.TrimRight(name, "0123456789")
}

func (w *mutated) disk(t *testing.T, m mutation) *vfs.MemFS {
	t.Helper()
	mem := vfs.NewMem()
	for name, text := range w.files {
		if name == m.name {
			if text = m.text; text == nil {
				continue
			}
		}
		if err := mem.MkdirAll(mem.PathDir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := mem.Create(name, vfs.WriteCategoryUnspecified)
		if err == nil {
			_, err = f.Write(text)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return mem
}

// try opens a mutated store, asks it for all that it must know, and then has it repaired.
func (w *mutated) try(t *testing.T, m mutation, sum *tally) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s %s: panic: %v", m.name, m.what, r)
		}
	}()
	sum.all++
	disk := w.disk(t, m)
	before := filesBelow(t, disk, "db")
	s, err := openPrepared("db", w.opt.on(disk))
	if err != nil {
		sum.refused++
		if !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrFormat) {
			t.Errorf("%s %s: got %v; want ErrCorrupt", m.name, m.what, err)
		}
		after := filesBelow(t, disk, "db")
		for name, text := range before {
			if have, ok := after[name]; !ok || !bytes.Equal(have, text) {
				w.heals(t, m, disk, name, err)
				break
			}
		}
		w.repair(t, m, sum)
		return
	}
	refused := w.answers(t, m, s)
	r, err := s.Verify(t.Context())
	if refused = refused || err != nil || len(r.Findings) > 0; refused {
		sum.local++
	} else {
		sum.harmless++
	}
	if err := s.Close(); err != nil && !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("%s %s: Close: %v", m.name, m.what, err)
	}
	w.kept(t, m, disk)
}

// heals checks a store that was refused for a damaged block of a table, after Pebble has recovered its logs: with the
// table as it was, it is whole.
func (w *mutated) heals(t *testing.T, m mutation, disk vfs.FS, changed string, refused error) {
	t.Helper()
	if !strings.HasSuffix(m.name, ".sst") || len(m.text) != len(w.files[m.name]) {
		t.Errorf("%s %s: %s was changed by an Open that was refused with %v", m.name, m.what, changed, refused)
		return
	}
	f, err := disk.Create(m.name, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = f.Write(w.files[m.name])
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, "db", w.opt.on(disk))
	if w.answers(t, m, s) {
		t.Errorf("%s %s: keys are refused with the table as it was", m.name, m.what)
	}
	wantSound(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// kept checks that the files of others are there.
func (w *mutated) kept(t *testing.T, m mutation, disk vfs.FS) {
	t.Helper()
	for name, text := range filesBelow(t, disk, "db") {
		if string(w.files[name]) == "not ours" && string(text) != "not ours" {
			t.Errorf("%s %s: %s was changed", m.name, m.what, name)
		}
	}
	for name, text := range w.files {
		if _, err := disk.Stat(name); string(text) == "not ours" && err != nil {
			t.Errorf("%s %s: %s: %v", m.name, m.what, name, err)
		}
	}
}

// answers asks a store for all that it must know, and reports whether it refused some of it.
func (w *mutated) answers(t *testing.T, m mutation, s *Store) (refused bool) {
	t.Helper()
	ctx := context.Background()
	wrong := func(format string, args ...any) {
		t.Errorf("%s %s: %s", m.name, m.what, fmt.Sprintf(format, args...))
	}
	fails := func(err error) bool {
		if err != nil && !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrFailed) {
			wrong("got %v; want ErrCorrupt", err)
		}
		refused = refused || err != nil
		return err != nil
	}
	fresh := make([]bool, w.keys+500)
	var damaged *store.DamagedKeys
	if err := s.See(ctx, "", testKeys(0, w.keys+500), fresh, store.SeeOptions{}); err == nil || errors.As(err, &damaged) {
		fails(err)
		for i, f := range fresh {
			unknown := damaged != nil && slices.Contains(damaged.At, i)
			if f != (i >= w.keys) && !unknown {
				wrong("key %d: got new %v", i, f)
				break
			}
		}
	} else {
		fails(err)
	}
	var items []store.Item
	for k, url := range w.urls {
		items = append(items, store.Item{Key: k, Queue: "again", URL: url})
	}
	if verdicts, err := s.Add(ctx, "urls", items, store.AddOptions{}); !fails(err) {
		for i, v := range verdicts {
			if refused = refused || v.Status == store.Damaged; v.Status == store.New || v.Status == store.Full {
				wrong("URL %s is %v", items[i].URL, v.Status)
				break
			}
		}
	}
	for i := range 30 {
		k := testKey(50_000 + i*99)
		if e, err := storetest.Lookup(ctx, s, "urls", k); !fails(err) && e.URL != w.urls[k] {
			wrong("got %q for %s", e.URL, w.urls[k])
		}
	}
	for range 5 {
		taken, err := s.Take(ctx, store.TakeRequest{Crawl: "urls", MaxURLs: 100, MaxPerQueue: 5, Lease: time.Minute})
		if fails(err) {
			break
		}
		for _, l := range taken.Leases {
			if w.urls[l.Key] != l.URL {
				wrong("got the lease of %q for %q", l.URL, w.urls[l.Key])
			}
		}
	}
	if _, err := s.Stats(ctx, "*"); err != nil {
		fails(err)
	}
	return refused
}

// repair repairs a store that was refused. It must then be sound, or be refused still.
func (w *mutated) repair(t *testing.T, m mutation, sum *tally) {
	t.Helper()
	disk := w.disk(t, m)
	opt := w.opt.on(disk)
	opt.Mode = OpenRepair
	s, err := openPrepared("db", opt)
	w.kept(t, m, disk)
	if err != nil {
		if !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrFormat) || !strings.Contains(err.Error(), "restore") && !strings.Contains(err.Error(), "format") {
			t.Errorf("%s %s: repair got %v; want ErrCorrupt, and to restore", m.name, m.what, err)
		}
		return
	}
	sum.repaired++
	for range 5 {
		taken, err := s.Take(t.Context(), store.TakeRequest{Crawl: "urls", MaxURLs: 100, MaxPerQueue: 5, Lease: time.Minute})
		if err != nil {
			t.Errorf("%s %s: Take of the repaired store: %v", m.name, m.what, err)
		}
		for _, l := range taken.Leases {
			if w.urls[l.Key] != l.URL {
				t.Errorf("%s %s: repaired: got the lease of %q for %q", m.name, m.what, l.URL, w.urls[l.Key])
			}
		}
	}
	wantSound(t, s)
	if err := s.Close(); err != nil {
		t.Errorf("%s %s: repaired: %v", m.name, m.what, err)
	}
}
