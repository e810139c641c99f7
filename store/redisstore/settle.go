package redisstore

import (
	"context"
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Settle implements store.Store. A call is atomic in each shard that it touches.
func (s *Store) Settle(ctx context.Context, crawl string, list []store.Settlement) ([]store.SettleStatus, error) {
	if err := sched.CheckSettlements(list); err != nil {
		return nil, err
	}
	crawl, err := s.enterCrawl(ctx, crawl)
	if err != nil {
		return nil, err
	}
	defer s.leave()
	unicode := slices.ContainsFunc(list, func(st store.Settlement) bool { return st.Create && st.UnicodeHost })
	if err := s.noteUnicodeHosts(ctx, unicode); err != nil {
		return nil, err
	}
	defer s.idle.changes.Add(1)
	out := make([]store.SettleStatus, len(list))
	for from := 0; from < len(list); {
		n := together(list[from:])
		w := &settling{s: s, crawl: crawl, list: list[from : from+n], out: out[from : from+n], elsewhere: make([]bool, n), left: numbers(n)}
		if err := s.untilSettled(ctx, w.try); err != nil {
			return nil, err
		}
		from += n
		ctx = accepted(ctx)
	}
	return out, nil
}

// together is the number of settlements that one wave settles: before a key comes again, or a change of a queue after one that
// may come with a new URL. New URLs are made at the end of a wave, and changes of a queue apply in order.
func together(list []store.Settlement) int {
	seen, made := make(map[store.Key]bool, len(list)), false
	for i := range list {
		change := list[i].QueueChange != nil
		if seen[list[i].Key] || i == waveSize || made && change {
			return i
		}
		seen[list[i].Key] = true
		made = made || change && list[i].Create
	}
	return len(list)
}

// settling is a wave of a Settle: settlements of different keys.
type settling struct {
	s         *Store
	crawl     string
	list      []store.Settlement
	out       []store.SettleStatus
	elsewhere []bool // the queue that had the URL has nothing of it: a step must make it
	left      []int  // yet to be settled
}

// try settles the rest. A queue settles the URLs that it has; a URL that a settlement makes is a step. It returns false if
// something changed at the same time.
func (w *settling) try(ctx context.Context) (bool, error) {
	keys, of := make([]store.Key, len(w.list)), []int(nil) // those whose lease is not named
	for _, i := range w.left {
		if keys[i] = w.list[i].Key; w.list[i].Token == 0 {
			of = append(of, i)
		}
	}
	found, err := w.s.resolve(ctx, scriptResolve, w.crawl, keys, of)
	if err != nil {
		return false, err
	}
	if err := w.send(ctx, found); err != nil {
		return false, err
	}
	w.left, err = w.make(accepted(ctx), found)
	return len(w.left) == 0, err
}

// makes reports whether a settlement makes its URL.
func (w *settling) makes(i int, k known) bool {
	st := &w.list[i]
	seen := k.was == neverQueued && (w.s.opt.KeepURLs || st.Outcome == store.Requeue)
	return st.Create && (k.was == unknown || seen || w.elsewhere[i])
}

// send sends settlements to the queues that have the URLs, and notes which steps must make.
func (w *settling) send(ctx context.Context, found []known) error {
	b := w.s.batch(scriptSettle, w.s.requests.id().phase(phaseSettle), w.crawl, []byte{"-k"[flag(w.s.opt.KeepURLs)]})
	for _, i := range w.left {
		st, k := &w.list[i], found[i]
		shard := int(st.Token >> tokenBits)
		switch {
		case st.Token != 0 && shard >= w.s.opt.Shards:
			w.out[i] = store.Stale
			continue
		case st.Token != 0:
		case w.makes(i, k):
			continue
		case k.was == queuedIn:
			shard = w.s.layout.ofHash(k.queue)
		default:
			w.out[i] = store.Unknown
			if k.was == neverQueued && (st.Create || st.Outcome == store.Complete) {
				w.out[i] = store.Settled
			}
			continue
		}
		p := b.part(shard, i)
		p.blob = appendLong(p.blob, appendSettlement(nil, st))
	}
	return b.read(ctx, func(i int, r *reader) {
		switch r.bytes(1) {
		case "S":
			w.out[i] = store.Settled
		case "U":
			w.out[i] = store.Unknown
		case "T":
			w.out[i] = store.Stale
		default:
			w.elsewhere[i] = true
		}
	})
}

// make makes URLs. It returns those whose keys changed at the same time.
func (w *settling) make(ctx context.Context, found []known) (again []int, err error) {
	var list []*step
	for _, i := range w.left {
		if st := &w.list[i]; st.Token == 0 && w.makes(i, found[i]) {
			list = append(list, &step{item: i, key: st.Key, old: found[i], mode: 'f', entry: w.s.entryOf(st)})
		}
	}
	if err := w.s.carryOut(ctx, w.crawl, stepMove, list); err != nil {
		return nil, err
	}
	for _, st := range list {
		w.out[st.item] = store.Settled
		if st.old.was == unknown {
			w.out[st.item] = store.Created
		}
		if st.begun != 'Y' || st.left || st.answer == 'H' {
			w.elsewhere[st.item] = false
			again = append(again, st.item)
		}
	}
	return again, nil
}
