package pebblestore

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestTexts runs random operations against a map: the cache may forget, and
// never errs.
func TestTexts(t *testing.T) {
	const keys = 3000
	rnd := rand.New(rand.NewPCG(1, 1))
	c := newTexts(0) // two chunks a shard
	c.want()
	want := map[int]string{}
	hits := 0
	for i := range 200_000 {
		n := rnd.IntN(keys)
		k := testKey(n)
		crawl := uint32(n % 2)
		switch text, held := want[n]; rnd.IntN(4) {
		case 0:
			want[n] = fmt.Sprintf("http://example.com/%d/%0*d", n, rnd.IntN(300), i)
			c.put(crawl, &k, want[n])
		case 1:
			delete(want, n)
			c.drop(crawl, &k)
		case 2:
			_, known, version := c.get(crawl, &k, "")
			if !known {
				if rnd.IntN(2) == 0 { // another caller is faster
					want[n], held = "http://quicker.example/", false
					c.put(crawl, &k, want[n])
				}
				c.learn(crawl, &k, text, held, version)
			}
		case 3:
			got, known, _ := c.get(crawl, &k, text)
			if known && got != text {
				t.Fatalf("step %d: got %q for key %d; want %q", i, got, n, text)
			}
			if known {
				hits++
			}
			if _, other, _ := c.get(crawl+7, &k, ""); other {
				t.Fatalf("step %d: key %d is known in a crawl it was never in", i, n)
			}
		}
	}
	if hits < 20_000 {
		t.Errorf("got %d hits of 50,000; want most of what was put", hits)
	}
}

// TestTextsTable checks that the table is as large as the live texts need, however many there were.
func TestTextsTable(t *testing.T) {
	c := newTexts(0)
	c.want()
	for i := range 400_000 {
		k := testKey(i)
		c.put(1, &k, fmt.Sprintf("http://example.com/%d/%060d", i, i))
	}
	const live = 2 * textChunk / 100 // of a shard
	for i := range c.shards {
		if n := len(c.shards[i].table); n > live {
			t.Errorf("shard %d: got %d buckets for about %d texts", i, n, live)
		}
	}
	for i := 399_000; i < 400_000; i++ {
		k := testKey(i)
		if _, known, _ := c.get(1, &k, ""); !known {
			t.Fatalf("the text put %d puts ago is gone; want the latest", 400_000-i)
		}
	}
}
