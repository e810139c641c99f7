package uniq

import (
	"container/heap"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/logs"
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

// add keeps a line.
func (r *rest) add(it *item) (err error) {
	i := it.sum.Hi >> 32 % restParts
	if r.parts[i] == nil {
		if r.parts[i], err = newSpool(r.dir); err != nil {
			return err
		}
	}
	r.lines++
	it.number = r.lines
	_, err = r.parts[i].put(it)
	return err
}

// each has count put out what it makes of each part, one after another, and calls f with all of that, in order.
func (r *rest) each(f func(*item) error, count func(part, out *spool) error) (err error) {
	q := queue{less: func(a, b *item) bool { return a.number < b.number }}
	defer func() { err = errors.Join(err, q.close()) }()
	for i, part := range r.parts {
		if part == nil {
			continue
		}
		out, err := newSpool(r.dir)
		if err != nil {
			return err
		}
		q.spools = append(q.spools, out)
		err = count(part, out)
		r.parts[i] = nil
		if err = errors.Join(err, part.close()); err != nil {
			return err
		}
	}
	return q.merge(f)
}

// firsts calls f with the first line of each sum, and how many there are. Sums take up to budget bytes, here and below.
func (r *rest) firsts(budget int64, f func(*item) error) error {
	return r.each(f, func(part, out *spool) error {
		entries, err := part.count(budget, func(int64) error { return nil })
		if err != nil {
			return err
		}
		return part.keep(out, func(s Sum) entry { return entries[s] })
	})
}

// duplicates calls f with the other lines of each sum, with the first.
func (r *rest) duplicates(budget int64, f func(*item) error) error {
	return r.each(f, func(part, out *spool) error {
		_, err := part.count(budget, func(first int64) (err error) {
			if part.at.first, err = part.textAt(first); err == nil {
				_, err = out.put(&part.at)
			}
			return err
		})
		return err
	})
}

// chosen calls f with the line of each sum that comes first or last by its order, as times or else as numbers, and how many there are.
// A line that has no order comes neither first nor last. Of equal lines the first or last to come is chosen.
func (r *rest) chosen(last, times bool, budget int64, f func(*item) error) error {
	type best struct {
		entry
		by order
	}
	return r.each(f, func(part, out *spool) error {
		entries := map[Sum]best{}
		err := part.each(func() error {
			by := orderOf(part.at.order)
			none := !by.is(times)
			e, ok := entries[part.at.sum]
			if !ok && int64(len(entries))*2*ledgerEntry > budget && budget > 0 {
				return tooMany(len(entries))
			}
			if !ok || !none && (!e.by.is(times) || last != by.less(e.by, times)) || last && none && !e.by.is(times) {
				e.at, e.by = part.place, by
			}
			e.n++
			entries[part.at.sum] = e
			return nil
		})
		if err != nil {
			return err
		}
		return part.keep(out, func(s Sum) entry { return entries[s].entry })
	})
}

// close removes the files.
func (r *rest) close() (err error) {
	if r == nil {
		return nil
	}
	for _, part := range r.parts {
		err = errors.Join(err, part.close())
	}
	return err
}

func tooMany(entries int) error {
	return fmt.Errorf("--memory is too small for more than %d distinct URLs", restParts*entries)
}

// count returns where the first line of each sum is, and how many there are.
func (s *spool) count(budget int64, repeated func(first int64) error) (map[Sum]entry, error) {
	entries := map[Sum]entry{}
	err := s.each(func() error {
		e, ok := entries[s.at.sum]
		if !ok {
			if e.at = s.place; int64(len(entries))*ledgerEntry > budget {
				return tooMany(len(entries))
			}
		}
		e.n++
		entries[s.at.sum] = e
		if ok {
			return repeated(e.at)
		}
		return nil
	})
	return entries, err
}

// keep writes the line that stands for each sum to out, with how many there are.
func (s *spool) keep(out *spool, of func(Sum) entry) error {
	return s.each(func() error {
		e := of(s.at.sum)
		if e.at != s.place {
			return nil
		}
		s.at.n = e.n
		_, err := out.put(&s.at)
		return err
	})
}

// An order is what a field is compared by. Many a text is both a number and a time, such as 20260301000000 or the seconds since 1970: which
// one is meant, the other values of the field decide, see [ordered].
type order struct {
	isNumber bool
	number   float64
	time     time.Time // zero if it is none
}

func orderOf(field string) order {
	n, err := strconv.ParseFloat(field, 64)
	return order{err == nil && n == n, n, logs.ParseTime(field)}
}

// is reports whether there is a time to compare, or else a number.
func (o order) is(times bool) bool {
	if times {
		return !o.time.IsZero()
	}
	return o.isNumber
}

func (o order) less(than order, times bool) bool {
	if times {
		return o.time.Before(than.time)
	}
	return o.number < than.number
}

// ordered counts the values of the field by which lines are chosen, by what they can be compared as.
type ordered struct{ both, numbers, times, neither int64 }

func (o *ordered) add(field string) {
	switch by := orderOf(field); {
	case by.is(false) && by.is(true):
		o.both++
	case by.is(false):
		o.numbers++
	case by.is(true):
		o.times++
	default:
		o.neither++
	}
}

// areTimes reports whether the values are compared as times: more of them can only be times than can only be numbers.
func (o *ordered) areTimes() bool { return o.times > o.numbers }

// without counts the values that cannot be compared with the others.
func (o *ordered) without() int64 { return o.neither + min(o.numbers, o.times) }

// queue is a heap of spools: the line that comes first is on top, and spools that ended are last.
type queue struct {
	spools []*spool
	less   func(a, b *item) bool
}

// merge calls f with all lines in order.
func (q *queue) merge(f func(*item) error) error {
	for _, s := range q.spools {
		if err := errors.Join(s.rewind(), s.next()); err != nil {
			return err
		}
	}
	heap.Init(q)
	for len(q.spools) > 0 && !q.spools[0].ended {
		if err := f(&q.spools[0].at); err != nil {
			return err
		}
		if err := q.spools[0].next(); err != nil {
			return err
		}
		heap.Fix(q, 0)
	}
	return nil
}

func (q *queue) close() (err error) {
	for _, s := range q.spools {
		err = errors.Join(err, s.close())
	}
	q.spools = nil
	return err
}

func (q *queue) Len() int { return len(q.spools) }
func (q *queue) Less(i, j int) bool {
	a, b := q.spools[i], q.spools[j]
	if a.ended || b.ended {
		return b.ended && !a.ended
	}
	return q.less(&a.at, &b.at)
}
func (q *queue) Swap(i, j int) { q.spools[i], q.spools[j] = q.spools[j], q.spools[i] }
func (q *queue) Push(x any)    { q.spools = append(q.spools, x.(*spool)) }
func (q *queue) Pop() any      { panic("nothing is taken away") }
