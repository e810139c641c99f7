package uniq

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/firstseen/firstseen/store"
)

// An item is a URL on its way to the output, perhaps through temporary files.
type item struct {
	text        []byte
	shown       string // its group
	sorted      string // what it is sorted by
	file        string // where it was found
	row, offset int64
	key         store.Key
	unicode     bool
}

// append appends all but the text.
func (it *item) append(dst []byte) []byte {
	for _, s := range []string{it.shown, it.sorted, it.file} {
		dst = append(binary.AppendUvarint(dst, uint64(len(s))), s...)
	}
	dst = binary.AppendVarint(binary.AppendVarint(dst, it.row), it.offset)
	dst = append(dst, it.key[:]...)
	if it.unicode {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// read reads what append wrote.
func (it *item) read(text, b []byte) {
	it.text = text
	for _, s := range []*string{&it.shown, &it.sorted, &it.file} {
		n, used := binary.Uvarint(b)
		*s, b = string(b[used:used+int(n)]), b[used+int(n):]
	}
	for _, v := range []*int64{&it.row, &it.offset} {
		n, used := binary.Varint(b)
		*v, b = n, b[used:]
	}
	copy(it.key[:], b)
	it.unicode = b[len(it.key)] == 1
}

// A sorter sorts items: as many as its memory holds become a sorted file, and the files are merged at the end. Items of the same
// order stay in that of their coming.
type sorter struct {
	dir    string
	budget int64

	held   []counted // group is what item.append appends, first what is compared
	bytes  int64
	number uint64
	files  []*spool
}

// mostSorted bounds the memory of a sorter: more makes fewer files, and hardly saves time.
const mostSorted = 256 << 20

func (s *sorter) add(it *item) error {
	c := counted{number: s.number, text: bytes.Clone(it.text), first: []byte(it.sorted)}
	c.group = it.append(nil)
	s.number++
	s.held = append(s.held, c)
	if s.bytes += int64(len(c.text)+len(c.first)+len(c.group)) + 160; s.bytes < s.budget {
		return nil
	}
	return s.spill()
}

func inOrder(a, b *counted) int {
	return cmp.Or(bytes.Compare(a.first, b.first), cmp.Compare(a.number, b.number))
}

func (s *sorter) spill() error {
	slices.SortFunc(s.held, func(a, b counted) int { return inOrder(&a, &b) })
	file, err := newSpool(s.dir)
	if err != nil {
		return err
	}
	s.files = append(s.files, file)
	for i := range s.held {
		c := &s.held[i]
		if _, err := file.put(Sum{}, c.number, 0, c.text, c.first, c.group); err != nil {
			return err
		}
	}
	clear(s.held)
	s.held, s.bytes = s.held[:0], 0
	return nil
}

// all calls f with all items in order.
func (s *sorter) all(f func(*counted) error) (err error) {
	if len(s.files) == 0 {
		slices.SortFunc(s.held, func(a, b counted) int { return inOrder(&a, &b) })
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
	q := queue{spools: s.files, less: func(a, b *counted) bool { return inOrder(a, b) < 0 }}
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
