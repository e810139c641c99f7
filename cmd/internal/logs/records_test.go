package logs

import (
	"iter"
)

// records returns the records and refusals of a file one by one, and keeps the counts up to date. It checks that
// every unit is accounted for.
func records(f *File, opt Options, counts *Counts) iter.Seq2[Record, error] {
	if counts == nil {
		counts = new(Counts)
	}
	return func(yield func(Record, error) bool) {
		for b, err := range Read(f, opt) {
			if err != nil {
				yield(Record{}, err)
				return
			}
			all := b.All()
			at := 0
			for r := range all {
				for ; at < len(b.Refusals) && b.Refusals[at].Line < r.Line; at++ {
					if !yield(Record{}, b.Refusals[at]) {
						return
					}
				}
				if !yield(r, nil) {
					return
				}
			}
			for _, refusal := range b.Refusals[at:] {
				if !yield(Record{}, refusal) {
					return
				}
			}
			counts.Add(&b.Counts)
			b.Release()
		}
	}
}

// sum is what must be the number of units.
func (c *Counts) sum() int64 { return c.Read + c.Blank + c.Headers + c.Comments + c.Refused + c.Other }
