package uniq

import (
	"bytes"
	"cmp"
	"slices"
)

// A sorter sorts items: as many as its memory holds become a sorted file, and the files are merged at the end. Items of the same
// order stay in that of their coming.
type sorter struct {
	dir    string
	budget int64

	held  []item
	bytes int64
	n     uint64
	files []*spool
}

// mostSorted bounds the memory of a sorter: more makes fewer files, and hardly saves time.
const mostSorted = 256 << 20

// itemBytes is what an item takes beside its texts.
const itemBytes = 200

func (s *sorter) add(it *item) error {
	c := *it
	c.number, c.text = s.n, bytes.Clone(it.text)
	c.order = "" // it is chosen
	s.n++
	s.held = append(s.held, c)
	if s.bytes += int64(len(c.text)+len(c.sorted)+len(c.shown)+len(c.file)) + itemBytes; s.bytes < s.budget {
		return nil
	}
	return s.spill()
}

func inOrder(a, b *item) int {
	return cmp.Or(cmp.Compare(a.sorted, b.sorted), cmp.Compare(a.number, b.number))
}

func (s *sorter) sort() { slices.SortFunc(s.held, func(a, b item) int { return inOrder(&a, &b) }) }

func (s *sorter) spill() error {
	s.sort()
	file, err := newSpool(s.dir)
	if err != nil {
		return err
	}
	s.files = append(s.files, file)
	for i := range s.held {
		if _, err := file.put(&s.held[i]); err != nil {
			return err
		}
	}
	clear(s.held)
	s.held, s.bytes = s.held[:0], 0
	return nil
}

// all calls f with all items in order.
func (s *sorter) all(f func(*item) error) (err error) {
	if len(s.files) == 0 {
		s.sort()
		for i := range s.held {
			if err := f(&s.held[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.spill(); err != nil {
		return err
	}
	s.held = nil
	q := queue{spools: s.files, less: func(a, b *item) bool { return inOrder(a, b) < 0 }}
	return q.merge(f)
}

// close removes the files.
func (s *sorter) close() error {
	if s == nil {
		return nil
	}
	q := queue{spools: s.files}
	return q.close()
}
