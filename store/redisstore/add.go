package redisstore

import (
	"context"
	"slices"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// waveSize bounds the URLs that a daemon has in flight for one call.
const waveSize = 8192

// Add implements store.Store. A batch is atomic URL by URL. MaxPerQueue is exact. MaxHeld is exact
// for one daemon: concurrent adds of other daemons can exceed it, each by at most 8,192 URLs.
func (s *Store) Add(ctx context.Context, crawl string, items []store.Item, opt store.AddOptions) ([]store.Verdict, error) {
	a := &adding{s: s, crawl: crawl, opt: opt}
	verdicts := make([]store.Verdict, len(items))
	if err := a.add(ctx, items, verdicts); err != nil {
		return nil, err
	}
	return verdicts, nil
}

// See implements store.Store: it adds keys without a queue. If it fails, some of the keys may be recorded, and are
// duplicates when they are seen again.
func (s *Store) See(ctx context.Context, crawl string, keys []store.Key, fresh []bool, opt store.SeeOptions) error {
	if len(keys) != len(fresh) {
		return fault.As(store.ErrInvalid, "cannot see keys; got %d answers; want %d", len(fresh), len(keys))
	}
	a := &adding{s: s, crawl: crawl}
	items, verdicts := make([]store.Item, min(len(keys), waveSize)), make([]store.Verdict, min(len(keys), waveSize))
	for from := 0; from == 0 || from < len(keys); from += waveSize {
		n := min(len(keys)-from, waveSize)
		for i, k := range keys[from : from+n] {
			items[i] = store.Item{Key: k, UnicodeHost: opt.UnicodeHosts}
		}
		if err := a.add(ctx, items[:n], verdicts[:n]); err != nil {
			return err
		}
		for i, v := range verdicts[:n] {
			fresh[from+i] = v.Status == store.New
		}
		ctx = accepted(ctx)
	}
	return nil
}

type adding struct {
	s     *Store
	crawl string
	opt   store.AddOptions
}

func (a *adding) add(ctx context.Context, items []store.Item, verdicts []store.Verdict) (err error) {
	if err := sched.CheckItems(items); err != nil {
		return err
	}
	if a.crawl, err = a.s.enterCrawl(ctx, a.crawl); err != nil {
		return err
	}
	defer a.s.leave()
	unicode := slices.ContainsFunc(items, func(it store.Item) bool { return it.UnicodeHost })
	if err := a.s.noteUnicodeHosts(ctx, unicode); err != nil {
		return err
	}
	defer a.s.idle.changes.Add(1)
	for len(items) > 0 {
		n, err := a.wave(ctx, items, verdicts)
		if err != nil {
			return err
		}
		items, verdicts = items[n:], verdicts[n:]
		ctx = accepted(ctx)
	}
	return nil
}

// wave adds as many of the items as can be judged together, and returns their
// number. With a cap, or a URL to force, later items depend on the
// verdict of earlier ones, so they wait for the next wave.
func (a *adding) wave(ctx context.Context, items []store.Item, verdicts []store.Verdict) (n int, err error) {
	room := int64(waveSize)
	if a.opt.MaxHeld > 0 {
		a.s.heldMu.Lock()
		defer a.s.heldMu.Unlock()
		by, err := a.s.statsBy(ctx, a.crawl)
		if err != nil {
			return 0, err
		}
		room = max(0, a.opt.MaxHeld-by[a.crawl].Held)
	}
	n = a.length(items, room)
	items, verdicts = items[:n], verdicts[:n]
	switch {
	case forced(&items[0]):
		return n, a.force(ctx, items, verdicts, room)
	case room == 0:
		err = a.closed(ctx, items, verdicts)
	default:
		err = a.open(ctx, items, verdicts, numbers(n))
	}
	if err == nil && a.opt.WantFirst {
		err = a.first(ctx, items, verdicts)
	}
	return n, err
}

// forced reports whether a URL is to be queued although it was seen.
func forced(it *store.Item) bool { return it.Force && it.Queue != "" }

func (a *adding) capped() bool { return a.opt.MaxPerQueue > 0 || a.opt.MaxHeld > 0 }

func (a *adding) cap() uint64 { return uint64(max(0, a.opt.MaxPerQueue)) }

// length is the number of items of the next wave: all of them are to be forced, or none.
func (a *adding) length(items []store.Item, room int64) int {
	most := min(len(items), waveSize)
	if a.opt.MaxHeld > 0 && room > 0 {
		most = int(min(int64(most), room))
	}
	distinct, seen := a.capped() || forced(&items[0]), map[store.Key]bool{}
	for i := range items[:most] {
		if forced(&items[i]) != forced(&items[0]) || distinct && seen[items[i].Key] {
			return i
		}
		if distinct {
			seen[items[i].Key] = true
		}
	}
	return most
}

// closed adds to a crawl that holds as much as it may: only URLs without a queue.
func (a *adding) closed(ctx context.Context, items []store.Item, verdicts []store.Verdict) error {
	found, err := a.s.resolve(ctx, scriptJudge, a.crawl, keysOf(items), numbers(len(items)))
	if err != nil {
		return err
	}
	var bare []int
	for i := range items {
		switch {
		case found[i].was != unknown:
			verdicts[i].Status = store.Duplicate
		case items[i].Queue != "":
			verdicts[i].Status = store.Full
		default:
			bare = append(bare, i)
		}
	}
	return a.open(ctx, items, verdicts, bare)
}

func keysOf(items []store.Item) []store.Key {
	keys := make([]store.Key, len(items))
	for i := range items {
		keys[i] = items[i].Key
	}
	return keys
}

// open adds some of the items to a crawl that may hold all of them.
func (a *adding) open(ctx context.Context, items []store.Item, verdicts []store.Verdict, left []int) error {
	cached, left := a.recall(items, left)
	return a.s.untilSettled(ctx, func(ctx context.Context) (bool, error) {
		o := &offering{adding: a, items: items, verdicts: verdicts, id: a.s.requests.id(), cached: cached}
		if err := o.record(ctx, left); err != nil {
			return false, err
		}
		if err := o.queue(accepted(ctx)); err != nil {
			return false, err
		}
		o.remember()
		if left, cached = o.pending, (recall{}); len(left) == 0 {
			return true, nil
		}
		slices.Sort(left)
		_, err := a.s.resolve(accepted(ctx), scriptResolve, a.crawl, keysOf(items), left) // finishes their steps
		return false, err
	})
}

// first fills in the first-seen URL of duplicates, while it is kept.
func (a *adding) first(ctx context.Context, items []store.Item, verdicts []store.Verdict) error {
	var of []int
	for i := range items {
		if verdicts[i].Status == store.Duplicate {
			of = append(of, i)
		}
	}
	keys := keysOf(items)
	found, err := a.s.resolve(ctx, scriptResolve, a.crawl, keys, of)
	if err != nil {
		return err
	}
	entries, err := a.s.entriesOf(ctx, a.crawl, keys, found)
	for _, i := range of {
		verdicts[i].First = entries[i].URL
	}
	return err
}

func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
