package storetest

import (
	"context"
	"maps"

	"github.com/firstseen/firstseen/store"
)

// Mark is the state of a history at a time: what a store may have fallen back
// to when its power was cut in the step after.
type Mark struct{ m *model }

// Mark returns the present state.
func (h *History) Mark() Mark { return Mark{h.m.clone()} }

// Return goes back to the state of a mark; time doesn't go back.
func (h *History) Return(to Mark) {
	now := h.m.now
	h.m = to.m.clone()
	h.m.now = now
	h.note("return to the state before the last step")
}

func (m *model) clone() *model {
	c := *m
	c.crawls = map[string]*modelCrawl{}
	for name, from := range m.crawls {
		to := *from
		to.urls = cloneAll(from.urls)
		to.queues = cloneAll(from.queues)
		to.overtaken = cloneAll(from.overtaken)
		to.marks = cloneAll(from.marks)
		to.by = maps.Clone(from.by)
		for group, q := range to.by {
			to.by[group] = to.queues[q.name]
		}
		c.crawls[name] = &to
	}
	return &c
}

// cloneAll copies a map and what its pointers point to.
func cloneAll[K comparable, V any](from map[K]*V) map[K]*V {
	to := maps.Clone(from)
	for k, v := range to {
		c := *v
		to[k] = &c
	}
	return to
}

// Reassert sets the settings that no method returns to those of the model: after a cut during a
// Configure, [History.Compare] cannot know whether it was carried out.
func (h *History) Reassert(ctx context.Context, s store.Store) error {
	h.note("set all settings anew")
	if err := s.Configure(ctx, "*", "", allOf(h.m.defaults)); err != nil {
		return err
	}
	for _, c := range h.m.crawls {
		ch := allOf(c.set)
		ch.Retention = &c.set.Retention
		if err := s.Configure(ctx, c.name, "", ch); err != nil {
			return err
		}
		for _, q := range c.queues {
			if err := s.Configure(ctx, c.name, q.name, store.QueueChange{NotBefore: &q.notBefore}); err != nil {
				return err
			}
		}
	}
	return nil
}

// allOf changes all settings to these.
func allOf(s store.CrawlSettings) store.QueueChange {
	return store.QueueChange{
		Delay: &s.Delay, MaxInFlight: &s.MaxInFlight, BlockedUntil: &s.BlockedUntil,
		Limit: &s.Limit, Weight: &s.Weight, Paused: &s.Paused, QueueLimit: &s.QueueLimit,
	}
}
