package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// A settlement with a token goes straight to the shard that issued it. Without a token, the key's home is asked first which queue has the URL. A
// URL that a settlement creates has no queue yet: it becomes a step (outbox.go), after the settlements of the same wave.

// Settle implements store.Store. A call is atomic in each shard that it touches.
func (s *Store) Settle(ctx context.Context, crawl string, list []store.Settlement) ([]store.SettleStatus, error) {
	if err := sched.CheckSettlements(list); err != nil {
		return nil, err
	}
	for i := range list {
		if ch := list[i].QueueChange; ch != nil && ch.Group != nil {
			return nil, fault.As(store.ErrInvalid, "cannot settle with group %.80q; on Redis a group is set by Configure", *ch.Group)
		}
	}
	crawl, err := s.enterCrawl(ctx, crawl)
	if err != nil {
		return nil, err
	}
	defer s.leave()
	ctx = accepted(ctx)
	unicode := slices.ContainsFunc(list, func(st store.Settlement) bool { return st.Create && st.UnicodeHost })
	if err := s.noteUnicodeHosts(ctx, unicode); err != nil {
		return nil, err
	}
	defer s.idle.changes.Add(1)
	out := make([]store.SettleStatus, len(list))
	for from := 0; from < len(list); {
		n := untilRepeat(list[from:])
		w := &settling{s: s, crawl: crawl, list: list[from : from+n], out: out[from : from+n], left: upTo(n)}
		if err := s.untilClear(ctx, func() (bool, error) { return w.try(ctx) }); err != nil {
			return nil, err
		}
		from += n
	}
	return out, nil
}

// untilRepeat returns the number of settlements in one wave, which ends before a key repeats.
func untilRepeat(list []store.Settlement) int {
	seen := make(map[store.Key]bool, len(list))
	for i := range list {
		if seen[list[i].Key] || i == waveSize {
			return i
		}
		seen[list[i].Key] = true
	}
	return len(list)
}

// settling is a wave of a Settle: settlements of different keys.
type settling struct {
	s     *Store
	crawl string
	list  []store.Settlement
	out   []store.SettleStatus
	left  []int // yet to be settled

	found []atHome // keys of those without a token, as this try found them
	makes []bool   // a step must make the URL: no queue has it
}

// try settles the rest. A queue settles the URLs that it has; a URL that a settlement makes is a step. It returns false if
// something was changed concurrently.
func (w *settling) try(ctx context.Context) (bool, error) {
	if err := w.find(ctx); err != nil {
		return false, err
	}
	left := w.left
	for w.left = nil; len(left) > 0; {
		part := left[:w.inOrder(left)]
		left = left[len(part):]
		marked, err := w.mark(ctx, part)
		if err != nil {
			return false, err
		}
		gone, err := w.send(ctx, part, marked)
		if err != nil {
			return false, err
		}
		if err := w.s.unmark(ctx, w.crawl, gone); err != nil {
			return false, err
		}
		if err := w.create(ctx, part); err != nil {
			return false, err
		}
	}
	slices.Sort(w.left)
	return len(w.left) == 0, nil
}

// find looks up the queues of the URLs whose settlements have no token.
func (w *settling) find(ctx context.Context) error {
	var keys []store.Key
	var of []int
	for _, i := range w.left {
		if w.list[i].Token == 0 {
			keys, of = append(keys, w.list[i].Key), append(of, i)
		}
	}
	found, err := w.s.resolve(ctx, scriptResolve, w.crawl, keys)
	if err != nil {
		return err
	}
	w.found, w.makes = make([]atHome, len(w.list)), make([]bool, len(w.list))
	for j, i := range of {
		if w.found[i] = found[j]; !w.list[i].Create {
			found[j].state = unknown // whether its queue still has the text makes no difference
		}
	}
	entries, err := w.s.entriesOf(ctx, w.crawl, keys, found)
	for j, i := range of {
		st := &w.list[i]
		w.makes[i] = st.Create && (found[j].state == unknown || entries[j].State == store.SeenOnly && (w.s.opt.KeepURLs || st.Outcome == store.Requeue))
	}
	return err
}

// inOrder returns how many settlements can be sent before URLs are made, with the same effect as in order: no URL is queued before a URL that
// comes first, is made and is due at the same time, and no queue is changed before a URL that is made with a change.
func (w *settling) inOrder(list []int) int {
	type place struct {
		shard int
		due   int64
		after byte
	}
	made, changed := map[place]bool{}, false
	for n, i := range list {
		st := &w.list[i]
		at := place{shard: int(st.Token >> tokenBits)}
		at.due, at.after = dueOf(st)
		switch {
		case w.makes[i]:
			at.shard, _ = w.s.layout.ofQueue(w.crawl, st.Queue)
		case st.Token == 0:
			at.shard = w.s.layout.ofHash(w.found[i].queue)
		}
		queues, changes := st.Outcome == store.Requeue, st.QueueChange != nil
		if !w.makes[i] && (queues && made[at] || changes && changed) {
			return n
		}
		if w.makes[i] {
			made[at], changed = made[at] || queues, changed || changes
		}
	}
	return len(list)
}

// mark marks the keys of settlements with a Mark. Marks are at the homes of keys, and are made before the drop: if the daemon dies
// in between, a URL that is still held has a useless mark, and may be fetched once more because of it; in the other order, its page could be
// lost. It returns the settlements whose keys had no mark before.
func (w *settling) mark(ctx context.Context, part []int) (marked []bool, err error) {
	marked = make([]bool, len(w.list))
	b := w.s.markBatch(w.crawl, markThem)
	for _, i := range part {
		if st := &w.list[i]; st.Mark != 0 && (st.Token != 0 || w.found[i].state != unknown && !w.makes[i]) {
			b.addMark(i, &st.Key, st.Mark)
		}
	}
	return marked, b.read(ctx, func(i int, r *reader) { marked[i] = r.bytes(1) == "Y" })
}

// send sends settlements to the queues that have the URLs. It returns the keys whose marks have to be removed: of ended
// URLs that changed their state, and of keys marked for a settlement that did not drop them.
func (w *settling) send(ctx context.Context, part []int, marked []bool) (gone []store.Key, err error) {
	b := w.s.batch(scriptSettle, w.crawl, []byte{"-k"[flag(w.s.opt.KeepURLs)]})
	for _, i := range part {
		st, k := &w.list[i], w.found[i]
		shard := int(st.Token >> tokenBits)
		switch {
		case st.Token != 0 && shard >= w.s.opt.Shards:
			w.out[i] = store.Stale
			continue
		case st.Token != 0:
		case w.makes[i]:
			continue
		case k.state == queuedIn:
			shard = w.s.layout.ofHash(k.queue)
		default:
			w.out[i] = store.Unknown
			switch {
			case k.state == neverQueued && st.If != store.SeenOnly:
				w.out[i] = store.Stale
			case k.state == neverQueued && (st.Create || st.Outcome == store.Complete):
				w.out[i] = store.Settled
			}
			if marked[i] {
				gone = append(gone, st.Key)
			}
			continue
		}
		c := b.add(shard, i)
		c.blob = appendLong(c.blob, appendSettlement(nil, st))
	}
	err = b.read(ctx, func(i int, r *reader) {
		answer := r.bytes(1)
		if answer == "E" || marked[i] && answer != "S" {
			gone = append(gone, w.list[i].Key)
		}
		switch answer {
		case "S", "E", "R", "N":
			w.out[i] = store.Settled
		case "U":
			w.out[i] = store.Unknown
		case "T":
			w.out[i] = store.Stale
		case "A":
			w.out[i] = store.AlreadyDone
		default: // a step must make it
			w.left = append(w.left, i)
		}
	})
	return gone, err
}

// create makes URLs, except those whose keys changed concurrently.
func (w *settling) create(ctx context.Context, part []int) error {
	var list []*step
	for _, i := range part {
		if st := &w.list[i]; w.makes[i] {
			list = append(list, &step{item: i, key: st.Key, old: w.found[i], mode: 'f', entry: w.s.entryOf(w.crawl, st)})
		}
	}
	if err := w.s.carryOut(ctx, w.crawl, stepMove, list); err != nil {
		return err
	}
	b := w.s.markBatch(w.crawl, markThem)
	for _, st := range list {
		mark := w.list[st.item].Mark
		switch {
		case st.changed():
			w.left = append(w.left, st.item)
		case mark != 0:
			b.addMark(st.item, &st.key, mark)
		}
		if w.out[st.item] = store.Settled; st.old.state == unknown {
			w.out[st.item] = store.Created
		}
	}
	return b.run(ctx)
}

// entryOf returns the entry of a URL that a settlement makes.
func (s *Store) entryOf(crawl string, st *store.Settlement) []byte {
	_, h := s.layout.ofQueue(crawl, st.Queue)
	due, after := dueOf(st)
	how := map[store.Outcome]byte{store.Requeue: 0, store.Complete: 1, store.Drop: 2}[st.Outcome] |
		howAfter*after | howKept*flag(s.opt.KeepURLs) | howChange*flag(st.QueueChange != nil) | howCounts*flag(st.Fetched || st.Failed)
	dst := appendEntry(nil, &store.Item{Key: st.Key, Queue: st.Queue, Priority: or(st.Priority), Meta: st.Meta, URL: st.URL}, h, due, how)
	if st.QueueChange != nil {
		dst = appendChange(dst, st.QueueChange)
	}
	return dst
}

// dueOf returns when a settled URL is due, and 1 if that counts from the step on; for a completed or dropped URL, when it ended.
func dueOf(st *store.Settlement) (ms int64, after byte) {
	switch {
	case st.Outcome == store.Complete || st.Outcome == store.Drop:
		return sched.MsOr(st.Ended, 0), 0
	case st.After > 0:
		return sched.DurMs(st.After), 1
	}
	return sched.MsOr(st.Due, 0), 0
}

func appendSettlement(dst []byte, st *store.Settlement) []byte {
	due, after := dueOf(st)
	flags := uint64(0)
	for i, set := range []bool{st.Create, st.NewRound, st.URL != "", st.Meta != nil, st.Priority != nil, st.QueueChange != nil, after == 1,
		st.Late, st.Fetched || st.Failed} {
		flags |= uint64(flag(set)) << i
	}
	flags |= uint64(st.If) << 9
	dst = appendUint(append(dst, st.Key[:]...), 6, st.Token&tokenMask)
	dst = append(appendUint(dst, 2, flags), byte(st.Outcome))
	dst = append(appendUint(dst, 6, uint64(due)), or(st.Priority))
	if st.QueueChange != nil {
		dst = appendChange(dst, st.QueueChange)
	}
	return append(appendLong(dst, st.Meta), st.URL...)
}

// maxInt is the largest number that scripts keep exactly.
const maxInt = 1<<53 - 1

// appendChange appends a change of a queue: mask 1 | delay 8 | in flight 8 |
// blocked until 6 | limit 8 | weight 1 | paused 1 | not before 6. Bit 7 of the mask is
// Later. A field that the mask lacks means nothing.
func appendChange(dst []byte, c *store.QueueChange) []byte {
	mask := byte(0)
	for i, set := range []bool{c.Delay != nil, c.MaxInFlight != nil, c.BlockedUntil != nil, c.Limit != nil, c.Weight != nil, c.Paused != nil, c.NotBefore != nil, c.Later} {
		mask |= flag(set) << i
	}
	dst = appendUint(append(dst, mask), 8, uint64(sched.DurMs(or(c.Delay))))
	dst = appendUint(dst, 8, uint64(or(c.MaxInFlight)))
	dst = appendUint(dst, 6, uint64(sched.Ms(or(c.BlockedUntil))))
	dst = appendUint(dst, 8, uint64(min(or(c.Limit), maxInt)))
	dst = append(dst, or(c.Weight), flag(or(c.Paused)))
	return appendUint(dst, 6, uint64(sched.Ms(or(c.NotBefore))))
}

// appendCrawlChange appends the changes that only a crawl or the store has: mask 1 | queue limit 8 | retention in ms 8.
func appendCrawlChange(dst []byte, c *store.QueueChange) []byte {
	dst = append(dst, flag(c.QueueLimit != nil)|2*flag(c.Retention != nil))
	dst = appendUint(dst, 8, uint64(min(or(c.QueueLimit), maxInt)))
	return appendUint(dst, 8, uint64(sched.DurMs(or(c.Retention))))
}

// checkGroup refuses to put a queue into a group where its queues are in several shards: no script sees what others leased.
func (s *Store) checkGroup(c *store.QueueChange) error {
	if c.Group == nil || *c.Group == "" || s.layout.together {
		return nil
	}
	return fault.As(store.ErrInvalid, "cannot put a queue into group %.80q: the Redis store %q was made without groups; make another one with groups (--redis redis://HOST:PORT?prefix=NAME:&groups=true), and copy the crawls into it",
		*c.Group, s.opt.Prefix)
}

// or returns what p points to, zero for nil.
func or[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Configure implements store.Store. Settings of a crawl and of the store are kept in every shard.
// Each Take applies new settings to a bounded number of queues. A queue is always checked against
// them before it is served.
func (s *Store) Configure(ctx context.Context, crawl, queue string, ch store.QueueChange) error {
	crawl, err := sched.CheckConfigure(crawl, queue, &ch)
	if err = cmp.Or(err, s.checkGroup(&ch)); err != nil {
		return err
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	ctx = accepted(ctx)
	defer s.idle.changes.Add(1)
	notFound := fmt.Errorf("cannot configure queue %q of crawl %q: %w", queue, crawl, store.ErrNotFound)
	must := ch.MustExist && crawl != sched.AnyCrawl
	if must && queue == "" {
		names, err := s.crawlNames(ctx)
		if err != nil {
			return err
		}
		if !slices.Contains(names, crawl) {
			return notFound
		}
	}
	shard, _ := s.layout.ofQueue(crawl, queue)
	head := appendShort(appendCrawlChange(appendChange([]byte{flag(must)}, &ch), &ch), queue)
	if ch.Group != nil {
		head = appendShort(head, *ch.Group)
	}
	b := s.batch(scriptConfigure, crawl, head)
	if queue == "" {
		b.everywhere()
	} else {
		b.add(shard, 0)
	}
	found := true
	err = b.read(ctx, func(_ int, r *reader) { found = r.bytes(1) == "Y" && found })
	if err == nil && !found {
		return notFound
	}
	return err
}

// CrawlSettings implements store.Store. Every shard has them; it asks one.
func (s *Store) CrawlSettings(ctx context.Context, crawl string) (set store.CrawlSettings, err error) {
	if crawl, err = sched.CrawlNames(crawl); err != nil {
		return set, err
	}
	if err := s.enter(ctx); err != nil {
		return set, err
	}
	defer s.leave()
	r, err := s.ask(ctx, scriptSettings, 0, crawl, nil)
	if err != nil || !r.more() {
		return set, err
	}
	set.QueueSettings = readSettings(r)
	set.QueueLimit, set.Retention = int64(r.uint(8)), time.Duration(int64(r.uint(8)))*time.Millisecond
	return set, r.err()
}
