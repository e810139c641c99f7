package redisstore

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/firstseen/firstseen/store"
)

// cache remembers known keys of crawls by 64-bit fingerprints, in a table of fixed size. A fingerprint does not lead back to its
// key, so the cache cannot drop single keys. Instead a shard reports an epoch with every answer about keys of a crawl,
// and begins a new one when it forgets one of them (lua/offer.lua). The epoch is part of the fingerprint, so keys learned in an
// earlier epoch are no longer found. A fingerprint is wrong once in 2e18 look-ups.
type cache struct {
	slots   []atomic.Uint64 // buckets of cacheWays fingerprints, the last used first; 0: empty
	buckets uint64
	seed    maphash.Seed

	mu      sync.RWMutex
	reports map[string][]report // by crawl and shard, the last ones; the slices do not change
}

// cacheWays is the number of fingerprints in a bucket: those of one cache line.
const cacheWays = 8

// newCache returns a cache of at most so many bytes, nil if that is none.
func newCache(budget int64) *cache {
	buckets := budget / (8 * cacheWays)
	if buckets <= 0 {
		return nil
	}
	return &cache{slots: make([]atomic.Uint64, buckets*cacheWays), buckets: uint64(buckets), seed: maphash.MakeSeed(), reports: map[string][]report{}}
}

// of returns the reports of a crawl by shard, nil if there are none.
func (c *cache) of(crawl string) []report {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.reports[crawl]
}

func (c *cache) learn(crawl string, shards int, reported map[int]report) {
	reports := append(make([]report, 0, shards), c.of(crawl)...)[:shards]
	for shard, r := range reported {
		if reports[shard] != r {
			reports[shard] = report(strings.Clone(string(r)))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reports[crawl] = reports
}

// place returns the slots that a key may be in, and its fingerprint.
func (c *cache) place(crawl, epoch string, key *store.Key) ([]atomic.Uint64, uint64) {
	var h maphash.Hash
	h.SetSeed(c.seed)
	_, _ = h.WriteString(epoch)
	_, _ = h.Write(key[:])
	_, _ = h.WriteString(crawl)
	bucket, _ := bits.Mul64(binary.BigEndian.Uint64(key[:8]), c.buckets)
	return c.slots[bucket*cacheWays:][:cacheWays], max(1, h.Sum64())
}

// has reports whether a key is known. It moves the key to the front, so frequently used keys stay. Goroutines
// that do so at the same time may drop a key, which costs a request.
func (c *cache) has(crawl, epoch string, key *store.Key) bool {
	slots, want := c.place(crawl, epoch, key)
	for i := range slots {
		if slots[i].Load() == want {
			if i > 0 {
				slots[i].Store(slots[i-1].Swap(want))
			}
			return true
		}
	}
	return false
}

// put remembers that a key is known, and evicts the least recently used key of its bucket.
func (c *cache) put(crawl, epoch string, key *store.Key) {
	slots, moving := c.place(crawl, epoch, key)
	fingerprint := moving
	for i := range slots {
		moving = slots[i].Swap(moving)
		if moving == 0 || moving == fingerprint {
			return
		}
	}
}
