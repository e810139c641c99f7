package redisstore

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

const entryPage = maxPart

// Entries implements store.Store. The leases of a shard are kept in memory while its queues are listed.
func (s *Store) Entries(ctx context.Context, crawl, queue string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		crawl, err := sched.CrawlName(crawl)
		l := &entryListing{s: s, ctx: ctx, crawl: crawl, yield: yield, leased: map[int]map[string][]leased{}}
		switch {
		case err != nil:
		case queue != "":
			_, err = l.queue(queue)
		default:
			for q, failed := range s.Queues(ctx, crawl, "") {
				more := false
				if err = failed; err == nil {
					more, err = l.queue(q.Name)
				}
				if !more {
					break
				}
			}
		}
		if err != nil {
			yield(store.Entry{}, err)
		}
	}
}

type entryListing struct {
	s      *Store
	ctx    context.Context
	crawl  string
	yield  func(store.Entry, error) bool
	leased map[int]map[string][]leased // of a shard, by queue: gathered when first needed
}

type leased struct {
	store.Entry
	token uint64
}

// queue lists one queue: what has ended, is leased, is queued. It returns false when
// the caller wants no more.
func (l *entryListing) queue(name string) (more bool, err error) {
	shard, _ := l.s.layout.ofQueue(name)
	var ended []leased
	if err := l.pages(shard, 'd', name, func(list []leased) bool { ended = append(ended, list...); return true }); err != nil {
		return false, err
	}
	slices.SortFunc(ended, func(a, b leased) int { return bytes.Compare(a.Key[:], b.Key[:]) })
	ended = slices.CompactFunc(ended, func(a, b leased) bool { return a.Key == b.Key })
	if !l.show(ended, store.Done, store.Dropped) {
		return false, nil
	}
	if err := l.gatherLeases(shard); err != nil {
		return false, err
	}
	running := l.leased[shard][name]
	slices.SortFunc(running, func(a, b leased) int {
		return cmp.Or(a.Expires.Compare(b.Expires), cmp.Compare(a.token, b.token))
	})
	if !l.show(running, store.Leased, store.Leased) {
		return false, nil
	}
	for _, priority := range []byte("76543210") {
		more := true
		err := l.pages(shard, priority, name, func(list []leased) bool {
			more = l.show(list, store.Queued, store.Queued)
			return more
		})
		if err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// show yields those in one of two states.
func (l *entryListing) show(list []leased, state, or store.State) bool {
	for _, e := range list {
		if (e.State == state || e.State == or) && !l.yield(e.Entry, nil) {
			return false
		}
	}
	return true
}

func (l *entryListing) gatherLeases(shard int) error {
	if l.leased[shard] != nil {
		return nil
	}
	by, told := map[string][]leased{}, map[store.Key]bool{}
	l.leased[shard] = by
	return l.pages(shard, 'L', "", func(list []leased) bool {
		for _, e := range list {
			if e.State == store.Leased && !told[e.Key] {
				told[e.Key] = true
				by[e.Queue] = append(by[e.Queue], e)
			}
		}
		return true
	})
}

// pages calls f with each page of a kind of URLs, until it returns false; see lua/entries.lua.
func (l *entryListing) pages(shard int, kind byte, name string, f func([]leased) bool) error {
	for from := ""; ; {
		list, err := entered(l.ctx, l.s, func() (list []leased, err error) {
			blob := append(appendShort(appendUint([]byte{kind}, 4, entryPage), name), from...)
			r, err := l.s.ask(l.ctx, scriptEntries, shard, l.crawl, blob)
			if err != nil {
				return nil, err
			}
			for from = r.short(); r.more(); {
				e := leased{Entry: store.Entry{Key: r.key(), Crawl: l.crawl}}
				e.token = readFound(r, &e.Entry)
				list = append(list, e)
			}
			return list, r.err()
		})
		if err != nil {
			return err
		}
		if !f(list) || from == "" {
			return nil
		}
	}
}

const (
	noMore  = 1 << 32 // the position behind the last key of a shard
	allDays = 1<<16 - 1
)

// Keys implements store.Store. Shards hold ranges of keys, and their buckets
// runs of neighbours, so a listing needs the memory of a page.
func (s *Store) Keys(ctx context.Context, crawl string) iter.Seq2[store.Key, error] {
	return func(yield func(store.Key, error) bool) {
		crawl, err := sched.CrawlName(crawl)
		if err != nil {
			yield(store.Key{}, err)
			return
		}
		for shard := range s.opt.Shards {
			for from := uint64(0); from < noMore; {
				p, err := entered(ctx, s, func() (*keyPage, error) { return s.keyPage(ctx, crawl, shard, from, allDays) })
				if err != nil {
					yield(store.Key{}, err)
					return
				}
				slices.SortFunc(p.keys, store.Key.Compare)
				for _, k := range p.keys {
					if !yield(k, nil) {
						return
					}
				}
				from = p.next
			}
		}
	}
}

// entered runs one step of a longer operation while the store is open. Between steps, the store can be closed.
func entered[T any](ctx context.Context, s *Store, step func() (T, error)) (none T, err error) {
	if err := s.enter(ctx); err != nil {
		return none, err
	}
	defer s.leave()
	return step()
}

type keyPage struct {
	keys  []store.Key
	known []known
	next  uint64
}

// keyPage asks for keys from a position on that were recorded before a day.
func (s *Store) keyPage(ctx context.Context, crawl string, shard int, from uint64, days uint16) (*keyPage, error) {
	blob := appendUint(appendUint(appendUint(nil, 4, from), 4, 2000), 2, uint64(days))
	r, err := s.ask(ctx, scriptPage, shard, crawl, blob)
	if err != nil {
		return nil, err
	}
	p := &keyPage{next: r.uint(6)}
	for r.more() {
		p.keys = append(p.keys, r.key())
		p.known = append(p.known, known{was(r.uint(1)), r.hash()})
	}
	return p, r.err()
}
