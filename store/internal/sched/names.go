package sched

import (
	"sync"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// maxName is the maximum length of a crawl's name, in bytes, and maxStored that of its name in the
// store.
const maxName, maxStored = 249, 255

// CheckNames returns an error for invalid arguments of store.Store.NameCrawls.
func CheckNames(names, stored []string) error {
	if len(names) != len(stored) {
		return fault.As(store.ErrInvalid, "cannot settle the names of crawls; got %d names and %d proposals; want a proposal for each name", len(names), len(stored))
	}
	for i, name := range names {
		if len(name) > maxName {
			return fault.As(store.ErrInvalid, "cannot settle the name of crawl %.40q; got %d bytes; want at most %d", name, len(name), maxName)
		}
		if len(stored[i]) > maxStored {
			return fault.As(store.ErrInvalid, "cannot settle the stored name of crawl %.40q; got %d bytes; want at most %d", name, len(stored[i]), maxStored)
		}
	}
	return nil
}

// Names has the claimed names of crawls, for the stores of one process. The zero value is empty. It is safe for concurrent use.
type Names struct {
	mu     sync.Mutex
	stored map[string]string
}

// Claim does what NameCrawls promises.
func (t *Names) Claim(names, stored []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stored == nil {
		t.stored = make(map[string]string)
	}
	for i, name := range names {
		if holds, ok := t.stored[name]; ok {
			stored[i] = holds
		} else if stored[i] != "" {
			t.stored[name] = stored[i]
		}
	}
}
