package redisstore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Lists are read page by page, each with one script; between pages others may write, and the store can be closed. Shards hold ranges
// of keys, so keys come in order. Each shard has its queues in a hash, in no order: a list of them keeps the first names in order.

// Lookup implements store.Store.
func (s *Store) Lookup(ctx context.Context, crawl string, keys []store.Key) (entries []store.Entry, err error) {
	if crawl, err = s.enterCrawl(ctx, crawl); err != nil {
		return nil, err
	}
	defer s.leave()
	for some := range slices.Chunk(keys, waveSize) {
		_, list, err := s.lookUp(ctx, scriptResolve, crawl, some)
		if err != nil {
			return nil, err
		}
		entries = append(entries, list...)
	}
	return entries, nil
}

// lookUp returns what the homes of keys say of them, by a script as resolve takes, and what their queues have.
func (s *Store) lookUp(ctx context.Context, sc *script, crawl string, keys []store.Key) (found []atHome, entries []store.Entry, err error) {
	if found, err = s.resolve(ctx, sc, crawl, keys); err == nil {
		entries, err = s.entriesOf(ctx, crawl, keys, found)
	}
	return found, entries, err
}

// entriesOf returns what queues have of keys, of which the homes say this.
func (s *Store) entriesOf(ctx context.Context, crawl string, keys []store.Key, of []atHome) ([]store.Entry, error) {
	out := make([]store.Entry, len(keys))
	b := s.batch(scriptLookup, crawl, nil)
	for i := range keys {
		if of[i].state != unknown {
			out[i].Key, out[i].Crawl = keys[i], crawl
		}
		if of[i].state == queuedIn {
			c := b.add(s.layout.ofHash(of[i].queue), i)
			c.blob = append(c.blob, keys[i][:]...)
		}
	}
	return out, b.read(ctx, func(i int, r *reader) { readFound(r, &out[i], s.layout.ofHash(of[i].queue)) })
}

// readFound reads the reply of lua/found.lua into an entry with its key and crawl.
func readFound(r *reader, e *store.Entry, shard int) {
	if r.uint(1) == 0 {
		return
	}
	state := store.State(r.uint(1))
	token, until, attempts, given, client := r.uint(6), int64(r.uint(6)), int(r.uint(4)), int64(r.uint(6)), r.short()
	readRecord(&reader{r.long()}, e)
	e.State = state
	switch state {
	case store.Leased:
		e.Token, e.Expires, e.Attempts, e.Leased, e.Client = tokenOf(shard, token), sched.Time(until), attempts, sched.Time(given), client
	case store.Done, store.Dropped:
		e.Ended, e.Due = e.Due, time.Time{}
		if e.Ended.IsZero() { // as format 8 has it
			e.Ended = e.Created
		}
	}
}

func readRecord(r *reader, e *store.Entry) {
	first := r.uint(1) // earlier tokens 4 bits | respelled | priority
	e.Priority, e.Respelled = uint8(first&7), first&8 != 0
	e.Due, e.Created = sched.Time(int64(r.uint(6))), sched.Time(int64(r.uint(6)))
	r.uint(6) // arrival
	e.Attempts = int(r.uint(4))
	r.uint(1) // done
	r.bytes(5 * int(first>>4))
	e.Queue = r.short()
	if meta := r.long(); meta != "" {
		e.Meta = []byte(meta)
	}
	e.URL = r.left
}

// QueueInfo implements store.Store.
func (s *Store) QueueInfo(ctx context.Context, crawl, queue string) (store.QueueInfo, error) {
	crawl, err := s.enterCrawl(ctx, crawl)
	if err != nil {
		return store.QueueInfo{}, err
	}
	defer s.leave()
	var info store.QueueInfo
	there := false
	if queue != "" { // which the script takes for all queues
		info, there, err = s.queueInfo(ctx, crawl, queue)
	}
	if err == nil && !there {
		err = fmt.Errorf("cannot find queue %q of crawl %q: %w", queue, crawl, store.ErrNotFound)
	}
	return info, err
}

func (s *Store) queueInfo(ctx context.Context, crawl, queue string) (info store.QueueInfo, there bool, err error) {
	shard, _ := s.layout.ofQueue(crawl, queue)
	err = pages(ctx, s.ask, scriptInfo, shard, crawl, appendShort(nil, queue), func(r *reader) bool {
		if there = r.more(); there {
			info = readInfo(r, crawl)
		}
		return true
	})
	return info, there, err
}

// readInfo reads the reply of lua/info.lua.
func readInfo(r *reader, crawl string) store.QueueInfo {
	q := store.QueueInfo{Crawl: crawl, Name: r.short()}
	queued, live, late, overtaken := int64(r.uint(6)), int64(r.uint(4)), int64(r.uint(4)), int64(r.uint(4))
	q.Held, q.InFlight, q.Completed, q.Dropped = queued+live+late, live+overtaken, int64(r.uint(6)), int64(r.uint(6))
	q.Fetched, q.Failed = int64(r.uint(6)), int64(r.uint(6))
	q.LastTake, q.NotBefore, q.Next = sched.Time(int64(r.uint(6))), sched.Time(int64(r.uint(6))), sched.Time(int64(r.uint(6)))
	q.GroupInFlight, q.GroupNotBefore = int64(r.uint(4)), sched.Time(int64(r.uint(6)))
	q.QueueSettings = readSettings(r)
	return q
}

func readSettings(r *reader) (q store.QueueSettings) {
	q.Delay = time.Duration(int64(r.uint(8))) * time.Millisecond
	q.MaxInFlight = int(int64(r.uint(8)))
	q.BlockedUntil = sched.Time(int64(r.uint(6)))
	q.Limit = int64(r.uint(8))
	q.Weight = uint8(r.uint(1))
	flags := r.uint(1)
	if q.Paused = flags&1 != 0; flags&2 != 0 {
		q.Group = r.short()
		r.bytes(-(1 + len(q.Group)) & 31)
	}
	return q
}

// Queues implements store.Store. Each page of the listing reads all queues of the crawl, and keeps the first of those
// in order of name: 1,000 at first, twice as many each time, up to 128,000. So a caller that reads the first rows needs little
// memory, and one that reads all of them few scans.
func (s *Store) Queues(ctx context.Context, crawl, after string) iter.Seq2[store.QueueInfo, error] {
	return func(yield func(store.QueueInfo, error) bool) {
		crawl, err := sched.CrawlOfQueue(crawl, after)
		crawls := []string{crawl}
		if err == nil && crawl == sched.AnyCrawl {
			crawls, err = s.Crawls(ctx)
		}
		if err != nil {
			yield(store.QueueInfo{}, err)
			return
		}
		for _, name := range crawls {
			for from, n := after, 1000; ; n = min(2*n, 128_000) {
				list, more, err := s.firstQueues(ctx, name, from, n)
				for _, q := range list {
					if !yield(q, nil) {
						return
					}
				}
				if err != nil {
					yield(store.QueueInfo{}, err)
					return
				}
				if !more {
					break
				}
				from = list[len(list)-1].Name
			}
		}
	}
}

// firstQueues returns the first n queues of a crawl after a name, in order, and whether there are more.
func (s *Store) firstQueues(ctx context.Context, crawl, after string, n int) (list []store.QueueInfo, more bool, err error) {
	cut := func() {
		slices.SortFunc(list, func(a, b store.QueueInfo) int { return cmp.Compare(a.Name, b.Name) })
		// A scan may return a queue twice.
		list = slices.CompactFunc(list, func(a, b store.QueueInfo) bool { return a.Name == b.Name })
		if len(list) > n {
			list, more = list[:n], true
		}
	}
	for shard := range s.opt.Shards {
		err := pages(ctx, s.askApart, scriptInfo, shard, crawl, appendShort(nil, ""), func(r *reader) bool {
			for r.more() {
				if q := readInfo(r, crawl); q.Name > after || after == "" {
					list = append(list, q)
				}
			}
			if len(list) > 2*n {
				cut()
			}
			return true
		})
		if err != nil {
			return nil, false, err
		}
	}
	cut()
	return list, more, nil
}

// Entries implements store.Store. The leases of a shard are kept in memory while its queues are listed.
func (s *Store) Entries(ctx context.Context, crawl, queue string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		crawl, err := sched.CrawlName(crawl)
		l := &entryListing{s: s, ctx: ctx, crawl: crawl, yield: yield, leased: map[int]map[string][]store.Entry{}}
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
	leased map[int]map[string][]store.Entry // of a shard, by queue: gathered when first needed
}

// queue lists one queue: what has ended, is leased, is queued. It returns false when
// the caller wants no more.
func (l *entryListing) queue(name string) (more bool, err error) {
	shard, _ := l.s.layout.ofQueue(l.crawl, name)
	var ended []store.Entry
	if err := l.pages(shard, 'd', name, func(list []store.Entry) bool { ended = append(ended, list...); return true }); err != nil {
		return false, err
	}
	slices.SortFunc(ended, func(a, b store.Entry) int { return bytes.Compare(a.Key[:], b.Key[:]) })
	ended = slices.CompactFunc(ended, func(a, b store.Entry) bool { return a.Key == b.Key })
	if !l.show(ended) {
		return false, nil
	}
	if err := l.gatherLeases(shard); err != nil {
		return false, err
	}
	running := l.leased[shard][name]
	slices.SortFunc(running, func(a, b store.Entry) int {
		return cmp.Or(a.Expires.Compare(b.Expires), cmp.Compare(a.Token, b.Token))
	})
	if !l.show(running) {
		return false, nil
	}
	more = true
	err = l.pages(shard, 'q', name, func(list []store.Entry) bool {
		more = l.show(list)
		return more
	})
	return more && err == nil, err
}

// show yields a list, until the caller wants no more.
func (l *entryListing) show(list []store.Entry) bool {
	for _, e := range list {
		if !l.yield(e, nil) {
			return false
		}
	}
	return true
}

func (l *entryListing) gatherLeases(shard int) error {
	if l.leased[shard] != nil {
		return nil
	}
	by, told := map[string][]store.Entry{}, map[store.Key]bool{}
	l.leased[shard] = by
	return l.pages(shard, 'L', "", func(list []store.Entry) bool {
		for _, e := range list {
			if !told[e.Key] {
				told[e.Key] = true
				by[e.Queue] = append(by[e.Queue], e)
			}
		}
		return true
	})
}

// pages calls f with each page of a kind of URLs, until it returns false; see lua/entries.lua.
func (l *entryListing) pages(shard int, kind byte, name string, f func([]store.Entry) bool) error {
	head := appendShort(appendUint([]byte{kind}, 4, maxPart), name)
	return pages(l.ctx, l.s.askApart, scriptEntries, shard, l.crawl, head, func(r *reader) bool {
		var list []store.Entry
		for r.more() {
			e := store.Entry{Key: r.key(), Crawl: l.crawl}
			readFound(r, &e, shard)
			list = append(list, e)
		}
		return r.err() == nil && f(list)
	})
}

// Keys implements store.Store. Shards hold ranges of keys, and their buckets
// runs of neighbours, so a listing needs the memory of a page.
func (s *Store) Keys(ctx context.Context, crawl string) iter.Seq2[store.Key, error] {
	return func(yield func(store.Key, error) bool) {
		crawl, err := sched.CrawlName(crawl)
		for shard, more := 0, true; more && err == nil && shard < s.opt.Shards; shard++ {
			err = s.keyPages(ctx, s.askApart, crawl, shard, allDays, func(keys []store.Key, _ []atHome) bool {
				slices.SortFunc(keys, store.Key.Compare)
				for _, k := range keys {
					if more = yield(k, nil); !more {
						break
					}
				}
				return more
			})
		}
		if err != nil {
			yield(store.Key{}, err)
		}
	}
}

const allDays = 1<<16 - 1

// keyPages calls f with the keys of a shard that were recorded before a day, page by page and in order of page, until it returns false.
func (s *Store) keyPages(ctx context.Context, ask asker, crawl string, shard int, days uint16, f func([]store.Key, []atHome) bool) error {
	return pages(ctx, ask, scriptPage, shard, crawl, appendUint(appendUint(nil, 4, 2000), 2, uint64(days)), func(r *reader) bool {
		var keys []store.Key
		var found []atHome
		for r.more() {
			keys, found = append(keys, r.key()), append(found, atHome{state: keyState(r.uint(1)), queue: r.hash()})
		}
		return r.err() == nil && f(keys, found)
	})
}

// Stats implements store.Store. The counts of each shard are exact, but nodes are asked at different times, and a URL counts twice
// between its arrival in the queue and the end of its step, which may be long if the call failed. So Held is capped at
// Seen.
func (s *Store) Stats(ctx context.Context, crawl string) (store.Stats, error) {
	crawl, err := sched.CrawlNames(crawl)
	if err != nil {
		return store.Stats{}, err
	}
	if err := s.enter(ctx); err != nil {
		return store.Stats{}, err
	}
	defer s.leave()
	return s.stats(ctx, crawl)
}

func (s *Store) stats(ctx context.Context, crawl string) (sum store.Stats, err error) {
	by, err := s.statsBy(ctx, crawl)
	for _, st := range by {
		st.Held = min(st.Held, st.Seen)
		sum.Add(st)
	}
	return sum, err
}

// statsBy returns the counts of each crawl as they were read: what is held lacks no URL.
func (s *Store) statsBy(ctx context.Context, crawl string) (by map[string]store.Stats, err error) {
	for range 2 {
		by = map[string]store.Stats{}
		b, held := s.batch(scriptStats, crawl, nil).everywhere(), int64(0)
		err = b.read(ctx, func(_ int, r *reader) {
			for r.more() {
				name := r.short()
				coming, st := int64(r.uint(6)), store.Stats{Seen: int64(r.uint(6)), InFlight: int64(r.uint(6)), Dropped: int64(r.uint(6))}
				st.Marked, st.Fetched, st.Failed = int64(r.uint(6)), int64(r.uint(6)), int64(r.uint(6))
				st.Held = int64(r.uint(6)) + coming
				r.uint(6) // leased
				st.Completed, st.Queues, st.Active = int64(r.uint(6)), int64(r.uint(6)), int64(r.uint(6))
				held += st.Held
				st.Add(by[name])
				by[name] = st
			}
		})
		if err != nil || held > 0 {
			break
		}
		// A URL may have come from an outbox that was read late to a queue that was read early.
	}
	return by, err
}

// Crawls implements store.Store.
func (s *Store) Crawls(ctx context.Context) ([]string, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	return s.crawlNames(ctx)
}

func (s *Store) crawlNames(ctx context.Context) ([]string, error) {
	by, err := s.statsBy(ctx, sched.AnyCrawl)
	return slices.Sorted(maps.Keys(by)), err
}
