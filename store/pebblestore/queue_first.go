package pebblestore

import (
	"errors"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// First-seen URLs are looked up after the commit, by the calling goroutine: the committer
// continues in the meantime. URLs that the cache of texts does not have are found as they were at
// one moment between two groups, when memory is not ahead of the rows: leases and places in
// memory, and a snapshot of the rows.

// sought is a URL that is looked for.
type sought struct {
	item    uint32
	key     store.Key
	version uint64 // of the cache, before anything was read
	token   uint64 // of a lease that has the text in its row only, otherwise 0
	ptr     pointer
	text    string
	state   store.State // SeenOnly: its text is not kept, or not found yet
}

// tellFirst sets the first-seen URLs of the duplicates of o whose texts are kept.
func (s *Store) tellFirst(o *addOp) error {
	list, err := s.findFirst(o)
	if err != nil {
		return corruption(err)
	}
	for i := range list {
		l := &list[i]
		o.verdicts[l.item].First = l.text
		s.texts.learn(o.c.num, &l.key, l.text, l.version)
	}
	return nil
}

// findFirst sets the first-seen URLs that the cache has, and finds the others. It finds none if the
// store is not usable any more: the items were added.
func (s *Store) findFirst(o *addOp) (list []sought, err error) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.usable() != nil {
		return nil, nil
	}
	if list = s.fromCache(o, nil); len(list) == 0 {
		return nil, nil
	}
	rows := s.moment(o.c, list)
	if rows == nil {
		return nil, nil
	}
	placed, err := findQueued(rows, o.c.num, list)
	if err == nil {
		err = findEnded(rows, o.c.num, placed)
	}
	for i := range list {
		if l := &list[i]; l.token > 0 && err == nil {
			rec := sched.Record{Key: l.key}
			err = readTexts(rows, l.token, &rec)
			l.text = rec.URL
		}
	}
	return list, errors.Join(err, rows.Close())
}

// moment locates URLs, and returns the rows of the same moment between two groups; nil if the
// store is not usable.
func (s *Store) moment(c *crawl, list []sought) *pebble.Snapshot {
	s.between.RLock()
	defer s.between.RUnlock()
	if s.rlock() != nil {
		return nil
	}
	defer s.mu.RUnlock()
	c.locate(s, list)
	return s.db.NewSnapshot()
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
		l := &list[i]
		if lease := c.queues.Leases[l.key]; lease != nil && !lease.Queue.Retired() {
			l.text, l.state = lease.URL, store.Leased
			if lease.Cut && lease.URL == "" {
				l.token = lease.Token
			}
		} else if e := s.sched.places.get(placeKey{c.num, l.key}); e != nil {
			l.ptr = e.pointer()
		}
	}
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
