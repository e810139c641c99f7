package pebblestore

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
)

// First-seen URLs are looked up after the commit, by the calling goroutine: the committer
// continues in the meantime. URLs that the cache of texts does not have are found as they were at
// one moment between two groups, when memory is not ahead of the rows: leases and rows of places in
// memory, and a snapshot of the rows.

// tellFirst sets the first-seen URLs of the duplicates of o whose texts are kept: those that the cache
// has, and then the others. It sets none if the store is not usable any more: the items were added.
func (s *Store) tellFirst(o *addOp) error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.usable() != nil {
		return nil
	}
	list := s.fromCache(o)
	if len(list) == 0 {
		return nil
	}
	rows := s.moment(o.c, list)
	if rows == nil {
		return nil
	}
	placed, err := findQueued(rows, o.c.num, list)
	if err == nil {
		err = findEnded(rows, o.c.num, placed)
	}
	for i := range list {
		if l := &list[i]; l.rec.Cut && l.rec.URL == "" && err == nil {
			err = readTexts(rows, l.token, &l.rec)
		}
	}
	if err = errors.Join(err, rows.Close()); err != nil {
		return corruption(err)
	}
	for i := range list {
		l := &list[i]
		o.verdicts[l.item].First = l.rec.URL
		s.texts.learn(o.c.num, &l.key, l.rec.URL, l.version)
	}
	return nil
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

// fromCache sets the first-seen URLs that the cache has, and returns the others.
func (s *Store) fromCache(o *addOp) (list []sought) {
	for _, i := range o.order {
		it := &o.items[i]
		if o.verdicts[i].Status != store.Duplicate || o.told[int(i)] {
			continue
		}
		text, known, version := s.texts.get(o.c.num, &it.Key, it.URL)
		if known {
			o.verdicts[i].First = text
			continue
		}
		list = append(list, sought{item: i, key: it.Key, version: version})
	}
	return list
}
