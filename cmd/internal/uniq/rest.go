package uniq

import (
	"container/heap"
	"errors"
	"fmt"

	"github.com/firstseen/firstseen/cmd/internal/seen"
)

// restParts is how many files the lines beyond the memory go to, chosen by their sums. Each is
// then counted in the memory by itself, so they may hold restParts times as many different URLs.
const restParts = 128

// rest holds the lines whose first URLs the memory of a ledger has no room for. When the input
// has ended, each part is counted, and the results are put in order again.
type rest struct {
	dir   string
	parts [restParts]*spool
	lines uint64
}

// counted is a URL of a rest: with Output.Count the first one of its sum and how many came,
// otherwise a duplicate and its first.
type counted struct {
	number             uint64 // of the line
	n                  int64
	text, first, group []byte
}

// add keeps a line; group is printed with it if it is a duplicate.
func (r *rest) add(s seen.Sum, text []byte, group string) (err error) {
	i := s.Hi >> 32 % restParts
	if r.parts[i] == nil {
		if r.parts[i], err = newSpool(r.dir); err != nil {
			return err
		}
	}
	r.lines++
	_, err = r.parts[i].put(s, r.lines, 0, text, nil, []byte(group))
	return err
}

// all calls f, in order, with each first URL, or, with duplicates, with each other one. Sums
// take up to budget bytes.
func (r *rest) all(duplicates bool, budget int64, f func(*counted) error) (err error) {
	var q queue
	defer func() {
		for _, s := range q {
			err = errors.Join(err, s.close())
		}
	}()
	for i, part := range r.parts {
		if part == nil {
			continue
		}
		out, err := newSpool(r.dir)
		if err != nil {
			return err
		}
		q = append(q, out)
		if duplicates {
			err = part.duplicates(out, budget)
		} else {
			err = part.firsts(out, budget)
		}
		r.parts[i] = nil
		if err = errors.Join(err, part.close(), out.rewind(), out.next()); err != nil {
			return err
		}
	}
	heap.Init(&q)
	for len(q) > 0 && !q[0].ended {
		if err := f(&q[0].at); err != nil {
			return err
		}
		if err := q[0].next(); err != nil {
			return err
		}
		heap.Fix(&q, 0)
	}
	return nil
}

// close removes the files.
func (r *rest) close() (err error) {
	for _, part := range r.parts {
		err = errors.Join(err, part.close())
	}
	return err
}

// count returns where the first line of each sum is, and how many there are.
func (s *spool) count(budget int64, repeated func(first int64) error) (map[seen.Sum]entry, error) {
	entries := map[seen.Sum]entry{}
	err := s.lines(func(at int64) error {
		e, ok := entries[s.sum]
		if !ok {
			if e.at = at; int64(len(entries))*ledgerEntry > budget {
				return fmt.Errorf("--memory is too small for more than %d distinct URLs", restParts*len(entries))
			}
		}
		e.n++
		entries[s.sum] = e
		if ok {
			return repeated(e.at)
		}
		return nil
	})
	return entries, err
}

// firsts writes the first line of each sum of s to out, with how many there are.
func (s *spool) firsts(out *spool, budget int64) error {
	entries, err := s.count(budget, func(int64) error { return nil })
	if err != nil {
		return err
	}
	return s.lines(func(at int64) error {
		e := entries[s.sum]
		if e.at != at {
			return nil
		}
		_, err := out.put(s.sum, s.at.number, e.n, s.at.text, nil, nil)
		return err
	})
}

// duplicates writes the other lines of each sum of s to out, with the first.
func (s *spool) duplicates(out *spool, budget int64) error {
	var first []byte
	_, err := s.count(budget, func(at int64) (err error) {
		if first, err = s.textAt(at, first); err == nil {
			_, err = out.put(s.sum, s.at.number, 0, s.at.text, first, s.at.group)
		}
		return err
	})
	return err
}

// queue is a heap: the line that came first is on top, and spools that ended are last.
type queue []*spool

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	if q[i].ended || q[j].ended {
		return q[j].ended && !q[i].ended
	}
	return q[i].at.number < q[j].at.number
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(*spool)) }
func (q *queue) Pop() any     { panic("nothing is taken away") }
