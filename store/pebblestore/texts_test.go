package pebblestore

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestTextsNeverErr runs random operations against a map: the cache may forget, and
// never errs.
func TestTextsNeverErr(t *testing.T) {
	const keys = 3000
	rnd := rand.New(rand.NewPCG(1, 1))
	c := newTexts(0)
	c.on.Store(true)
	want := map[int]string{}
	hits := 0
	for i := range 200_000 {
		n := rnd.IntN(keys)
		k := testKey(n)
		crawl := uint32(n % 2)
		switch text := want[n]; rnd.IntN(4) {
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
					want[n], text = "http://quicker.example/", "http://slower.example/"
					c.put(crawl, &k, want[n])
				}
				c.learn(crawl, &k, text, version)
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

// TestTextsAreBounded checks that the cache takes the memory that it may, however many texts it was given,
// and has the latest.
func TestTextsAreBounded(t *testing.T) {
	const bound, texts = 4 << 20, 100_000
	c := newTexts(bound)
	c.on.Store(true)
	for i := range texts {
		k := testKey(i)
		c.put(1, &k, fmt.Sprintf("http://example.com/%d/%060d", i, i))
	}
	total := 0
	for i := range c.shards {
		for _, h := range []*textHalf{&c.shards[i].young, &c.shards[i].old} {
			total += len(h.texts) + textCost*len(h.at)
		}
	}
	if total > bound || total < bound/2 {
		t.Errorf("got %d bytes; want nearly %d", total, bound)
	}
	for i := texts - 5000; i < texts; i++ {
		k := testKey(i)
		if _, known, _ := c.get(1, &k, ""); !known {
			t.Fatalf("the text put %d puts ago is gone; want the latest", texts-i)
		}
	}
}

// TestTextsInUseStay checks that a text that is asked for is not dropped for later ones.
func TestTextsInUseStay(t *testing.T) {
	c := newTexts(0)
	c.on.Store(true)
	used := testKey(0)
	c.put(1, &used, "http://example.com/")
	for i := 1; i < 400_000; i++ {
		k := testKey(i)
		c.put(1, &k, "http://example.com/other")
		if text, known, _ := c.get(1, &used, ""); !known || text != "http://example.com/" {
			t.Fatalf("after %d other texts: got %q, %v", i, text, known)
		}
	}
}

// TestLongTextsAreNotKept checks that a text that is too long also replaces none by an older one.
func TestLongTextsAreNotKept(t *testing.T) {
	c := newTexts(0)
	c.on.Store(true)
	k := testKey(0)
	c.put(1, &k, "http://example.com/")
	c.put(1, &k, strings.Repeat("x", maxText+1))
	if text, known, _ := c.get(1, &k, ""); known {
		t.Errorf("got %q; want nothing", text)
	}
}

// TestTextsOfAlikeKeys checks that a text that was replaced does not come back when the entry of another
// key, of the same half, takes the place of the new one.
func TestTextsOfAlikeKeys(t *testing.T) {
	c := newTexts(0)
	c.on.Store(true)
	k, alike := testKey(1), testKey(1)
	alike[2]++ // the same shard, and the same half that entries are found by
	c.put(1, &k, "old")
	s := c.shard(&k)
	s.young, s.old = s.old, s.young
	c.put(1, &k, "new")
	c.put(1, &alike, "another")
	if text, known, _ := c.get(1, &k, ""); known && text != "new" {
		t.Errorf("got the text %q; want %q or none", text, "new")
	}
	if text, known, _ := c.get(1, &alike, ""); !known || text != "another" {
		t.Errorf("got the text %q (known: %v) of the other key; want %q", text, known, "another")
	}
}
