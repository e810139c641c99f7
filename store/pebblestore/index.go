package pebblestore

import "github.com/firstseen/firstseen/store"

// index answers in memory which keys of a crawl were seen.
type index interface {
	has(k *store.Key) bool
	insert(k *store.Key) bool // false: was there
	remove(k *store.Key) bool // false: wasn't there
}

// mapIndex is exact.
type mapIndex map[store.Key]struct{}

func (m mapIndex) has(k *store.Key) bool { _, ok := m[*k]; return ok }

func (m mapIndex) insert(k *store.Key) bool {
	n := len(m)
	m[*k] = struct{}{}
	return len(m) > n
}

func (m mapIndex) remove(k *store.Key) bool {
	n := len(m)
	delete(m, *k)
	return len(m) < n
}
