package redisstore

import (
	"sync"

	"github.com/firstseen/firstseen/store"
)

// mostOwed bounds the keys that a daemon remembers as owed, 48 bytes each and their crawl.
const mostOwed = 1 << 20

// owed are keys that calls of See recorded as new, and could not say so, since another part of the call failed. The
// daemon that is asked about them again says that they are new: it alone may, and does so once.
type owed struct {
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
	}
}

// any reports whether something is owed.
func (o *owed) any() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.keys) > 0
}

// pay reports whether a key is owed, which it isn't any more then.
func (o *owed) pay(crawl string, key store.Key) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ok := o.keys[owedKey{crawl, key}]
	delete(o.keys, owedKey{crawl, key})
	return ok
}
