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

// entryPage is how many keys a listing asks for at a time.
const entryPage = 1000

// Entries implements store.Store.
func (s *Store) Entries(ctx context.Context, crawl, queue string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		crawl, err := sched.CrawlName(crawl)
		if err != nil {
			yield(store.Entry{}, err)
			return
		}
		queues := []string{queue}
		if queue == "" {
			if queues, err = s.queueNames(ctx, crawl); err != nil {
				yield(store.Entry{}, err)
				return
			}
		}
		l := &entryListing{s: s, ctx: ctx, crawl: crawl, yield: yield, leased: map[int]map[string][]leased{}}
		for _, name := range queues {
			if !l.queue(name) {
				return
			}
		}
	}
}

func (s *Store) queueNames(ctx context.Context, crawl string) ([]string, error) {
	list, err := s.gatherQueues(ctx, crawl, "")
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	return names, err
}

// entryListing is a listing in progress.
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

// step asks for one page.
func (l *entryListing) step(f func() ([]leased, error)) ([]leased, error) {
	return entered(l.ctx, l.s, f)
}

func (l *entryListing) fail(err error) bool {
	l.yield(store.Entry{}, err)
	return false
}

// queue lists one queue: what has ended, is leased, is queued. It returns false when
// the listing is over.
func (l *entryListing) queue(name string) bool {
	shard, _ := l.s.layout.ofQueue(name)
	return l.ended(shard, name) && l.held(shard, name)
}

// held lists what is leased and queued.
func (l *entryListing) held(shard int, name string) bool {
	if l.leased[shard] == nil {
		if err := l.gatherLeases(shard); err != nil {
			return l.fail(err)
		}
	}
	list := l.leased[shard][name]
	slices.SortFunc(list, func(a, b leased) int {
		return cmp.Or(a.Expires.Compare(b.Expires), cmp.Compare(a.token, b.token))
	})
	for _, e := range list {
		if !l.yield(e.Entry, nil) {
			return false
		}
	}
	for _, kind := range "76543210" {
		ok := l.pages(shard, byte(kind), name, func(list []leased) bool { return l.tell(list, store.Queued, store.Queued) })
		if !ok {
			return false
		}
	}
	return true
}

// ended lists completed and dropped URLs in order of key.
func (l *entryListing) ended(shard int, name string) bool {
	var all []leased
	if !l.pages(shard, 'd', name, func(list []leased) bool { all = append(all, list...); return true }) {
		return false
	}
	slices.SortFunc(all, func(a, b leased) int { return bytes.Compare(a.Key[:], b.Key[:]) })
	all = slices.CompactFunc(all, func(a, b leased) bool { return a.Key == b.Key })
	return l.tell(all, store.Done, store.Dropped)
}

// tell yields those in one of two states.
func (l *entryListing) tell(list []leased, state, or store.State) bool {
	for _, e := range list {
		if (e.State == state || e.State == or) && !l.yield(e.Entry, nil) {
			return false
		}
	}
	return true
}

// gatherLeases sorts the leases of a shard by queue.
func (l *entryListing) gatherLeases(shard int) error {
	by, told := map[string][]leased{}, map[store.Key]bool{}
	l.leased[shard] = by
	var failed error
	keep := l.yield
	l.yield = func(_ store.Entry, err error) bool { failed = err; return false }
	l.pages(shard, 'L', "", func(list []leased) bool {
		for _, e := range list {
			if e.State == store.Leased && !told[e.Key] {
				told[e.Key] = true
				by[e.Queue] = append(by[e.Queue], e)
			}
		}
		return true
	})
	l.yield = keep
	return failed
}

// pages calls f with each page of a kind of URLs; see lua/entries.lua. It returns
// false when f did, or when it failed and has told so.
func (l *entryListing) pages(shard int, kind byte, name string, f func([]leased) bool) bool {
	for from := ""; ; {
		list, err := l.step(func() ([]leased, error) {
			keys, next, err := l.s.entryKeys(l.ctx, l.crawl, shard, kind, name, from)
			if err != nil {
				return nil, err
			}
			from = next
			return l.s.leasedEntries(l.ctx, l.crawl, shard, keys)
		})
		if err != nil {
			return l.fail(err)
		}
		if !f(list) {
			return false
		}
		if from == "" {
			return true
		}
	}
}
