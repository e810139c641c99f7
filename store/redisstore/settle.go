package redisstore

import (
	"context"
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Settle implements store.Store. A call is atomic in each shard that it
// touches.
func (s *Store) Settle(ctx context.Context, crawl string, list []store.Settlement) ([]store.SettleStatus, error) {
	crawl, err := sched.CrawlName(crawl)
	if err != nil {
		return nil, err
	}
	if err := sched.CheckSettlements(list); err != nil {
		return nil, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	unicode := false
	for i := range list {
		unicode = unicode || list[i].Create && list[i].UnicodeHost
	}
	if err := s.noteUnicodeHosts(ctx, unicode); err != nil {
		return nil, err
	}
	defer s.idle.changes.Add(1)
	out := make([]store.SettleStatus, len(list))
	for from := 0; from < len(list); {
		w := &settling{s: s, crawl: crawl, id: s.requests.id()}
		n, err := w.wave(ctx, list[from:], out[from:])
		if err != nil {
			return nil, err
		}
		from += n
		ctx = accepted(ctx)
	}
	return out, nil
}

// settling is a wave of a Settle: settlements of different keys that need not
// wait for each other.
type settling struct {
	s     *Store
	crawl string
	id    requestID
	list  []store.Settlement
	out   []store.SettleStatus
	known []known // of those without token
	again []int   // it changed meanwhile: to be settled anew, alone
}

// wave settles as many as can be at once, and returns their number.
func (w *settling) wave(ctx context.Context, list []store.Settlement, out []store.SettleStatus) (int, error) {
	n := distinct(list)
	if err := w.resolve(ctx, list[:n]); err != nil {
		return 0, err
	}
	for i := range n {
		if w.moves(&list[i], w.known[i]) {
			if i == 0 {
				return 1, w.s.settleMoving(ctx, w.crawl, &list[0], &out[0])
			}
			n = i
			break
		}
	}
	w.list, w.out = list[:n], out[:n]
	if err := w.send(ctx); err != nil {
		return 0, err
	}
	ctx = accepted(ctx)
	for _, i := range w.again {
		if err := w.s.settleMoving(ctx, w.crawl, &w.list[i], &w.out[i]); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// distinct is the number of settlements before a key comes again.
func distinct(list []store.Settlement) int {
	seen := make(map[store.Key]bool, len(list))
	for i := range list {
		if seen[list[i].Key] || i == waveSize {
			return i
		}
		seen[list[i].Key] = true
	}
	return len(list)
}

// resolve asks the seen side about the keys whose lease isn't named.
func (w *settling) resolve(ctx context.Context, list []store.Settlement) error {
	w.known = make([]known, len(list))
	var keys []store.Key
	var of []int
	for i := range list {
		if list[i].Token == 0 {
			keys, of = append(keys, list[i].Key), append(of, i)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	found, err := w.s.resolve(ctx, w.crawl, keys)
	for j, i := range of {
		if err == nil {
			w.known[i] = found[j]
		}
	}
	return err
}

// moves reports whether a known URL may have to come to a queue that it isn't in.
func (w *settling) moves(st *store.Settlement, k known) bool {
	if !st.Create || k.was == unknown {
		return false
	}
	_, named := w.s.layout.ofQueue(st.Queue)
	return k.was == neverQueued || k.queue != named
}

// send makes what is unknown and to be made, and sends the rest to the queues.
func (w *settling) send(ctx context.Context) error {
	made, err := w.make(ctx)
	if err != nil {
		return err
	}
	if slices.Contains(made, true) {
		ctx = accepted(ctx)
	}
	b := w.s.batch(scriptSettle, w.id.phase(phaseSettle), w.crawl, append(w.s.settleHead(), make([]byte, 16)...))
	for i := range w.list {
		if made[i] {
			continue
		}
		st, shard := &w.list[i], 0
		_, h := w.s.layout.ofQueue(st.Queue)
		switch {
		case st.Token != 0:
			if shard = int(st.Token >> tokenBits); shard >= w.s.opt.Shards {
				w.out[i] = store.Stale
				continue
			}
		case w.known[i].was == queuedIn:
			shard = w.s.layout.ofHash(w.known[i].queue)
		case st.Create:
			w.again = append(w.again, i)
			continue
		default:
			w.out[i] = store.Unknown
			if w.known[i].was == neverQueued && st.Outcome == store.Complete {
				w.out[i] = store.Settled
			}
			continue
		}
		p := b.part(shard, i)
		p.blob = appendLong(appendUint(p.blob, 2, uint64(i)), appendSettlement(nil, st, w.known[i], h, false))
	}
	if err := b.run(ctx); err != nil {
		return err
	}
	return b.tell(w.tell)
}

// make makes the unknown URLs that are to be created.
func (w *settling) make(ctx context.Context) (made []bool, err error) {
	made = make([]bool, len(w.list))
	var list []*step
	of := map[*step]int{}
	for i := range w.list {
		if st := &w.list[i]; st.Create && w.known[i].was == unknown {
			list = append(list, w.s.settleStep(st, w.known[i]))
			of[list[len(list)-1]] = i
		}
	}
	if len(list) == 0 {
		return made, nil
	}
	begun, _, _, _, err := w.s.begin(ctx, w.crawl, stepSettle, list)
	if err != nil {
		return nil, err
	}
	for _, st := range begun {
		made[of[st]], w.out[of[st]] = true, store.Created
	}
	return made, w.s.deliver(accepted(ctx), w.crawl, begun)
}

// settleHead is what a blob of settlements begins with, before the request of its steps.
func (s *Store) settleHead() []byte {
	if s.opt.KeepURLs {
		return []byte{'k'}
	}
	return []byte{'-'}
}

// tell notes one answer; see lua/judge.lua.
func (w *settling) tell(i int, answer byte) {
	switch answer {
	case 'S':
		w.out[i] = store.Settled
	case 'U':
		w.out[i] = store.Unknown
	case 'T':
		w.out[i] = store.Stale
	default:
		w.again = append(w.again, i)
	}
}
