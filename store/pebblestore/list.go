package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/crawlfile"
	"github.com/firstseen/firstseen/store/internal/runfile"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Reads of the store as a whole. Counts and names are read under Store.mu. Lists of queues and URLs go through the
// committer, one page per step: so each page is the store at one moment, and a stalled caller holds nothing. A list of keys
// reads runs, which it holds, and takes Store.mu briefly for each page, to leave out forgotten keys.

// Identity implements store.Store. It takes no lock: a failed store's may never be free.
func (s *Store) Identity() store.Identity { return *s.identity.Load() }

// Crawls implements store.Store.
func (s *Store) Crawls(ctx context.Context) ([]string, error) {
	if err := s.rlock(); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	names := []string{}
	for _, c := range s.selected("*", "") {
		names = append(names, c.name)
	}
	return names, nil
}

// NameCrawls implements store.Store.
func (s *Store) NameCrawls(ctx context.Context, names, stored []string) error {
	if err := cmp.Or(sched.CheckNames(names, stored), s.usable(), ctx.Err()); err != nil {
		return err
	}
	s.names.Claim(names, stored)
	return nil
}

// Stats implements store.Store.
func (s *Store) Stats(ctx context.Context, crawl string) (store.Stats, error) {
	for {
		if st, done, err := s.stats(crawl); done || err != nil {
			return st, err
		}
	}
}

// stats counts, unless more leases ran out than it may take note of: then it is not
// done.
func (s *Store) stats(crawl string) (st store.Stats, done bool, err error) {
	if err := s.lock(); err != nil {
		return st, false, err
	}
	defer s.mu.Unlock()
	now, left := sched.Now(s.opt.Clock()), mostRows
	for _, c := range s.selected(crawl, "") {
		if left = c.queues.AdvanceSome(now, left); left == 0 { // the committer waits
			return store.Stats{}, false, nil
		}
		st.Seen += c.count()
		c.queues.AddTo(&st)
	}
	return st, true, nil
}

// Keys implements store.Store. Keys recorded or forgotten while it runs may be
// in the list or not.
func (s *Store) Keys(ctx context.Context, crawl string) iter.Seq2[store.Key, error] {
	return func(yield func(store.Key, error) bool) {
		held, from, err := s.openKeys(crawl)
		if err != nil {
			yield(store.Key{}, err)
			return
		}
		defer held.release()
		for {
			err := cmp.Or(ctx.Err(), s.usable())
			var keys []store.Key
			if err == nil {
				keys, err = from()
			}
			if err != nil {
				yield(store.Key{}, err)
				return
			}
			if len(keys) == 0 {
				return
			}
			for _, k := range keys {
				if !yield(k, nil) {
					return
				}
			}
		}
	}
}

// Export writes the keys of a crawl to w as a key file, and returns their number.
// Keys recorded or forgotten while it runs may be in the file or not.
func (s *Store) Export(ctx context.Context, w io.Writer, crawl string) (int64, error) {
	if err := s.rlock(); err != nil {
		return 0, err
	}
	h := crawlfile.Header{Identity: s.Identity(), UnicodeHosts: s.unicodeHosts}
	s.mu.RUnlock()
	return crawlfile.WriteKeys(w, h, s.Keys(ctx, crawl))
}

// openKeys returns the keys of a crawl in order, from its runs and packed rows as they are now.
func (s *Store) openKeys(name string) (held heldRuns, from runfile.Source, err error) {
	if _, err := sched.CrawlName(name); err != nil {
		return held, nil, err
	}
	if err := s.lock(); err != nil {
		return held, nil, err
	}
	held = s.holdRuns()
	var parts []*keyPart
	for _, c := range s.selected(name, "") {
		for _, g := range c.gens {
			parts = append(parts, held.parts(g)...)
		}
	}
	s.mu.Unlock()
	sources := make([]runfile.Source, len(parts))
	for i, p := range parts {
		sources[i] = sifted(p.keys(), func(keys []store.Key) ([]store.Key, error) { // without those that are forgotten
			if err := s.rlock(); err != nil {
				return nil, err
			}
			defer s.mu.RUnlock()
			return p.g.visible(keys), nil
		})
	}
	return held, runfile.Merge(sources), nil
}

// Lookup implements store.Store.
func (s *Store) Lookup(ctx context.Context, crawl string, keys []store.Key) ([]store.Entry, error) {
	crawl, err := sched.CrawlName(crawl)
	if err != nil {
		return nil, err
	}
	paths, err := s.seenIn(crawl, keys)
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, s.usable()
	}
	o := &lookupOp{crawl: crawl, keys: keys, entries: make([]store.Entry, len(keys))}
	if err := s.submit(ctx, len(keys), o.apply); err != nil {
		return nil, err
	}
	for i := range paths {
		if e := &o.entries[i]; paths[i] != "" && !e.Known() {
			*e = store.Entry{Key: keys[i], Crawl: crawl}
		}
	}
	if o.damaged.At != nil {
		return o.entries, &o.damaged
	}
	return o.entries, nil
}

// lookupOp looks keys up one by one, as many as a part may: what damage makes unreadable concerns no other.
type lookupOp struct {
	crawl   string
	keys    []store.Key
	entries []store.Entry
	done    int // keys in the parts before
	damaged store.DamagedKeys
}

func (o *lookupOp) apply(tx *txn) error {
	c := tx.s.crawls[o.crawl]
	if c == nil {
		return nil
	}
	tx.flush()
	for ; o.done < len(o.keys); o.done++ {
		if tx.left.spent() {
			return errMore
		}
		k := &o.keys[o.done]
		known, err := c.seen.has(k)
		if known && err == nil {
			var f found
			if f, err = tx.findOne(c, k); err == nil {
				o.entries[o.done] = f.entry(c, k)
			}
			tx.left.rows -= rowsOfURL
			tx.left.bytes -= len(f.rec.URL) + len(f.rec.Meta)
		}
		if err != nil && !tx.isDamage(err) {
			return err
		}
		if err != nil {
			o.damaged.At, o.damaged.Err = append(o.damaged.At, o.done), corruption(err)
		}
		tx.left.rows--
	}
	return nil
}

// QueueInfo implements store.Store.
func (s *Store) QueueInfo(ctx context.Context, crawl, queue string) (store.QueueInfo, error) {
	crawl, err := sched.CrawlName(crawl)
	if err != nil {
		return store.QueueInfo{}, err
	}
	return ask(ctx, s, func(tx *txn) (info store.QueueInfo, err error) {
		if c := s.crawls[crawl]; c != nil {
			if c.queues.AdvanceSome(sched.Now(tx.now), tx.left.rows) == 0 {
				return info, errMore
			}
			q, err := tx.oldQueue(c, queue)
			if err != nil {
				return info, err
			}
			if q != nil && q.Exists() {
				return q.Info(), nil
			}
		}
		return info, fmt.Errorf("cannot find queue %q of crawl %q: %w", queue, crawl, store.ErrNotFound)
	})
}

// listRows bounds the rows of a page, which a step returns: a caller may want no more than the first.
const listRows = 512

// errPage ends a walk whose page is full.
var errPage = errors.New("page is full")

// walk calls f for rows, until the budget is spent or f returns errPage. It returns the row to continue
// from; hi if there is no other.
func (s *Store) walk(lo, hi []byte, left *budget, f func(key, value []byte) error) (next []byte, err error) {
	next = hi
	err = s.scan(lo, hi, func(key, value []byte) error {
		if left.spent() {
			next = bytes.Clone(key)
			return errPage
		}
		left.rows--
		left.bytes -= len(key) + len(value)
		return f(key, value)
	})
	if errors.Is(err, errPage) {
		err = nil
	}
	return next, err
}

// Queues implements store.Store. A queue that comes or goes while the listing
// runs may be in it or not.
func (s *Store) Queues(ctx context.Context, crawl, after string) iter.Seq2[store.QueueInfo, error] {
	return func(yield func(store.QueueInfo, error) bool) {
		name, err := sched.CrawlOfQueue(crawl, after)
		if err != nil {
			yield(store.QueueInfo{}, err)
			return
		}
		at := &queueCursor{crawl: name, after: after}
		paged(ctx, s, at.page, yield)
	}
}

// paged yields what page returns, one step of the store a page, until a page
// is the last.
func paged[T any](ctx context.Context, s *Store, page func(tx *txn) ([]T, bool, error), yield func(T, error) bool) {
	for more := true; more; {
		list, err := ask(ctx, s, func(tx *txn) (list []T, err error) {
			list, more, err = page(tx)
			return list, err
		})
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		for _, x := range list {
			if !yield(x, nil) {
				return
			}
		}
	}
}

// queueCursor is how far a listing of queues has come.
type queueCursor struct {
	crawl string // that the caller named, or all
	in    string // the crawl it is in, when it has begun
	after string // the queue listed last
}

// page returns the next queues, and whether there may be more.
func (at *queueCursor) page(tx *txn) (list []store.QueueInfo, more bool, err error) {
	left := budget{listRows, partBytes}
	for _, c := range tx.s.selected(at.crawl, at.in) {
		if left.spent() {
			return list, true, nil
		}
		left.rows--
		if c.name != at.in {
			if at.in != "" {
				at.after = ""
			}
			at.in = c.name
		}
		if tx.left.rows = c.queues.AdvanceSome(sched.Now(tx.now), tx.left.rows); tx.left.rows == 0 {
			return list, true, nil
		}
		err := tx.queuesAfter(c, at.after, &left, func(q *queue) error {
			at.after = q.Name
			if q.Exists() {
				list = append(list, q.Info())
			}
			return nil
		})
		if err != nil {
			return nil, false, err
		}
	}
	return list, left.spent(), nil
}

// queuesAfter calls f for the queues of c after one in order of name, for all after "", until the
// budget is spent or f returns errPage. Those that are not in memory are read.
func (tx *txn) queuesAfter(c *crawl, after string, left *budget, f func(q *queue) error) error {
	lo := appendQueueRow(nil, c.num, after)
	if after != "" {
		lo = append(lo, 0)
	}
	_, err := tx.s.walk(lo, afterNumbered(tableQueue, c.num), left, func(key, value []byte) (err error) {
		q := c.queues.named(string(key[5:]))
		if q == nil {
			if q, err = tx.s.stored(c, string(key[5:]), key, value); err != nil {
				return err
			}
		}
		return f(q)
	})
	return err
}

// Entries implements store.Store. A URL that moves while the listing runs may
// be in it twice or not at all; one that doesn't is in it once.
func (s *Store) Entries(ctx context.Context, crawl, queue string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		name, err := sched.CrawlName(crawl)
		if err != nil {
			yield(store.Entry{}, err)
			return
		}
		at := &entryCursor{crawl: name, only: queue}
		paged(ctx, s, at.page, yield)
	}
}

// entryCursor is how far a listing of URLs has come.
type entryCursor struct {
	crawl string
	only  string // the queue asked for, or "" for all
	queue string // the queue it is in, or came by last
	in    bool   // it is in the queue
	part  int    // the index of one of entryTables
	from  []byte // the row to begin with; nil for the first of the table
	// leases are those of the queue that are yet to be listed, as they were when they were first
	// asked for; nil until then.
	leases []*sched.Lease
}

// entryTables are the tables with the URLs of a queue, in the order in which they are listed. Leases
// are listed from memory.
const entryTables = string(tableDone) + string(tableLease) + string(tableOrder)

// entryPage is some entries of a listing.
type entryPage struct {
	tx   *txn
	c    *crawl
	list []store.Entry
	left budget
}

// page returns the next entries, and whether there may be more.
func (at *entryCursor) page(tx *txn) ([]store.Entry, bool, error) {
	p := &entryPage{tx: tx, c: tx.s.crawls[at.crawl], left: budget{listRows, partBytes}}
	if p.c == nil {
		return nil, false, nil
	}
	for !p.left.spent() {
		q, err := at.next(p)
		if q == nil || err != nil {
			return p.list, p.left.spent(), err
		}
		if err := at.more(p, q); err != nil {
			return p.list, false, err
		}
	}
	return p.list, true, nil
}

// next returns the queue that the listing is in, or comes to; nil at its end and when nothing is left
// of the page.
func (at *entryCursor) next(p *entryPage) (q *queue, err error) {
	switch {
	case at.in:
		return p.tx.oldQueue(p.c, at.queue)
	case at.only != "" && at.queue != "":
		return nil, nil
	case at.only != "":
		at.queue = at.only
		q, err = p.tx.oldQueue(p.c, at.queue)
	default:
		err = p.tx.queuesAfter(p.c, at.queue, &p.left, func(next *queue) error {
			if at.queue = next.Name; !next.Used() {
				return nil
			}
			q = next
			return errPage
		})
	}
	at.in, at.part, at.from, at.leases = q != nil, 0, nil, nil
	return q, err
}

// more appends the next entries of a queue, up to its end or that of the page.
func (at *entryCursor) more(p *entryPage, q *queue) (err error) {
	for ; at.part < len(entryTables); at.part++ {
		if table := entryTables[at.part]; table == tableLease {
			err = at.leased(p, q)
		} else {
			err = at.rows(p, q, table)
		}
		if err != nil || at.from != nil || at.leases != nil {
			return err
		}
	}
	at.in = false
	return nil
}

// rows appends the entries of the next rows of a queue in a table.
func (at *entryCursor) rows(p *entryPage, q *queue, table byte) error {
	lo, hi := queueBounds(table, p.c.num, q.id)
	if bytes.HasPrefix(at.from, lo) { // or the queue was forgotten, and its name has another number
		lo = at.from
	}
	next, err := p.tx.s.walk(lo, hi, &p.left, func(key, value []byte) error {
		rec, state, err := sched.Record{}, store.Queued, error(nil)
		if table == tableDone {
			rec, state, err = parseDone(value)
		} else {
			rec, err = recordAt(key, value)
		}
		e := rec.Entry(&q.Queue)
		e.State = state
		p.list = append(p.list, e)
		return err
	})
	if at.from = nil; !bytes.Equal(next, hi) {
		at.from = next
	}
	return err
}

// leased appends the leases of a queue that come next, earliest end first.
func (at *entryCursor) leased(p *entryPage, q *queue) error {
	if at.leases == nil {
		at.leases = slices.DeleteFunc(q.Leases(math.MaxInt64), (*sched.Lease).Over)
		slices.SortFunc(at.leases, (*sched.Lease).Compare)
	}
	for len(at.leases) > 0 && !p.left.spent() {
		l := at.leases[0]
		at.leases = at.leases[1:]
		p.left.rows--
		if p.c.queues.Leases[l.Key] == l { // it has not ended since
			rec, err := p.tx.withTexts(l)
			if err != nil {
				return err
			}
			e := l.Entry(rec)
			p.left.bytes -= len(e.URL) + len(e.Meta)
			p.list = append(p.list, e)
		}
	}
	if len(at.leases) == 0 {
		at.leases = nil
	}
	return nil
}
