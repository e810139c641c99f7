package redisstore

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/firstseen/firstseen/store"
)

// cache remembers keys that are known, so that a duplicate need not be sent. It has only
// positive facts, and such as were answered: a key is new by the cluster's word alone.
//
// A fact holds as long as the crawl's epoch is the one from before it was learned (see
// lua/epoch.lua). So a crawl has a seed for its epoch, which goes into the fingerprints: what was
// learned in another epoch isn't found any more, and is evicted.
//
// Fingerprints have 64 bits that cannot be computed from outside, and a look-up compares eight:
// it errs once in 2e18.
type cache struct {
	slots   []atomic.Uint64 // cacheWays for each bucket, the latest used first; 0: none
	buckets uint64

	mu     sync.RWMutex
	crawls map[string]remembered
}

const cacheWays = 8

// remembered is what facts about a crawl are found by.
type remembered struct {
	epoch uint64
	seed  maphash.Seed
}

// newCache returns a cache of at most so many bytes, nil if that is none.
func newCache(budget int64) *cache {
	buckets := budget / (8 * cacheWays)
	if buckets <= 0 {
		return nil
	}
	return &cache{slots: make([]atomic.Uint64, buckets*cacheWays), buckets: uint64(buckets), crawls: map[string]remembered{}}
}

// of returns what facts about a crawl are found by, and whether that is known.
func (c *cache) of(crawl string) (remembered, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	r, ok := c.crawls[crawl]
	return r, ok
}

// learn notes the epoch of a crawl. While keys are being forgotten nothing is remembered.
func (c *cache) learn(crawl string, epoch uint64, forgetting bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if forgetting {
		delete(c.crawls, crawl)
	} else if r, ok := c.crawls[crawl]; !ok || r.epoch != epoch {
		c.crawls[crawl] = remembered{epoch, maphash.MakeSeed()}
	}
}

// place returns the slots that a key may be in, and its fingerprint.
func (c *cache) place(r remembered, key *store.Key) ([]atomic.Uint64, uint64) {
	bucket, _ := bits.Mul64(binary.BigEndian.Uint64(key[:8]), c.buckets)
	return c.slots[bucket*cacheWays:][:cacheWays], max(1, maphash.Bytes(r.seed, key[:]))
}

// has reports whether a key is known. It moves to the front, so that keys that are asked for
// often stay. Goroutines that do so at once may lose a fact, which costs a question.
func (c *cache) has(r remembered, key *store.Key) bool {
	slots, want := c.place(r, key)
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

// put remembers that a key is known, and evicts the key that was used least.
func (c *cache) put(r remembered, key *store.Key) {
	slots, moving := c.place(r, key)
	fingerprint := moving
	for i := range slots {
		moving = slots[i].Swap(moving)
		if moving == 0 || moving == fingerprint {
			return
		}
	}
}
