package pebblestore

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

type countGroups struct{ groups, steps, rows int }

func (c *countGroups) Group(i GroupInfo) {
	c.groups++
	c.steps += i.Steps
	c.rows += i.Rows
}

func TestMetrics(t *testing.T) {
	var c countGroups
	s := mustOpen(t, "db", Options{FS: vfs.NewMem(), Observer: &c})
	see(t, s, "", testKeys(0, 1000))
	see(t, s, "", testKeys(0, 2000))
	m, err := s.Metrics(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if m.Seen != 2000 || m.Steps != 2 || m.Groups != 2 || m.Index.Mode != IndexFP64 || m.LogBytes < 2000*seenRowLenBytes {
		t.Errorf("got %+v; want 2000 keys in 2 groups, each in the log", m)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if c.groups != 2 || c.steps != 2 || c.rows < 2000 {
		t.Errorf("got %+v; want 2 groups of 2 steps with 2000 rows", c)
	}
}

const seenRowLenBytes = int64(seenRowLen)

// TestCacheHoldsBlocks asserts the rule that the block cache is larger than the
// write buffers, which are charged to it: otherwise it holds no block at all,
// and look-ups cost ten times as much.
func TestCacheHoldsBlocks(t *testing.T) {
	opt := Options{FS: vfs.NewMem(), Index: IndexBounded, MemTableBytes: 1 << 20}.withDefaults()
	if opt.CacheBytes < 4*int64(opt.MemTableBytes) {
		t.Errorf("got %d bytes of cache; want room for four write buffers of %d", opt.CacheBytes, opt.MemTableBytes)
	}
	opt.CacheBytes = 16 << 20
	s := mustOpen(t, "db", opt)
	defer s.Close()
	for i := range 40 {
		see(t, s, "", testKeys(5000*i, 5000*i+5000))
	}
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	look := func() {
		for i := range 40 {
			see(t, s, "", testKeys(5000*i, 5000*i+5000))
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
