package sched

import (
	"container/list"

	"github.com/firstseen/firstseen/store"
)

// A key is marked when its URL is dropped because the page was not found under the first offered spelling. Any other
// spelling of the key would stay a duplicate, although it may be the one that works. So the next other spelling that is offered
// is queued, once: the mark is then removed.
//
// All marks are in memory, so an Add checks them without a read. They are bounded, since a site that answers "not found" to
// everything would mark each of its keys. Beyond the bound the oldest mark is evicted, and its key is an ordinary duplicate.

// MostMarks bounds the marks of a store, about 150 bytes each.
const MostMarks = 100_000

// Mark is a key with the hash of the spelling that failed.
type Mark struct {
	Crawl    *Crawl
	Key      store.Key
	Spelling uint32
	Num      uint64 // ascending with time
	at       *list.Element
}

// marks are those of a store.
type marks struct {
	order list.List // of *Mark, by age
	last  uint64
}

// Mark marks a key, and returns the mark and those it evicted, which the backend removes: an older one of the key, and the
// store's oldest beyond the bound.
func (c *Crawl) Mark(key store.Key, spelling uint32, most int) (m *Mark, went []*Mark) {
	s := &c.sched.marks
	if old := c.Unmark(&key); old != nil {
		went = append(went, old)
	}
	m = &Mark{Crawl: c, Key: key, Spelling: spelling, Num: s.last + 1}
	c.RestoreMark(m)
	for s.order.Len() > most {
		old := s.order.Front().Value.(*Mark)
		went = append(went, old.Crawl.Unmark(&old.Key))
	}
	return m, went
}

// RestoreMark puts back a stored mark; marks come in order of number.
func (c *Crawl) RestoreMark(m *Mark) {
	s := &c.sched.marks
	if c.marks == nil {
		c.marks = map[store.Key]*Mark{}
	}
	c.marks[m.Key] = m
	m.at = s.order.PushBack(m)
	s.last = max(s.last, m.Num)
}

// Unmark removes the mark of a key, and returns it, nil if it has none.
func (c *Crawl) Unmark(key *store.Key) *Mark {
	m := c.marks[*key]
	if m != nil {
		c.sched.marks.order.Remove(m.at)
		delete(c.marks, *key)
	}
	return m
}

// UnmarkAll removes the marks of a crawl that is forgotten.
func (c *Crawl) UnmarkAll() {
	for key := range c.marks {
		c.Unmark(&key)
	}
}

// Marked returns the number of marks.
func (c *Crawl) Marked() int64 { return int64(len(c.marks)) }

// Respells reports whether an item is another spelling of a marked key.
func (c *Crawl) Respells(it *store.Item) bool {
	m := c.marks[it.Key]
	return m != nil && it.Variant && m.Spelling != store.Spelling(it.URL)
}
