package uniq

import (
	"context"
	"fmt"

	"github.com/firstseen/firstseen/store"
)

// Memory is a crawl of a store that no other process writes to.
type Memory struct {
	Store Remembering
	Crawl string
	// Unicode reports whether a canonical form has an internationalised host, so that its
	// key depends on the Unicode version.
	Unicode func(form []byte) bool
}

// Remembering is what Memory needs of a store; pebblestore has it.
type Remembering interface {
	Known(ctx context.Context, crawl string, keys []store.Key, known []bool) error
	See(ctx context.Context, crawl string, keys []store.Key, fresh []bool, opt store.SeeOptions) error
}

// printed is a URL of the output that is not written, or not recorded yet.
type printed struct {
	key     store.Key
	unicode bool
	end     int // in the output
}

// has sets known[i] to whether an earlier run printed keys[i].
func (m *Memory) has(ctx context.Context, keys []store.Key, known []bool) error {
	if err := m.Store.Known(context.WithoutCancel(ctx), m.Crawl, keys, known); err != nil {
		return fmt.Errorf("cannot look up URLs: %w", err)
	}
	return nil
}

// record records URLs. It does so even if ctx ended, because they were printed.
func (m *Memory) record(ctx context.Context, list []printed) error {
	var opt store.SeeOptions
	var keys []store.Key
	for _, p := range list {
		keys = append(keys, p.key)
		opt.UnicodeHosts = opt.UnicodeHosts || p.unicode
	}
	if len(keys) == 0 {
		return nil
	}
	if err := m.Store.See(context.WithoutCancel(ctx), m.Crawl, keys, make([]bool, len(keys)), opt); err != nil {
		return fmt.Errorf("cannot record what was printed; the next run prints it again: %w", err)
	}
	return nil
}
