package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/firstseen/firstseen/store"
)

// collect reads a listing to its end.
func collect[T any](seq iter.Seq2[T, error]) (list []T, err error) {
	for x, err := range seq {
		if err != nil {
			return list, err
		}
		list = append(list, x)
	}
	return list, nil
}

func (h *History) compareStats(ctx context.Context, s store.Store) error {
	var sum store.Stats
	for _, name := range []string{"DEFAULT", "b", "c*"} {
		var want store.Stats
		if c := h.m.crawls[name]; c != nil {
			want = h.m.stats(c)
		}
		got, err := s.Stats(ctx, name)
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("got stats %+v of %q; want %+v", got, name, want)
		}
		sum.Seen += want.Seen
		sum.Held += want.Held
		sum.InFlight += want.InFlight
		sum.Completed += want.Completed
		sum.Dropped += want.Dropped
		sum.Fetched += want.Fetched
		sum.Failed += want.Failed
		sum.Marked += want.Marked
		sum.Queues += want.Queues
		sum.Active += want.Active
	}
	got, err := s.Stats(ctx, "*")
	if err != nil {
		return err
	}
	return sameValue(got, sum)
}

// Compare compares all results of a store with the model.
func (h *History) Compare(ctx context.Context, s store.Store) error {
	h.note("compare")
	var names []string
	for _, c := range h.m.selected("*") {
		names = append(names, c.name)
		if err := h.compareCrawl(ctx, s, c); err != nil {
			return fmt.Errorf("crawl %q: %w", c.name, err)
		}
	}
	got, err := s.Crawls(ctx)
	if err != nil {
		return err
	}
	if err := sameList(got, names, sameValue); err != nil {
		return fmt.Errorf("crawls: %w", err)
	}
	return h.compareStats(ctx, s)
}

func (h *History) compareCrawl(ctx context.Context, s store.Store, c *modelCrawl) error {
	keys, err := collect(s.Keys(ctx, c.name))
	if err != nil {
		return err
	}
	var want []store.Key
	for k := range c.urls {
		want = append(want, k)
	}
	slices.SortFunc(want, store.Key.Compare)
	if err := sameList(keys, want, sameValue); err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	for _, queue := range []string{"", h.queue()} {
		entries, err := collect(s.Entries(ctx, c.name, queue))
		if err != nil {
			return err
		}
		if err := sameList(entries, c.entries(queue), sameEntry); err != nil {
			return fmt.Errorf("entries of %q: %w", queue, err)
		}
	}
	if got, err := s.CrawlSettings(ctx, c.name); err != nil || !got.BlockedUntil.Equal(c.set.BlockedUntil) {
		return fmt.Errorf("got settings %s and error %v; want %s", shown(got), err, shown(c.set))
	} else if got.BlockedUntil = c.set.BlockedUntil; got != c.set {
		return fmt.Errorf("got settings %s; want %s", shown(got), shown(c.set))
	}
	return h.compareQueues(ctx, s, c)
}

func (h *History) compareQueues(ctx context.Context, s store.Store, c *modelCrawl) error {
	var want []store.QueueInfo
	for name := range c.queues {
		info, exists := h.m.info(c, name)
		got, err := s.QueueInfo(ctx, c.name, name)
		if !exists {
			if !errors.Is(err, store.ErrNotFound) {
				return fmt.Errorf("got error %v of QueueInfo for queue %q; want %v", err, name, store.ErrNotFound)
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("QueueInfo of %q, which is %s: %w", name, shown(info), err)
		}
		if err := sameInfo(got, info); err != nil {
			return err
		}
		want = append(want, info)
	}
	slices.SortFunc(want, func(a, b store.QueueInfo) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	got, err := collect(s.Queues(ctx, c.name, ""))
	if err != nil {
		return err
	}
	if err := sameList(got, want, sameInfo); err != nil || len(want) == 0 {
		return err
	}
	n := h.rand.IntN(len(want))
	if got, err = collect(s.Queues(ctx, c.name, want[n].Name)); err != nil {
		return err
	}
	return sameList(got, want[n+1:], sameInfo)
}

// info returns the QueueInfo, and whether the queue has any state.
func (m *model) info(c *modelCrawl, name string) (store.QueueInfo, bool) {
	q := c.queues[name]
	info := store.QueueInfo{
		Crawl: c.name, Name: name, QueueSettings: q.set, Held: int64(len(c.held(name))), InFlight: int64(m.live(c, name)),
		Completed: q.completed, Dropped: q.dropped, Fetched: q.fetched, Failed: q.failed, LastTake: q.lastTake, NotBefore: m.polite(c, q), Next: m.serves(c, q),
	}
	if by := c.by[q.set.Group]; q.set.Group != "" {
		if info.GroupInFlight = int64(m.fetchers(c, q)); by != nil {
			info.GroupNotBefore = m.delayed(c, by)
		}
	}
	set := q.set != store.QueueSettings{} || !q.notBefore.IsZero()
	return info, c.used(q) || set
}
