package redisstore

import (
	"sync"
	"sync/atomic"

	"github.com/firstseen/firstseen/store"
)

// mostOwed bounds the keys that a daemon remembers as owed, 48 bytes each and their crawl.
const mostOwed = 1 << 20

// owed are keys without a queue that failed calls recorded as new, and could not report. The daemon that is asked about
// them again reports them as new, once: no other can.
type owed struct {
	some atomic.Bool
	mu   sync.Mutex
	keys map[owedKey]struct{}
}

type owedKey struct {
	crawl string
	key   store.Key
}

// add notes a key.
func (o *owed) add(crawl string, key store.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.keys == nil {
		o.keys = map[owedKey]struct{}{}
	}
	if len(o.keys) < mostOwed {
		o.keys[owedKey{crawl, key}] = struct{}{}
		o.some.Store(true)
	}
}

// pay reports whether a key is owed, and forgets that it is.
func (o *owed) pay(crawl string, key store.Key) bool {
	if !o.some.Load() {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ok := o.keys[owedKey{crawl, key}]
	delete(o.keys, owedKey{crawl, key})
	o.some.Store(len(o.keys) > 0)
	return ok
}
