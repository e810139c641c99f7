package frontier

import (
	"context"
	"errors"
	"fmt"

	"github.com/firstseen/firstseen/store"
)

// queryCounts counts the query strings of one batch before it is stored, when
// it isn't known yet which of its URLs are new. Each takes a place, and those
// that turn out not to be new give it back. Only where a path has no place left
// is it worth finding out who sits there.
type queryCounts struct {
	f       *Frontier
	counted []*offer
	tight   map[string]map[store.Key]bool // keys with a place, of paths that were full
}

// count refuses the offers that would be too many for their path. One that is
// known is no growth, and stays.
func (c *queryCounts) count(ctx context.Context, offers []offer) error {
	if c.f.queries == nil {
		return nil
	}
	for i := range offers {
		o := &offers[i]
		base, ok := withoutQuery(o.result.Canonical)
		if !ok || o.result.Status == Refused {
			continue
		}
		if err := c.one(ctx, o, base); err != nil {
			return err
		}
	}
	return nil
}

func (c *queryCounts) one(ctx context.Context, o *offer, base string) error {
	full := c.tight[base]
	if full == nil {
		if c.take(o, base) {
			return nil
		}
		if err := c.tighten(ctx, o, base); err != nil {
			return err
		}
		full = c.tight[base]
	}
	known, err := c.known(ctx, o)
	if known || err != nil || full[o.item.Key] {
		return err
	}
	if !c.take(o, base) {
		o.result.refuse(ReasonQueries)
		return nil
	}
	full[o.item.Key] = true
	return nil
}

func (c *queryCounts) take(o *offer, base string) bool {
	if !c.f.queries.take(o.crawl.stored, base) {
		return false
	}
	c.counted = append(c.counted, o)
	return true
}

// tighten frees the places of a path that this batch took for URLs that won't
// be new: repeated in the batch, or known.
func (c *queryCounts) tighten(ctx context.Context, full *offer, base string) error {
	keys := make(map[store.Key]bool)
	kept := c.counted[:0]
	for _, o := range c.counted {
		if b, _ := withoutQuery(o.result.Canonical); b != base {
			kept = append(kept, o)
			continue
		}
		known, err := c.known(ctx, o)
		if err != nil {
			return err
		}
		if known || keys[o.item.Key] {
			c.f.queries.giveBack(full.crawl.stored, base)
			continue
		}
		keys[o.item.Key] = true
		kept = append(kept, o)
	}
	c.counted = kept
	if c.tight == nil {
		c.tight = make(map[string]map[store.Key]bool)
	}
	c.tight[base] = keys
	return nil
}

func (c *queryCounts) known(ctx context.Context, o *offer) (bool, error) {
	_, err := c.f.store.Lookup(ctx, o.crawl.stored, o.item.Key)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot look up %q: %w", o.url.URL, err)
	}
	return true, nil
}

// settle gives back the places of offers that did not become new; of all of
// them if nothing was stored.
func (c *queryCounts) settle(stored bool) {
	for _, o := range c.counted {
		if !stored || o.result.Status != New {
			base, _ := withoutQuery(o.result.Canonical)
			c.f.queries.giveBack(o.crawl.stored, base)
		}
	}
}
