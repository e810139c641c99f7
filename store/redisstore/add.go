package redisstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// An add is carried out in waves, each of as many URLs as can be judged together. The keys of a wave are offered to
// their homes, which record the new ones, with a step for each that has a queue; then the steps are delivered. A
// key with a step of another daemon is offered again when that step is finished. Keys that the cache knows are not sent.
//
// A forced URL takes another path: its key is known, so the state in its queue decides.

// waveSize bounds the URLs that a daemon has in flight for one call.
const waveSize = 8192

// Add implements store.Store. A batch is atomic URL by URL. MaxPerQueue is exact. MaxHeld is exact
// for one daemon: concurrent adds of other daemons can exceed it, each by at most 8,192 URLs.
func (s *Store) Add(ctx context.Context, crawl string, items []store.Item, opt store.AddOptions) ([]store.Verdict, error) {
	if err := sched.CheckItems(items); err != nil {
		return nil, err
	}
	crawl, err := s.enterCrawl(ctx, crawl)
	if err != nil {
		return nil, err
	}
	defer s.leave()
	verdicts := make([]store.Verdict, len(items))
	if err := s.add(accepted(ctx), crawl, items, verdicts, opt); err != nil {
		return nil, err
	}
	return verdicts, nil
}

// See implements store.Store: it adds keys without a queue. If it fails, some of the keys may be recorded, and are
// duplicates on the next call.
func (s *Store) See(ctx context.Context, crawl string, keys []store.Key, fresh []bool, opt store.SeeOptions) error {
	if len(keys) != len(fresh) {
		return fault.As(store.ErrInvalid, "cannot see keys; got %d answers; want %d", len(fresh), len(keys))
	}
	if err := s.Identity().Stated(); err != nil {
		return fmt.Errorf("cannot see keys: %w", err)
	}
	crawl, err := s.enterCrawl(ctx, crawl)
	if err != nil {
		return err
	}
	defer s.leave()
	items, verdicts := make([]store.Item, min(len(keys), waveSize)), make([]store.Verdict, min(len(keys), waveSize))
	for from := 0; from < len(keys); from += waveSize {
		n := min(len(keys)-from, waveSize)
		for i, k := range keys[from : from+n] {
			items[i] = store.Item{Key: k, UnicodeHost: opt.UnicodeHosts}
		}
		if err := s.add(accepted(ctx), crawl, items[:n], verdicts[:n], store.AddOptions{}); err != nil {
			return err
		}
		for i, v := range verdicts[:n] {
			fresh[from+i] = v.Status == store.New
		}
	}
	return nil
}

func (s *Store) add(ctx context.Context, crawl string, items []store.Item, verdicts []store.Verdict, opt store.AddOptions) error {
	unicode := slices.ContainsFunc(items, func(it store.Item) bool { return it.UnicodeHost })
	if err := s.noteUnicodeHosts(ctx, unicode); err != nil {
		return err
	}
	defer s.idle.changes.Add(1)
	marked, err := s.marked(ctx, crawl, items, opt)
	if err != nil {
		return err
	}
	for len(items) > 0 {
		w := &wave{s: s, crawl: crawl, opt: opt, items: items, marked: marked, verdicts: verdicts, room: waveSize}
		if err := w.add(ctx); err != nil {
			return err
		}
		n := len(w.items)
		items, marked, verdicts = items[n:], marked[n:], verdicts[n:]
	}
	return nil
}

// marked finds the other spellings of marked keys before anything of a batch for capped queues is recorded: steps that a daemon records but dies
// before delivering reach their queue in any order, and could take the room promised to such a URL when its queue released it.
func (s *Store) marked(ctx context.Context, crawl string, items []store.Item, opt store.AddOptions) ([]bool, error) {
	marked := make([]bool, len(items))
	if opt.MaxPerQueue <= 0 {
		return marked, nil
	}
	var known []report
	if s.cache != nil {
		known = s.cache.of(crawl)
	}
	w, of := &wave{s: s, items: items}, []int(nil)
	for i := range items {
		shard, _ := s.layout.ofKey(&items[i].Key)
		if unmarked := known != nil && known[shard] != "" && !known[shard].marks(); w.spells(i) && !unmarked {
			of = append(of, i)
		}
	}
	found, err := s.resolve(ctx, scriptResolve, crawl, w.keys(of))
	for j, i := range of {
		marked[i] = isOther(&items[i], found[j])
	}
	return marked, err
}

// isOther reports whether an item is to be queued because its key is marked with another spelling.
func isOther(it *store.Item, k atHome) bool {
	return it.Variant && !it.Force && it.Queue != "" && k.mark != 0 && k.mark != store.Spelling(it.URL)
}

// wave is a part of a batch that is judged together. The lists of its methods are numbers of items.
type wave struct {
	s        *Store
	crawl    string
	opt      store.AddOptions
	items    []store.Item
	marked   []bool // other spellings of marked keys, as far as known beforehand
	verdicts []store.Verdict
	room     int64 // how many more URLs the crawl may hold, if that is bounded
	told     int   // how many items have their first-seen URL, if it is asked for
}

// add cuts the wave where the next one begins, and adds it.
func (w *wave) add(ctx context.Context) (err error) {
	if w.opt.MaxHeld > 0 {
		w.s.heldMu.Lock()
		defer w.s.heldMu.Unlock()
		by, err := w.s.statsBy(ctx, w.crawl)
		if err != nil {
			return err
		}
		w.room = max(0, w.opt.MaxHeld-by[w.crawl].Held)
	}
	n := w.length()
	w.items, w.verdicts = w.items[:n], w.verdicts[:n]
	if w.forced(0) {
		return w.force(ctx, upTo(n))
	}
	if err := w.offer(ctx, upTo(n)); err != nil {
		return err
	}
	return w.first(ctx, n)
}

// forced reports whether a URL is to be queued although it was seen, perhaps only if it ended early enough.
func (w *wave) forced(i int) bool {
	it := &w.items[i]
	return it.Queue != "" && (it.Force || !it.EndedBefore.IsZero()) || w.marked[i]
}

func (w *wave) capped() bool { return w.opt.MaxPerQueue > 0 || w.opt.MaxHeld > 0 }

func (w *wave) cap() uint64 { return uint64(max(0, w.opt.MaxPerQueue)) }

// length returns the number of items in the wave: all of them are to be forced, or none. With a cap, or URLs to force, later items depend on
// the verdicts of earlier ones: so a key may occur only once.
func (w *wave) length() int {
	most := min(len(w.items), waveSize)
	if w.room > 0 {
		most = int(min(int64(most), w.room))
	}
	force := w.forced(0)
	distinct, seen := w.capped() || force, map[store.Key]bool{}
	for i := range w.items[:most] {
		it := &w.items[i]
		if w.forced(i) != force || distinct && seen[it.Key] {
			return i
		}
		if distinct {
			seen[it.Key] = true
		}
	}
	return most
}

// keys returns the keys of some of the items.
func (w *wave) keys(of []int) []store.Key {
	keys := make([]store.Key, len(of))
	for j, i := range of {
		keys[j] = w.items[i].Key
	}
	return keys
}

// offer offers some of the items to the homes of their keys. Items that must be offered twice, since the cache was wrong about them or
// another step came first, keep their place in the batch: nothing goes to a queue before all are recorded.
func (w *wave) offer(ctx context.Context, left []int) error {
	o := &offering{wave: w, reported: map[int]report{}}
	o.hits, o.before, left = w.recall(left)
	err := w.s.untilClear(ctx, func() (bool, error) {
		if err := o.record(ctx, left); err != nil {
			return false, err
		}
		if left, o.hits, o.pending = o.pending, nil, nil; len(left) == 0 {
			return true, nil
		}
		slices.Sort(left)
		_, err := w.s.resolve(ctx, scriptResolve, w.crawl, w.keys(left)) // finishes their steps
		return false, err
	})
	if err != nil {
		return err
	}
	if err := o.queue(ctx); err != nil {
		return err
	}
	o.remember()
	return nil
}

// recall divides some of the items into those that the cache knows, by their shards' reports, and the rest. Where keys are marked,
// other spellings may not be duplicates.
func (w *wave) recall(of []int) (hits []int, reports []report, rest []int) {
	if w.s.cache == nil {
		return nil, nil, of
	}
	if reports = w.s.cache.of(w.crawl); reports == nil {
		return nil, nil, of
	}
	for _, i := range of {
		key := &w.items[i].Key
		shard, _ := w.s.layout.ofKey(key)
		if r := reports[shard]; r != "" && !(w.spells(i) && r.marks()) && w.s.cache.has(w.crawl, r.epoch(), key) {
			hits = append(hits, i)
		} else {
			rest = append(rest, i)
		}
	}
	return hits, reports, rest
}

// spells reports whether an item is queued if its key is marked with another spelling.
func (w *wave) spells(i int) bool { return w.items[i].Variant && w.items[i].Queue != "" }

// offering offers items of a wave to the homes of their keys.
type offering struct {
	*wave
	hits   []int    // items that are duplicates if their shards still report the same epochs
	before []report // by shard

	fresh    []*step        // of items that are new, and to be queued
	pending  []int          // to be offered again; another step may have to be finished first
	others   []int          // other spellings of marked keys
	reported map[int]report // by shard
}

// report comes with each answer of a shard to an offer: the crawl's epoch there, and whether any of its keys are marked; see lua/offer.lua.
type report string

const epochLen = 10

func (r report) epoch() string { return string(r[:epochLen]) }
func (r report) marks() bool   { return r[epochLen] == '1' }

// withSpelling is set in the number of an item whose spelling is sent with it.
const withSpelling = 1 << 15

// kind returns the kind of the steps. In a full crawl nothing new is queued.
func (o *offering) kind() byte {
	switch {
	case o.room == 0:
		return noStep
	case o.capped():
		return stepCapped
	}
	return stepAdd
}

func (o *offering) head() []byte { return appendUint(append(o.s.shardsHead(), o.kind()), 6, o.cap()) }

// offer is one item of an offering.
type offer struct {
	call   *call
	entry  []byte // as sent; nil without a queue
	answer byte   // of the key's home
}

// record records keys, and begins the steps of those that are new. It also confirms what the cache knew.
func (o *offering) record(ctx context.Context, of []int) error {
	since, offers := time.Now(), make([]offer, len(o.items))
	b := o.s.batch(scriptOffer, o.crawl, o.head()).expect(len(of), entryRoom)
	for _, i := range of {
		offers[i] = o.appendTo(b, i)
	}
	for _, i := range o.hits {
		shard, _ := o.s.layout.ofKey(&o.items[i].Key)
		b.call(shard) // asks for the report, if for nothing else
	}
	if err := b.run(ctx); err != nil {
		return err
	}
	for _, c := range b.calls {
		if err := o.read(c, offers); err != nil {
			return err
		}
	}
	for _, i := range of { // in this order URLs come to their queues
		o.judge(i, &offers[i], since)
	}
	o.confirm()
	return nil
}

// appendTo appends an item to the call of its key's home, as lua/offer.lua reads it.
func (o *offering) appendTo(b *batch, i int) offer {
	it, c := &o.items[i], b.addKey(i, &o.items[i].Key)
	number := uint64(i)
	if o.spells(i) {
		number |= withSpelling
	}
	blob := append(appendUint(c.blob, 2, number), 0, 0, 0, 0) // the length follows
	at := len(blob)
	var entry []byte
	if it.Queue == "" {
		blob = append(append(blob, it.Key[:]...), make([]byte, len(queueHash{}))...)
	} else {
		_, queue := o.s.layout.ofQueue(o.crawl, it.Queue)
		blob = appendItem(blob, it, queue)
		entry = blob[at:len(blob):len(blob)]
	}
	binary.BigEndian.PutUint32(blob[at-4:], uint32(len(blob)-at))
	if o.spells(i) {
		blob = binary.BigEndian.AppendUint32(blob, store.Spelling(it.URL))
	}
	c.blob = blob
	return offer{call: c, entry: entry}
}

// read reads the reply of a call: an answer for each item, and the report of its shard.
func (o *offering) read(c *call, offers []offer) error {
	if want := len(c.of) + epochLen + 1; len(c.reply) != want {
		return fmt.Errorf("got %d bytes from offer; want %d: %w", len(c.reply), want, store.ErrCorrupt)
	}
	for j, i := range c.of {
		offers[i].answer = c.reply[j]
	}
	if o.reported[c.shard] == "" { // a later call of the shard may report a later epoch
		o.reported[c.shard] = report(c.reply[len(c.of):])
	}
	return nil
}

// confirm answers the items that the cache knew, unless keys of their shards were forgotten, or marked, since.
func (o *offering) confirm() {
	for _, i := range o.hits {
		shard, _ := o.s.layout.ofKey(&o.items[i].Key)
		if now := o.reported[shard]; now.epoch() == o.before[shard].epoch() && !(o.spells(i) && now.marks()) {
			o.verdicts[i].Status = store.Duplicate
		} else {
			o.pending = append(o.pending, i)
		}
	}
}

// judge turns the answer for an item into a verdict, and a step if it is new and has a queue.
func (o *offering) judge(i int, a *offer, since time.Time) {
	status := &o.verdicts[i].Status
	switch a.answer {
	case 'P':
		o.pending = append(o.pending, i)
	case 'M':
		o.others = append(o.others, i)
	case 'D':
		*status = store.Duplicate
	case 'F':
		*status = store.Full
	default:
		*status = store.New
		if a.entry != nil {
			o.fresh = append(o.fresh, &step{kind: o.kind(), key: o.items[i].Key, ticket: a.call.id, number: uint16(i),
				cap: o.cap(), entry: a.entry, since: since, with: &a.call.group, item: i})
			a.call.group.begun++
		}
	}
}

// queue delivers the steps, and queues other spellings of marked keys, in the order of the items.
func (o *offering) queue(ctx context.Context) error {
	slices.SortFunc(o.fresh, func(a, b *step) int { return a.item - b.item })
	slices.Sort(o.others)
	left := o.fresh
	for _, i := range o.others { // one by one: a mark is used up by the first spelling that is queued for it
		n := 0
		for n < len(left) && left[n].item < i {
			n++
		}
		if err := o.s.deliver(ctx, o.crawl, left[:n]); err != nil {
			return err
		}
		if err := o.first(ctx, i); err != nil {
			return err
		}
		if err := o.force(ctx, []int{i}); err != nil {
			return err
		}
		left = left[n:]
	}
	err := o.s.deliver(ctx, o.crawl, left)
	for _, st := range o.fresh {
		if st.answer == 'F' {
			o.verdicts[st.item].Status = store.Full
		}
	}
	return err
}

// remember puts the keys that are now known into the cache.
func (o *offering) remember() {
	if o.s.cache == nil {
		return
	}
	o.s.cache.learn(o.crawl, o.s.opt.Shards, o.reported)
	for i := range o.items {
		if o.verdicts[i].Status != store.Full {
			shard, _ := o.s.layout.ofKey(&o.items[i].Key)
			o.s.cache.put(o.crawl, o.reported[shard].epoch(), &o.items[i].Key)
		}
	}
}

// first fills in the first-seen URL of duplicates, while it is kept, and of other spellings in a full crawl, for items before to that lack it. A
// later item that is queued with the same key changes it.
func (w *wave) first(ctx context.Context, to int) error {
	var of []int
	for ; w.opt.WantFirst && w.told < to; w.told++ {
		if v := &w.verdicts[w.told]; v.Status != store.New && !v.Requeued {
			of = append(of, w.told)
		}
	}
	if len(of) == 0 {
		return nil
	}
	_, entries, err := w.s.lookUp(ctx, scriptResolve, w.crawl, w.keys(of))
	if err != nil {
		return err
	}
	for j, i := range of {
		w.verdicts[i].First = entries[j].URL
	}
	return nil
}

// force adds a wave of URLs to be queued although they were seen.
func (w *wave) force(ctx context.Context, left []int) error {
	return w.s.untilClear(ctx, func() (bool, error) {
		list, err := w.toForce(ctx, left)
		if err == nil {
			err = w.s.carryOut(ctx, w.crawl, stepMove, list)
		}
		left = nil
		for _, st := range list {
			v := &w.verdicts[st.item]
			switch {
			case st.begun == 'U': // another spelling has had the chance
			case st.changed(): // is it held now?
				left = append(left, st.item)
			case st.answer == 'F':
				v.Status = store.Full
			case st.old.state == unknown:
				v.Status = store.New
			default:
				v.Requeued = true
			}
		}
		return len(left) == 0, err
	})
}

// toForce returns the steps of the items to be queued that aren't held, and sets the verdicts of the others.
func (w *wave) toForce(ctx context.Context, of []int) (list []*step, err error) {
	found, entries, err := w.s.lookUp(ctx, scriptJudge, w.crawl, w.keys(of))
	if err != nil {
		return nil, err
	}
	vacant := map[string]*vacancy{}
	for j, i := range of {
		v, it, e := &w.verdicts[i], &w.items[i], &entries[j]
		*v = store.Verdict{Status: store.Duplicate}
		if w.opt.WantFirst {
			v.First = e.URL
		}
		if vacant[it.Queue] == nil {
			vacant[it.Queue] = new(vacancy)
		}
		other := isOther(it, found[j])
		_, to := w.s.layout.ofQueue(w.crawl, it.Queue)
		switch full, err := w.full(ctx, it.Queue, to, found[j], vacant[it.Queue]); {
		case err != nil:
			return nil, err
		case e.State == store.Queued || e.State == store.Leased:
		case found[j].state != unknown && !it.Force && !other && !sched.EndedBefore(it, e.State, sched.Now(e.Ended)):
			if sched.Undated(it, e.State, w.s.opt.KeepURLs) {
				v.Status = store.Undated
			}
		case w.room == 0 || full:
			v.Status = store.Full
		default:
			// The queue that has the URL checks again when it ended: it may have been queued again since, and fetched.
			again := !it.Force && !other && found[j].state == queuedIn
			entry := appendEntry(nil, it, to, sched.MsOr(it.Due, 0), howOther*flag(other)|howEnded*flag(again))
			if again {
				entry = appendUint(entry, 6, uint64(sched.Now(it.EndedBefore)))
			}
			list = append(list, &step{item: i, key: it.Key, old: found[j], mode: 'f', cap: w.cap(), entry: entry})
			vacant[it.Queue].left--
		}
	}
	return list, nil
}

// vacancy is how many more URLs a queue may hold, less those that a list brings. Until it is read, only the latter count.
type vacancy struct {
	left int64
	read bool
}

// full reports whether the target queue of a URL is full. The queue itself decides in the end, but by then another queue that had the URL
// has released it. So the target's room is read once a URL is to move there, and no room is promised twice: the steps of a daemon that died may be
// delivered in another order.
func (w *wave) full(ctx context.Context, name string, to queueHash, from atHome, v *vacancy) (bool, error) {
	if !v.read && w.opt.MaxPerQueue > 0 && from.state == queuedIn && from.queue != to {
		info, _, err := w.s.queueInfo(ctx, w.crawl, name)
		if err != nil {
			return false, err
		}
		v.left, v.read = v.left+w.opt.MaxPerQueue-info.Held, true
	}
	return v.read && v.left <= 0, nil
}
