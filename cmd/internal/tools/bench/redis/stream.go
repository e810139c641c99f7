package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/firstseen/firstseen/store"
)

// itemAt makes the nth URL of a crawl of 20,000 hosts of uneven size.
func itemAt(n uint64) store.Item {
	h := n * 0x9e3779b97f4a7c15
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 32
	var k store.Key
	binary.BigEndian.PutUint64(k[:], h)
	binary.BigEndian.PutUint64(k[8:], n*0x94d049bb133111eb)
	u := float64(h>>11) / (1 << 53)
	host := fmt.Sprintf("host-%d.example", int(20000*u*u*u))
	return store.Item{Key: k, Queue: host, URL: fmt.Sprintf("https://%s/some/path/of/usual/length/page-%d.html?id=%d", host, n, h%9999)}
}

// batches makes the batches of a run, as many URLs of which are new as s says, after known
// URLs that are there already.
func batches(s settings, count int) [][]store.Item {
	rng := rand.New(rand.NewPCG(1, 2))
	next := uint64(s.known)
	all := make([][]store.Item, count)
	for i := range all {
		all[i] = make([]store.Item, s.batch)
		for j := range all[i] {
			n := rng.Uint64N(next)
			if j%100 < s.fresh {
				n = next
				next++
			}
			all[i][j] = itemAt(n)
		}
	}
	return all
}

// fresh makes batches of URLs that are all new.
func fresh(s settings, count int) [][]store.Item {
	var all [][]store.Item
	for n := 0; n < count; n += s.batch {
		batch := make([]store.Item, min(s.batch, count-n))
		for i := range batch {
			batch[i] = itemAt(uint64(n + i))
		}
		all = append(all, batch)
	}
	return all
}
