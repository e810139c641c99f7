package uniq

import (
	"context"
	"errors"
	"fmt"

	"github.com/firstseen/firstseen/store"
)

// Memory is a crawl of a store that no other process writes to.
type Memory struct {
	Store store.Store
	Crawl string
	// Unicode reports whether a canonical form has an internationalised host, so that its
	// key depends on the Unicode version.
	Unicode func(form []byte) bool
}

// printed is a URL of the output that is not recorded yet.
type printed struct {
	key     store.Key
	unicode bool
	end     int // in the output
}

func (m *Memory) has(ctx context.Context, key store.Key) (bool, error) {
	_, err := m.Store.Lookup(context.WithoutCancel(ctx), m.Crawl, key)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, store.ErrNotFound):
		return false, nil
	}
	return false, fmt.Errorf("cannot look up a URL: %w", err)
}

// record records the URLs that lie whole in the first n bytes of the output. It does so even
// if ctx ended, because they were printed.
func (m *Memory) record(ctx context.Context, list []printed, n int) error {
	var opt store.SeeOptions
	var keys []store.Key
	for _, p := range list {
		if p.end <= n {
			keys = append(keys, p.key)
			opt.UnicodeHosts = opt.UnicodeHosts || p.unicode
		}
	}
	if len(keys) == 0 {
		return nil
	}
	if err := m.Store.See(context.WithoutCancel(ctx), m.Crawl, keys, make([]bool, len(keys)), opt); err != nil {
		return fmt.Errorf("cannot record what was printed; the next run prints it again: %w", err)
	}
	return nil
}
