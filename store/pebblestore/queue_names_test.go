package pebblestore

import (
	"fmt"
	"testing"
	"unsafe"
)

// TestNamesOfOneHash has queues come into memory and leave it, of which two have names of one hash, and two have the same number, as
// damaged rows may say: each is found as long as it is in memory.
func TestNamesOfOneHash(t *testing.T) {
	s := &Store{crawls: map[string]*crawl{}, byNum: map[uint32]*crawl{}}
	s.addCrawl(&crawl{num: 1, name: "c"})
	c, sc := s.crawls["c"], &s.sched
	qs := &c.queues
	names := []string{"", "", "other", "same number"}
	for i, of := 0, map[uint32]string{}; names[0] == ""; i++ {
		name := fmt.Sprint("host", i)
		if twin, ok := of[qs.hash(name)]; ok {
			names[0], names[1] = twin, name
		}
		of[qs.hash(name)] = name
	}
	ids := []uint32{pageLen, pageLen + 1, 2 * pageLen, 2 * pageLen}
	in, were := map[string]*queue{}, map[string]bool{}
	for r := newRand(1); len(in) < len(names) || r.IntN(100) > 0; {
		i := r.IntN(len(names))
		name := names[i]
		if q := in[name]; q != nil && r.IntN(3) == 0 {
			sc.drop(q)
			sc.drop(q) // which changes nothing
			delete(in, name)
		} else if q == nil {
			in[name], were[name] = newQueue(c, name, ids[i], 0), true
			sc.hold(in[name])
		}
		if qs.loaded != len(in) || sc.loaded != len(in) {
			t.Fatalf("got %d and %d queues in memory; want %d", qs.loaded, sc.loaded, len(in))
		}
		for i, name := range names {
			if got := qs.named(name); got != in[name] {
				t.Fatalf("got %p by the name %q; want %p", got, name, in[name])
			}
			if got := qs.numbered(ids[i]); i < 2 && got != in[name] {
				t.Fatalf("got %p by the number of %q; want %p", got, name, in[name])
			}
			if were[name] && !qs.mayHave(s, name) {
				t.Fatalf("%q has no row; want one", name)
			}
		}
	}
	if len(in) != len(names) || len(qs.twins) == 0 {
		t.Errorf("got %d queues and %d twins; want all, and some", len(in), len(qs.twins))
	}
}

// TestQueueIsSmall: a broad crawl has millions of queues in memory.
func TestQueueIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(queue{}); n > 208 {
		t.Errorf("got a queue of %d bytes; want no more than 208, beyond which Go takes 224 for it", n)
	}
	if n := unsafe.Sizeof(page{}); n > 64 {
		t.Errorf("got a page of %d bytes; want no more than 64, since of old queues one a page is in memory", n)
	}
}
