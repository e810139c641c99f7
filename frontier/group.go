package frontier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/firstseen/firstseen/store"
)

// A client that knows which hosts share a server names it in its offers: Link.Group. The group is a setting of the queue, which the first
// offer with a group sets before its URL is queued. So each frontier looks a queue up once, and not at all for offers without a group.

// groups remembers which queues have a group.
type groups struct {
	mu    sync.Mutex
	known map[groupedQueue]bool // guarded by mu; nil before the first
}

type groupedQueue struct{ stored, queue string }

// maxGroupsKnown bounds them, at about 150 bytes each.
const maxGroupsKnown = 100_000

func (g *groups) has(q groupedQueue) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.known[q]
}

func (g *groups) note(q groupedQueue) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known == nil || len(g.known) >= maxGroupsKnown {
		g.known = make(map[groupedQueue]bool)
	}
	g.known[q] = true
}

// reset has all queues looked up again: those of a forgotten crawl are in no group.
func (g *groups) reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known = nil
}

// joinGroups puts the queues of offers into the groups that these name. Offers whose queue can't have a group are refused.
func (f *Frontier) joinGroups(ctx context.Context, w *workspace) error {
	var wanted map[string]string // group by queue
	for i := range w.offers {
		o := &w.offers[i]
		if o.url.Group == "" || o.result.Status == StatusRefused || f.groups.has(groupedQueue{w.crawl.stored, o.item.Queue}) {
			continue
		}
		if wanted == nil {
			wanted = make(map[string]string)
		}
		if wanted[o.item.Queue] == "" {
			wanted[o.item.Queue] = o.url.Group
		}
	}
	if wanted == nil {
		return nil
	}
	var mu sync.Mutex
	refused := map[string]error{}
	err := each(ctx, slices.Collect(maps.Keys(wanted)), func(ctx context.Context, queue string) error {
		err := f.joinGroup(ctx, w.crawl.stored, queue, wanted[queue])
		if errors.Is(err, store.ErrInvalid) {
			mu.Lock()
			defer mu.Unlock()
			refused[queue] = err
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	for i := range w.offers {
		if o := &w.offers[i]; o.url.Group != "" && o.result.Status != StatusRefused && refused[o.item.Queue] != nil {
			o.result.refuse(ReasonGroup)
			o.result.Err = refused[o.item.Queue]
		}
	}
	return nil
}

// joinGroup puts a queue that has no group into one.
func (f *Frontier) joinGroup(ctx context.Context, stored, queue, group string) error {
	info, err := f.store.QueueInfo(ctx, stored, queue)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("cannot read the group of queue %q: %w", queue, err)
	}
	if info.Group == "" {
		if err := f.store.Configure(ctx, stored, queue, store.QueueChange{Group: &group}); err != nil {
			return err
		}
	}
	f.groups.note(groupedQueue{stored, queue})
	return nil
}
