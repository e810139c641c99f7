package frontier

import (
	"sync"

	"github.com/firstseen/firstseen/store"
)

// workspace is what AddBatch needs while it works, about 300 bytes a URL, kept
// for the next call. After an error the store may still be reading the items,
// so it isn't kept then.
type workspace struct {
	offers []offer
	items  []store.Item
	places []int32
}

// maxPooledBatch is the largest batch whose workspace is kept.
const maxPooledBatch = 1 << 14

// workspaces is a pool of them.
type workspaces struct{ pool sync.Pool }

// get returns a workspace of n offers, and room for as many items.
func (p *workspaces) get(n int) *workspace {
	w, ok := p.pool.Get().(*workspace)
	if !ok {
		w = &workspace{}
	}
	if cap(w.offers) < n {
		*w = workspace{make([]offer, n), make([]store.Item, 0, n), make([]int32, 0, n)}
	}
	w.offers = w.offers[:n]
	return w
}

// put keeps a workspace that is no longer used. It holds no URL then.
func (p *workspaces) put(w *workspace) {
	if cap(w.offers) > maxPooledBatch {
		return
	}
	clear(w.offers)
	clear(w.items)
	w.items = w.items[:0] // itemsOf need not clear them again
	p.pool.Put(w)
}

// itemsOf gathers the items of the offers that aren't refused, and the place of each among the
// offers. It reports whether any of them asks for the first-seen URL.
func (w *workspace) itemsOf(offers []offer) (items []store.Item, places []int32, wantFirst bool) {
	clear(w.items) // those of the crawl before
	w.items, w.places = w.items[:0], w.places[:0]
	for i := range offers {
		if offers[i].result.Status != StatusRefused {
			w.items = append(w.items, offers[i].item)
			w.places = append(w.places, int32(i))
			wantFirst = wantFirst || offers[i].wantFirst
		}
	}
	return w.items, w.places, wantFirst
}
