package crawlfile_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/crawlfile"
	"github.com/firstseen/firstseen/store/memstore"
	"github.com/firstseen/firstseen/store/pebblestore"
)

var identity = store.Identity{Profile: "qiita", Version: 1, KeyKind: "url-short-hash", Unicode: "15.0.0"}

func openMem(t testing.TB) store.Store {
	t.Helper()
	s := memstore.New(memstore.Options{KeepURLs: true})
	t.Cleanup(func() { _ = s.Close() }) // memory alone
	check(t, s.Prepare(context.Background(), store.Terms{Identity: identity}))
	return s
}

func openPebble(t testing.TB) store.Store {
	t.Helper()
	s, err := pebblestore.Open(t.TempDir(), pebblestore.Options{KeepURLs: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	check(t, s.Prepare(context.Background(), store.Terms{Identity: identity}))
	return s
}

func key(i int) store.Key { return hashkey.SumShort(fmt.Appendf(nil, "http://example/%d", i)) }

var due = time.Date(2030, 1, 2, 3, 4, 5, 6e6, time.UTC)

// fill makes a crawl of 40 URLs in four queues, of which one is done, one is dropped
// and one is leased, 60 keys that were never queued, and settings.
func fill(t testing.TB, s store.Store) {
	t.Helper()
	var items []store.Item
	for i := range 40 {
		it := store.Item{Key: key(i), Queue: fmt.Sprintf("q%d\xff", i%4), URL: fmt.Sprintf("HTTP://ex\xc3\xa4mple/%d\xff", i), Meta: []byte{byte(i), 0xff}, Priority: uint8(i % 3)}
		if i >= 3 {
			it.Due = due.Add(time.Duration(i) * time.Second)
		}
		items = append(items, it)
	}
	ctx := t.Context()
	_, err := s.Add(ctx, "c", items, store.AddOptions{})
	check(t, err)
	_, err = s.Take(ctx, store.TakeRequest{Crawl: "c", MaxURLs: 3, Lease: time.Hour})
	check(t, err)
	_, err = s.Settle(ctx, "c", []store.Settlement{{Key: key(0)}, {Key: key(2), Outcome: store.Drop}})
	check(t, err)
	var keys []store.Key
	for i := 100; i < 160; i++ {
		keys = append(keys, key(i))
	}
	check(t, s.See(ctx, "c", keys, make([]bool, len(keys)), store.SeeOptions{}))
	delay, paused := time.Minute, true
	check(t, s.Configure(ctx, "c", "q2\xff", store.QueueChange{Delay: &delay, Paused: &paused}))
	check(t, s.Configure(ctx, "c", "not there yet", store.QueueChange{Delay: &delay, NotBefore: &due}))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// picture is what a crawl is, as far as it can move.
type picture struct {
	Keys   []store.Key
	URLs   []crawlfile.URLRow
	Queues []crawlfile.QueueRow
}

func pictureOf(t testing.TB, s store.Store, crawl string) (p picture) {
	t.Helper()
	for k, err := range s.Keys(t.Context(), crawl) {
		check(t, err)
		p.Keys = append(p.Keys, k)
	}
	for e, err := range s.Entries(t.Context(), crawl, "") {
		check(t, err)
		r := *crawlfile.URLRowOf(e)
		if e.Due.Before(due) {
			r.Due = time.Time{} // it was due at once
		}
		p.URLs = append(p.URLs, r)
	}
	slices.SortFunc(p.URLs, func(a, b crawlfile.URLRow) int { return bytes.Compare(a.Key, b.Key) })
	for q, err := range s.Queues(t.Context(), crawl, "") {
		check(t, err)
		r := *crawlfile.QueueRowOf(q)
		if !r.NotBefore.After(time.Now()) {
			r.NotBefore = time.Time{} // it has no effect any more
		}
		p.Queues = append(p.Queues, r)
	}
	return p
}

// diff returns where two pictures differ, or "".
func diff(t testing.TB, want, got picture) string {
	t.Helper()
	if reflect.DeepEqual(want, got) {
		return ""
	}
	w, err := json.MarshalIndent(want, "", " ")
	check(t, err)
	g, err := json.MarshalIndent(got, "", " ")
	check(t, err)
	wl, gl := strings.Split(string(w), "\n"), strings.Split(string(g), "\n")
	for i := range min(len(wl), len(gl)) {
		if wl[i] != gl[i] {
			return fmt.Sprintf("line %d: got %s; want %s", i, gl[i], wl[i])
		}
	}
	return fmt.Sprintf("got %d lines; want %d", len(gl), len(wl))
}

func exported(t testing.TB, s store.Store) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := crawlfile.Export(t.Context(), &b, s, "c", store.Identity{}, nil)
	check(t, err)
	if want := (crawlfile.Counts{Queues: 2, Waiting: 38, Done: 1, Dropped: 1, Keys: 100}); n != want {
		t.Fatalf("exported %+v; want %+v", n, want)
	}
	return b.Bytes()
}

func TestACrawlIsTheSameInAnotherStore(t *testing.T) {
	for name, pair := range map[string][2]func(testing.TB) store.Store{
		"memory to disk": {openMem, openPebble}, "disk to memory": {openPebble, openMem},
	} {
		t.Run(name, func(t *testing.T) {
			src, dst := pair[0](t), pair[1](t)
			fill(t, src)
			file := exported(t, src)
			n, err := crawlfile.Import(t.Context(), bytes.NewReader(file), dst, "other", crawlfile.ImportOptions{})
			check(t, err)
			if want := (crawlfile.Counts{Queues: 2, Waiting: 38, Done: 1, Dropped: 1, Keys: 100, New: 60}); n != want {
				t.Errorf("imported %+v; want %+v", n, want)
			}
			if d := diff(t, pictureOf(t, src, "c"), pictureOf(t, dst, "other")); d != "" {
				t.Errorf("the crawl differs: %s", d)
			}
		})
	}
}

// busy is a store that finds a URL before and after each listing.
type busy struct {
	store.Store
	t     *testing.T
	found int
}

func (b *busy) find() {
	b.found++
	_, err := b.Add(b.t.Context(), "c", []store.Item{{Key: key(b.found), Queue: "q", URL: fmt.Sprint("http://example/", b.found)}}, store.AddOptions{})
	check(b.t, err)
}

func (b *busy) Keys(ctx context.Context, crawl string) iter.Seq2[store.Key, error] {
	return func(yield func(store.Key, error) bool) {
		b.find()
		b.Store.Keys(ctx, crawl)(yield)
		b.find()
	}
}

func (b *busy) Entries(ctx context.Context, crawl, queue string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		b.find()
		b.Store.Entries(ctx, crawl, queue)(yield)
		b.find()
	}
}

// What a live crawl finds while it is exported is in the file whole or not at all: none is imported as
// seen that was never fetched.
func TestALiveCrawlLosesNothing(t *testing.T) {
	var file bytes.Buffer
	_, err := crawlfile.Export(t.Context(), &file, &busy{Store: openMem(t), t: t}, "c", store.Identity{}, nil)
	check(t, err)
	dst := openMem(t)
	_, err = crawlfile.Import(t.Context(), &file, dst, "c", crawlfile.ImportOptions{})
	check(t, err)
	if st, err := dst.Stats(t.Context(), "c"); err != nil || st.Seen != st.Held || st.Held == 0 {
		t.Errorf("got %+v, %v; want all that is seen to wait", st, err)
	}
}

func TestIdentityOfAFile(t *testing.T) {
	src := openPebble(t)
	fill(t, src)
	var keys bytes.Buffer
	_, err := crawlfile.ExportKeys(t.Context(), &keys, src, "c", store.Identity{})
	check(t, err)
	for name, file := range map[string][]byte{"crawl": exported(t, src), "keys": keys.Bytes()} {
		if id, err := crawlfile.IdentityOf(bytes.NewReader(file)); err != nil || id != identity {
			t.Errorf("%s: got %+v, %v; want %+v", name, id, err, identity)
		}
	}
	if _, err := crawlfile.IdentityOf(strings.NewReader("http://example/\nhttp://example/2\n")); !errors.Is(err, store.ErrFormat) {
		t.Errorf("a list of URLs: %v; want ErrFormat", err)
	}
}

// cut is a store that fails at one of its writes, counted from 0.
type cut struct {
	store.Store
	left int
}

var errCut = errors.New("power cut")

func (c *cut) write() error {
	if c.left--; c.left < 0 {
		return errCut
	}
	return nil
}

func (c *cut) Add(ctx context.Context, crawl string, items []store.Item, opt store.AddOptions) ([]store.Verdict, error) {
	if err := c.write(); err != nil {
		return nil, err
	}
	return c.Store.Add(ctx, crawl, items, opt)
}

func (c *cut) Settle(ctx context.Context, crawl string, list []store.Settlement) ([]store.SettleStatus, error) {
	if err := c.write(); err != nil {
		return nil, err
	}
	return c.Store.Settle(ctx, crawl, list)
}

func (c *cut) See(ctx context.Context, crawl string, keys []store.Key, fresh []bool, opt store.SeeOptions) error {
	if err := c.write(); err != nil {
		return err
	}
	return c.Store.See(ctx, crawl, keys, fresh, opt)
}

// TestImportBrokenOffAnywhere stops an import before each of its writes, one later each time, and starts it again from the beginning.
// The result must be that of an import without a stop.
func TestImportBrokenOffAnywhere(t *testing.T) {
	src := openMem(t)
	fill(t, src)
	file, want := exported(t, src), pictureOf(t, src, "c")
	dst, runs := openMem(t), 0
	for done := false; !done; runs++ {
		_, err := crawlfile.Import(t.Context(), bytes.NewReader(file), &cut{dst, runs}, "c", crawlfile.ImportOptions{Batch: 7})
		if done = err == nil; !done && !errors.Is(err, errCut) {
			t.Fatal(err)
		}
	}
	if runs < 10 {
		t.Errorf("broken off %d times; want at least 10", runs)
	}
	if d := diff(t, want, pictureOf(t, dst, "c")); d != "" {
		t.Errorf("the crawl differs: %s", d)
	}
}

// What happened in the new store since is not undone by a second import.
func TestASecondImportDisturbsNothing(t *testing.T) {
	src, dst := openMem(t), openMem(t)
	fill(t, src)
	file := exported(t, src)
	load := func() {
		_, err := crawlfile.Import(t.Context(), bytes.NewReader(file), dst, "c", crawlfile.ImportOptions{})
		check(t, err)
	}
	load()
	taken, err := dst.Take(t.Context(), store.TakeRequest{Crawl: "c", Lease: time.Hour})
	check(t, err)
	lease := taken.Leases[0]
	load()
	got, err := dst.Settle(t.Context(), "c", []store.Settlement{{Key: lease.Key, Token: lease.Token}})
	if err != nil || got[0] != store.Settled {
		t.Fatalf("the lease ended: %v, %v; want it settled", got, err)
	}
	load()
	if st, err := dst.Stats(t.Context(), "c"); err != nil || st.Held != 37 || st.Completed != 2 || st.Dropped != 1 {
		t.Errorf("got %+v, %v; want 37 held, 2 completed and 1 dropped", st, err)
	}
}

func TestDamageIsFound(t *testing.T) {
	src := openMem(t)
	fill(t, src)
	file := exported(t, src)
	for at := 0; at < len(file); at += 1 + at/100 { // each byte of the head, then fewer
		damaged := slices.Clone(file)
		damaged[at] ^= 0x20
		for _, b := range [][]byte{damaged, file[:at]} {
			if err := readAll(t.Context(), b); err == nil {
				t.Fatalf("byte %d of %d: read without an error", at, len(file))
			}
		}
	}
	check(t, readAll(t.Context(), file))
}

// readAll imports into a store that does nothing.
func readAll(ctx context.Context, file []byte) error {
	_, err := crawlfile.Import(ctx, bytes.NewReader(file), sink{}, "c", crawlfile.ImportOptions{})
	return err
}

type sink struct{ store.Store }

func (sink) Identity() store.Identity { return identity }

func (sink) QueueInfo(context.Context, string, string) (store.QueueInfo, error) {
	return store.QueueInfo{}, store.ErrNotFound
}

func (sink) Configure(context.Context, string, string, store.QueueChange) error { return nil }

func (sink) See(_ context.Context, _ string, _ []store.Key, fresh []bool, _ store.SeeOptions) error {
	for i := range fresh {
		fresh[i] = true
	}
	return nil
}

func (sink) Add(context.Context, string, []store.Item, store.AddOptions) ([]store.Verdict, error) {
	return nil, nil
}

func (sink) Settle(context.Context, string, []store.Settlement) ([]store.SettleStatus, error) {
	return nil, nil
}

func TestAnotherIdentityIsRefused(t *testing.T) {
	src := openMem(t)
	fill(t, src)
	other := identity
	other.Version++
	dst := memstore.New(memstore.Options{})
	check(t, dst.Prepare(t.Context(), store.Terms{Identity: other}))
	_, err := crawlfile.Import(t.Context(), bytes.NewReader(exported(t, src)), dst, "c", crawlfile.ImportOptions{})
	if !errors.Is(err, store.ErrIdentity) || !strings.Contains(err.Error(), "cannot import the crawl: it was created with version 1 of profile") || !strings.Contains(err.Error(), "firstseen migrate --db OLD") {
		t.Errorf("got %v; want ErrIdentity with what it has and what to do", err)
	}
	check(t, dst.Close())
}

func FuzzImport(f *testing.F) {
	src := openMem(f)
	fill(f, src)
	f.Add(exported(f, src))
	f.Add([]byte(crawlfile.Magic))
	f.Fuzz(func(t *testing.T, file []byte) {
		_, _ = crawlfile.Import(t.Context(), bytes.NewReader(file), sink{}, "c", crawlfile.ImportOptions{}) // it must only not panic
	})
}

func ExampleExport() {
	s := memstore.New(memstore.Options{})
	defer s.Close()
	_, _ = s.Add(context.Background(), "c", []store.Item{{Key: key(1), Queue: "example", URL: "http://example/1"}}, store.AddOptions{})
	var file bytes.Buffer
	n, err := crawlfile.Export(context.Background(), &file, s, "c", store.Identity{}, nil)
	fmt.Println(n.Waiting, n.Keys, err)
	// Output: 1 1 <nil>
}

// TestLargeRowsComeBack: what export writes, import reads, whatever its size.
func TestLargeRowsComeBack(t *testing.T) {
	from, to := openMem(t), openMem(t)
	meta := bytes.Repeat([]byte("m"), 13<<20) // 17 MiB as JSON: 16 were the bound once
	if _, err := from.Add(t.Context(), "", []store.Item{{Key: store.Key{1}, Queue: "q", URL: "u", Meta: meta}}, store.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := crawlfile.Export(t.Context(), &file, from, "", store.Identity{}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := crawlfile.Import(t.Context(), &file, to, "", crawlfile.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	if e, err := to.Lookup(t.Context(), "", []store.Key{{1}}); err != nil || !bytes.Equal(e[0].Meta, meta) {
		t.Errorf("got %d bytes of data, %v; want %d", len(e[0].Meta), err, len(meta))
	}
}

// TestSettingsShareSyncs: settings of queues are imported many at a time.
func TestSettingsShareSyncs(t *testing.T) {
	const queues = 2000
	from := openMem(t)
	to, err := pebblestore.Open(t.TempDir(), pebblestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	check(t, to.Prepare(t.Context(), store.Terms{Identity: identity}))
	weight := uint8(3)
	for i := range queues {
		if err := from.Configure(t.Context(), "", fmt.Sprint("q", i), store.QueueChange{Weight: &weight}); err != nil {
			t.Fatal(err)
		}
	}
	var file bytes.Buffer
	if _, err := crawlfile.Export(t.Context(), &file, from, "", store.Identity{}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := crawlfile.Import(t.Context(), &file, to, "", crawlfile.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	if m, err := to.Metrics(t.Context()); err != nil || m.Groups > queues/2 {
		t.Errorf("got %d commits for the settings of %d queues, %v; want fewer than half", m.Groups, queues, err)
	}
	for _, i := range []int{0, queues - 1} {
		if q, err := to.QueueInfo(t.Context(), "", fmt.Sprint("q", i)); err != nil || q.Weight != weight {
			t.Errorf("queue %d: got %+v, %v; want weight %d", i, q, err, weight)
		}
	}
}

// TestPaceMoves: a moved queue is not served before the delay since its last take has passed, and
// an import does not make it be served earlier.
func TestPaceMoves(t *testing.T) {
	ctx, src, dst := t.Context(), openMem(t), openPebble(t)
	var items []store.Item
	for i := range 4 {
		items = append(items, store.Item{Key: key(i), Queue: fmt.Sprint("q", i%2), URL: fmt.Sprint("http://example/", i)})
	}
	_, err := src.Add(ctx, "c", items, store.AddOptions{})
	check(t, err)
	_, err = src.Take(ctx, store.TakeRequest{Crawl: "c", Delay: time.Hour})
	check(t, err)
	var file bytes.Buffer
	_, err = crawlfile.Export(ctx, &file, src, "c", store.Identity{}, nil)
	check(t, err)
	check(t, dst.Configure(ctx, "c", "q0", store.QueueChange{NotBefore: &due}))
	_, err = crawlfile.Import(ctx, bytes.NewReader(file.Bytes()), dst, "c", crawlfile.ImportOptions{})
	check(t, err)
	q0, err := dst.QueueInfo(ctx, "c", "q0")
	check(t, err)
	if !q0.NotBefore.Equal(due) {
		t.Errorf("got a queue that is served from %v on; want the later %v, which it had", q0.NotBefore, due)
	}
	_, err = crawlfile.Import(ctx, bytes.NewReader(file.Bytes()), dst, "new", crawlfile.ImportOptions{})
	check(t, err)
	got, err := dst.Take(ctx, store.TakeRequest{Crawl: "new", MaxURLs: 10, MaxPerQueue: 10})
	check(t, err)
	for _, l := range got.Leases {
		if l.Queue != "q1" {
			t.Errorf("got a lease of queue %s within its delay", l.Queue)
		}
	}
	if len(got.Leases) != 2 {
		t.Errorf("got %d leases; want those of the queue that may be served", len(got.Leases))
	}
}

// TestDamagedScope: a file may say nothing of other crawls, and has no rule that cannot be one.
func TestDamagedScope(t *testing.T) {
	src := openMem(t)
	for _, scope := range []store.Scope{{Crawl: "other"}, {Rules: [][]byte{{}}}, {Rules: [][]byte{[]byte("a\x00b")}}, {Rules: [][]byte{bytes.Repeat([]byte("a"), store.MaxQueueKey+1)}}} {
		var file bytes.Buffer
		_, err := crawlfile.Export(t.Context(), &file, src, "c", identity, []store.Scope{scope})
		check(t, err)
		_, err = crawlfile.Import(t.Context(), &file, openMem(t), "c", crawlfile.ImportOptions{Set: func(store.Scope) error { t.Error("it was used"); return nil }})
		if !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%.80v: got %v; want %v", scope, err, store.ErrCorrupt)
		}
	}
}

// TestImportKeeps: what was set for a queue after an import stays when the import is run again.
func TestImportKeeps(t *testing.T) {
	src, dst := openMem(t), openMem(t)
	fill(t, src)
	file := exported(t, src)
	again := func() {
		_, err := crawlfile.Import(t.Context(), bytes.NewReader(file), dst, "c", crawlfile.ImportOptions{})
		check(t, err)
	}
	again()
	paused := false
	for _, c := range []struct{ set, want time.Duration }{{time.Hour, time.Hour}, {0, time.Minute}} { // the latter has no settings: it gets the file's
		check(t, dst.Configure(t.Context(), "c", "q2\xff", store.QueueChange{Delay: &c.set, Paused: &paused}))
		again()
		if q, err := dst.QueueInfo(t.Context(), "c", "q2\xff"); err != nil || q.Delay != c.want || q.Paused {
			t.Errorf("got %+v, %v; want delay %v, not paused", q, err, c.want)
		}
	}
}

// ungrouped is a store without groups.
type ungrouped struct{ store.Store }

func (s ungrouped) Configure(ctx context.Context, crawl, queue string, c store.QueueChange) error {
	if c.Group != nil {
		return store.ErrInvalid
	}
	return s.Store.Configure(ctx, crawl, queue, c)
}

// TestImportWithoutGroups: a store without groups gets the other settings of a queue, and the groups are counted.
func TestImportWithoutGroups(t *testing.T) {
	src, dst := openMem(t), openMem(t)
	delay, group := time.Minute, "g"
	check(t, src.Configure(t.Context(), "c", "q", store.QueueChange{Delay: &delay, Group: &group}))
	var file bytes.Buffer
	_, err := crawlfile.Export(t.Context(), &file, src, "c", identity, nil)
	check(t, err)
	n, err := crawlfile.Import(t.Context(), &file, ungrouped{dst}, "c", crawlfile.ImportOptions{})
	if q, err2 := dst.QueueInfo(t.Context(), "c", "q"); err != nil || err2 != nil || n.Ungrouped != 1 || q.Delay != delay {
		t.Errorf("got %+v, %+v, %v, %v; want delay %v, and one group left out", n, q, err, err2, delay)
	}
}

// TestScopeNames: the fields of a scope have names of their own in files, whatever Go calls them.
func TestScopeNames(t *testing.T) {
	settings := store.QueueSettings{Delay: 1, MaxInFlight: 2, BlockedUntil: time.Unix(3, 0).UTC(), Limit: 4, Weight: 5, Paused: true, Group: "g"}
	got, err := json.Marshal(store.Scope{Crawl: "*", CrawlSettings: store.CrawlSettings{QueueSettings: settings, QueueLimit: 6, Retention: 7}, Rules: [][]byte{[]byte("r")}})
	const want = `{"crawl":"*","delay":1,"max_in_flight":2,"blocked_until":"1970-01-01T00:00:03Z","limit":4,"weight":5,"paused":true,"group":"g","queue_limit":6,"retention":7,"rules":["cg=="]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}
