package pebblestore

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// First-seen URLs are looked up after the commit, by the calling goroutine. The committer
// continues in the meantime, and may move the URLs. A URL that is held all the time is
// found nevertheless: one that leaves its row goes to the leases, and one that leaves
// these goes to the cache of texts or is no longer held. The search goes through leases and rows,
// then through leases and the cache. So it misses only a text that the cache does not take
// (of more than maxText bytes, for example) of a URL that moved twice. At the end both are
// read between two steps: within one that queues a URL again, it may be in neither. The
// rows are those of one moment between two steps.

// sought is a duplicate whose first-seen URL is looked for.
type sought struct {
	item    uint32
	key     store.Key
	version uint64 // of the cache, before anything was read
	ptr     pointer
	text    string
	state   store.State // SeenOnly: its text is not kept, or not found yet
	cut     bool        // a lease had the text in its row only
}

// tellFirst sets the first-seen URLs of the duplicates of o whose texts are kept.
func (s *Store) tellFirst(ctx context.Context, o *addOp) error {
	list, err := s.findFirst(o)
	if err == nil {
		err = s.fromCommitter(ctx, o.c, list)
	}
	switch {
	case err != nil && ended(ctx, err):
		return nil // the items were added
	case err != nil:
		return corruption(err)
	}
	for i := range list {
		l := &list[i]
		o.verdicts[l.item].First = l.text
		s.texts.learn(o.c.num, &l.key, l.text, l.version)
	}
	return nil
}

// findFirst sets the first-seen URLs that the cache has, and finds the others, but for those that
// only the row of a lease has.
func (s *Store) findFirst(o *addOp) ([]sought, error) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.usable() != nil {
		return nil, nil
	}
	list := s.fromCache(o, nil)
	if len(list) == 0 {
		return nil, nil
	}
	return list, s.findTexts(o.c, list)
}

// findTexts finds the texts that are not in the cache.
func (s *Store) findTexts(c *crawl, list []sought) error {
	if err := s.rlock(); err != nil {
		return err
	}
	c.locate(s, list)
	rows := s.db.NewSnapshot()
	s.mu.RUnlock()
	placed, err := findQueued(rows, c.num, list)
	if err == nil {
		err = findEnded(rows, c.num, placed)
	}
	if err := errors.Join(err, rows.Close()); err != nil {
		return err
	}
	return s.fromMemory(c, list)
}

// fromMemory finds the texts of URLs that moved while rows were read.
func (s *Store) fromMemory(c *crawl, list []sought) error {
	if err := s.rlock(); err != nil {
		return err
	}
	defer s.mu.RUnlock()
	for i := range list {
		l := &list[i]
		if l.state != store.SeenOnly || c.leased(l) {
			continue
		}
		if l.text, _, _ = s.texts.get(c.num, &l.key, ""); l.text != "" {
			l.state = store.Queued
		}
	}
	return nil
}

// fromCache sets the first-seen URLs that the cache has, and appends the others to list.
func (s *Store) fromCache(o *addOp, list []sought) []sought {
	for _, i := range o.order {
		if o.verdicts[i].Status != store.Duplicate || o.told != nil && o.told[i] {
			continue
		}
		it := &o.items[i]
		text, known, version := s.texts.get(o.c.num, &it.Key, it.URL)
		if known {
			o.verdicts[i].First = text
			continue
		}
		list = append(list, sought{item: i, key: it.Key, version: version})
	}
	return list
}

// locate sets what the leases and places in memory have of URLs. The caller holds s.mu.
func (c *crawl) locate(s *Store, list []sought) {
	for i := range list {
		if l := &list[i]; !c.leased(l) {
			if e := s.sched.places.get(placeKey{c.num, l.key}); e != nil {
				l.ptr = e.pointer()
			}
		}
	}
}

// leased sets the text of a URL that is leased, and reports whether it is.
func (c *crawl) leased(l *sought) bool {
	lease := c.queues.Leases[l.key]
	if lease == nil || lease.Queue.Retired() {
		return false
	}
	l.text, l.state, l.cut = lease.URL, store.Leased, lease.Cut && lease.URL == ""
	return true
}

// findQueued finds the texts of queued URLs after locate, and returns those that were queued once and are
// not held. It looks into each table in the order of its rows.
func findQueued(rows pebble.Reader, crawl uint32, list []sought) (ended []*sought, err error) {
	missing := make([]*sought, 0, len(list))
	for i := range list {
		if l := &list[i]; l.state == store.SeenOnly && l.ptr.queue == 0 {
			missing = append(missing, l)
		}
	}
	err = inTable(rows, tablePlace, crawl, missing, func(r rowGetter, l *sought) (err error) {
		l.ptr, err = readPlace(r, crawl, &l.key)
		return err
	})
	if err != nil {
		return nil, err
	}
	placed := missing[:0]
	for i := range list {
		if l := &list[i]; l.ptr.queue != 0 {
			placed = append(placed, l)
		}
	}
	slices.SortFunc(placed, func(a, b *sought) int { return a.ptr.compare(&b.ptr) })
	err = inTable(rows, tableOrder, crawl, placed, func(r rowGetter, l *sought) error {
		rec, queued, err := queuedAt(r, crawl, &l.key, &l.ptr)
		if queued {
			l.text, l.state = rec.URL, store.Queued
		}
		return err
	})
	return slices.DeleteFunc(placed, func(l *sought) bool { return l.state == store.Queued }), err
}

// findEnded finds the texts of what findQueued returned.
func findEnded(rows pebble.Reader, crawl uint32, list []*sought) error {
	return inTable(rows, tableDone, crawl, list, func(r rowGetter, l *sought) (err error) {
		var rec sched.Record
		rec, l.state, err = endedAt(r, crawl, &l.key, l.ptr.queue)
		l.text = rec.URL
		return err
	})
}

// manyRows is how many reads of single rows, in order, are worth an iterator.
const manyRows = 16

// inTable calls read for each of a list with a reader of a crawl's rows in a table.
func inTable(rows pebble.Reader, table byte, crawl uint32, list []*sought, read func(rowGetter, *sought) error) (err error) {
	var r rowGetter = rows
	if len(list) >= manyRows {
		it, err := rows.NewIter(bounds(appendNumbered(nil, table, crawl), afterNumbered(table, crawl)))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, it.Close()) }()
		r = rowSeeker{it}
	}
	for _, l := range list {
		if err := read(r, l); err != nil {
			return err
		}
	}
	return nil
}

// rowSeeker reads rows with an iterator, which finds the next row sooner from where the last one was.
type rowSeeker struct{ it *pebble.Iterator }

// Get returns the value of a row, good until the next call.
func (r rowSeeker) Get(key []byte) ([]byte, io.Closer, error) {
	if r.it.SeekPrefixGE(key) {
		value, err := r.it.ValueAndErr()
		return value, io.NopCloser(nil), err
	}
	if err := r.it.Error(); err != nil {
		return nil, nil, err
	}
	return nil, nil, pebble.ErrNotFound
}
