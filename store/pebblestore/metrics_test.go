package pebblestore

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/storetest"
)

type countGroups struct{ groups, steps, rows int }

func (c *countGroups) group(i groupInfo) {
	c.groups++
	c.steps += i.steps
	c.rows += i.rows
}

func TestMetrics(t *testing.T) {
	var c countGroups
	s := mustOpen(t, "db", Options{FS: vfs.NewMem(), tuning: tuning{observe: c.group}})
	see(t, s, "", testKeys(0, 1000))
	see(t, s, "", testKeys(0, 2000))
	m, err := s.Metrics(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if m.Seen != 2000 || m.Steps != 3 || m.Groups != 3 || !m.Index.Fingerprints || m.LogBytes < 2000*int64(keyLen) {
		t.Errorf("got %+v; want 2000 keys in 3 groups with that of Prepare, each in the log", m)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if c.groups != 3 || c.steps != 3 || c.rows < 2 {
		t.Errorf("got %+v; want 3 groups of 3 steps with 2 rows of keys at least", c)
	}
}

// TestCacheHoldsBlocks asserts the rule that the block cache is larger than the
// write buffers, which are charged to it: otherwise it holds no block at all,
// and look-ups cost ten times as much.
func TestCacheHoldsBlocks(t *testing.T) {
	opt := Options{FS: vfs.NewMem(), tuning: tuning{memTableBytes: 1 << 20}}.withDefaults()
	if opt.CacheBytes < 4*int64(opt.memTableBytes) {
		t.Errorf("got %d bytes of cache; want room for four write buffers of %d", opt.CacheBytes, opt.memTableBytes)
	}
	opt.CacheBytes = 16 << 20
	s := mustOpen(t, "db", opt)
	defer s.Close()
	n := 5000
	var items []store.Item
	for i := range n {
		items = append(items, store.Item{Key: testKey(i), Queue: "q", URL: "http://a.example/"})
	}
	if _, err := s.Add(t.Context(), "", items, store.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	look := func() {
		for i := range n {
			if e, err := storetest.Lookup(t.Context(), s, "", testKey(i)); err != nil || e.State != store.Queued {
				t.Fatalf("got %+v, %v; want it queued", e, err)
			}
		}
	}
	look()
	before := s.db.Metrics().BlockCache
	look()
	after := s.db.Metrics().BlockCache
	hits, misses := after.Hits-before.Hits, after.Misses-before.Misses
	if hits < 9*misses {
		t.Errorf("got %d hits and %d misses of the block cache; want nine in ten", hits, misses)
	}
}

// TestStallTime asserts that a stall counts while it lasts.
func TestStallTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stalls
		told := func(when string, want time.Duration) {
			t.Helper()
			if got := s.all(); got != want {
				t.Errorf("%s: got %v; want %v", when, got, want)
			}
		}
		told("before", 0)
		s.begin()
		time.Sleep(2 * time.Second)
		told("in a stall", 2*time.Second)
		time.Sleep(time.Second)
		s.end()
		time.Sleep(time.Minute)
		told("after it", 3*time.Second)
		s.begin()
		time.Sleep(time.Second)
		s.end()
		told("after two", 4*time.Second)
	})
}

// TestWrittenOnce checks that written bytes are counted once: in the log and, after a flush, in a
// table; and that a step whose rows are written in between counts all.
func TestWrittenOnce(t *testing.T) {
	var c countGroups
	s := mustOpen(t, "db", Options{FS: vfs.NewMem(), tuning: tuning{observe: c.group}})
	defer s.Close()
	m := metrics(t, s)
	stamp := m.WrittenBytes - m.UserBytes // the table of the rows of a new store
	see(t, s, "", testKeys(0, 1000))
	m = metrics(t, s)
	if m.UserBytes < 1000*int64(keyLen) || m.WrittenBytes != m.UserBytes+stamp {
		t.Errorf("got %d bytes written for %d; want as many, and %d of the table that was there", m.WrittenBytes, m.UserBytes, stamp)
	}
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	flushed := metrics(t, s)
	if table := flushed.WrittenBytes - flushed.UserBytes - stamp; table < 1000*16 || table > 1000*int64(keyLen)*2 {
		t.Errorf("got %d bytes of tables for 1000 keys", table)
	}
	rows := c.rows
	if _, err := s.Forget(context.Background(), store.Selection{Keys: testKeys(0, 500)}); err != nil {
		t.Fatal(err)
	}
	if c.rows-rows < 500 {
		t.Errorf("got %d rows of a step that forgot 500 keys", c.rows-rows)
	}
}
