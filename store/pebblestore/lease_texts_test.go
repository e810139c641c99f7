package pebblestore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/storetest"
)

// longItems have metadata of 60 kB, which differ, and every tenth a URL as long.
func longItems(n int) []store.Item {
	items := make([]store.Item, n)
	for i := range items {
		items[i] = store.Item{Key: testKey(i), Queue: "q", URL: fmt.Sprint("http://a/", i), Meta: []byte(strings.Repeat(fmt.Sprintf("%06d", i), 10_000))}
		if i%10 == 0 {
			items[i].URL += strings.Repeat("/u", 30_000)
		}
	}
	return items
}

// leaseLong leases n URLs, and compares them with the items.
func leaseLong(t *testing.T, s *Store, items []store.Item, n int) []store.Entry {
	t.Helper()
	got := takeSome(t, s, n)
	if len(got) != n {
		t.Fatalf("got %d leases; want %d", len(got), n)
	}
	for i := range got {
		wantTexts(t, &got[i], items)
	}
	return got
}

// wantTexts compares the URL and the metadata of an entry with its item.
func wantTexts(t *testing.T, e *store.Entry, items []store.Item) {
	t.Helper()
	for i := range items {
		if items[i].Key == e.Key {
			if e.URL != items[i].URL || string(e.Meta) != string(items[i].Meta) {
				t.Fatalf("item %d: got a URL of %d bytes and metadata of %d; want those of the item, %d and %d, %v",
					i, len(e.URL), len(e.Meta), len(items[i].URL), len(items[i].Meta), e.State)
			}
			return
		}
	}
	t.Fatalf("got key %x, which no item has", e.Key)
}

// wantBound checks that no lease keeps more than 1 KiB of texts, and that there are n.
func wantBound(t *testing.T, s *Store, n int) {
	t.Helper()
	leases, held := s.crawls[store.DefaultCrawl].queues.Leases, 0
	for _, l := range leases {
		held += len(l.URL) + cap(l.Meta)
	}
	if len(leases) != n || held > n<<10 {
		t.Errorf("got %d leases with %d bytes of texts in memory; want %d with at most %d", len(leases), held, n, n<<10)
	}
}

// TestLeasesKeepNoLongTexts: a client that leased a million URLs with 60 kB of metadata each took 60 GB.
// Whatever becomes of a lease, its texts are those of the URL.
func TestLeasesKeepNoLongTexts(t *testing.T) {
	const n = 30
	clock := newStepClock()
	opt := Options{FS: vfs.NewMem(), Clock: clock.Now, KeepURLs: true}
	s := mustOpen(t, "db", opt)
	items := longItems(n)
	addItems(t, s, items)
	leases := leaseLong(t, s, items, n)
	wantBound(t, s, n)

	settleAll := func(o store.Outcome) {
		t.Helper()
		list := make([]store.Settlement, len(leases))
		for i, l := range leases {
			list[i] = store.Settlement{Key: l.Key, Token: l.Token, Outcome: o}
			if o == store.Extend {
				list[i].Due = clock.Now().Add(time.Minute)
			}
		}
		got, err := s.Settle(t.Context(), "", list)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if got[i] != store.Settled {
				t.Fatalf("settlement %d: got %v; want it settled", i, got[i])
			}
		}
	}
	settleAll(store.Extend)
	wantBound(t, s, n)
	wantListed(t, s, items)

	s = reopen(t, s, "db", opt)
	wantBound(t, s, n)
	wantListed(t, s, items)

	clock.step(2 * time.Minute) // the leases run out
	leases = leaseLong(t, s, items, n)
	wantBound(t, s, n)
	settleAll(store.Requeue)
	wantListed(t, s, items)
	leases = leaseLong(t, s, items, n)
	settleAll(store.Complete)
	wantListed(t, s, items)
	wantSound(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// wantListed looks all URLs up and lists them.
func wantListed(t *testing.T, s *Store, items []store.Item) {
	t.Helper()
	for i := range items {
		e, err := storetest.Lookup(t.Context(), s, "", items[i].Key)
		if err != nil {
			t.Fatal(err)
		}
		wantTexts(t, &e, items)
	}
	listed := map[store.Key]bool{}
	for e, err := range s.Entries(t.Context(), "", "") {
		if err != nil || listed[e.Key] {
			t.Fatalf("got %x, %v; want each URL once", e.Key, err)
		}
		wantTexts(t, &e, items)
		listed[e.Key] = true
	}
	if len(listed) != len(items) {
		t.Errorf("got %d URLs listed; want %d", len(listed), len(items))
	}
}

// TestLeasesAreListedInSteps: all leases of a queue were listed in one step, whatever their number and
// their texts.
func TestLeasesAreListedInSteps(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	long, most := longItems(30), 0
	addItems(t, s, long)
	addQueued(t, s, "r", 100, 100+3*listRows)
	takeSome(t, s, len(long))
	if got := len(takeSome(t, s, 3*listRows)); got != 3*listRows {
		t.Fatalf("got %d leases; want %d", got, 3*listRows)
	}
	at := &entryCursor{crawl: store.DefaultCrawl}
	n := 0
	for more := true; more; {
		var list []store.Entry
		err := s.read(t.Context(), func(tx *txn) (err error) {
			list, more, err = at.page(tx)
			return err
		})

		if err != nil {
			t.Fatal(err)
		}
		bytes := 0
		for i, e := range list {
			bytes += len(e.URL) + len(e.Meta)
			if e.State != store.Leased {
				t.Fatalf("entry %d: got %v; want a lease", i, e.State)
			}
		}
		n, most = n+len(list), max(most, bytes)
		if len(list) > listRows {
			t.Errorf("got %d entries in a step; want at most %d", len(list), listRows)
		}
	}
	if want := len(long) + 3*listRows; n != want || most > partBytes+128<<10 {
		t.Errorf("got %d leases, at most %d bytes in a step; want %d, and little more than 1 MiB", n, most, want)
	}
}

// TestBackupOfLongLeases restores leases whose texts are in rows only.
func TestBackupOfLongLeases(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir+"/db", Options{})
	items := longItems(20)
	addItems(t, s, items)
	leaseLong(t, s, items, len(items))
	backUp(t, s, dir+"/copy")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, dir+"/copy", Options{})
	defer s.Close()
	wantListed(t, s, items)
	wantBound(t, s, len(items))
}

// TestFirstOfLongLeases asks for the first-seen URLs of leases that have them in their rows only.
func TestFirstOfLongLeases(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem(), tuning: tuning{textBytes: 1}})
	defer s.Close()
	items := longItems(20)
	addItems(t, s, items)
	leaseLong(t, s, items, len(items))
	verdicts, err := s.Add(t.Context(), "", items, store.AddOptions{WantFirst: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range verdicts {
		if v.Status != store.Duplicate || v.First != items[i].URL {
			t.Errorf("item %d: got %v, first of %d bytes; want a duplicate, first of %d", i, v.Status, len(v.First), len(items[i].URL))
		}
	}
}
