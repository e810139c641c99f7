package captures

import (
	"cmp"
	"slices"
)

// index says where in the file the captures are that the sample holds: up to 110
// bytes of memory for each.
type index struct {
	places map[uint64][]variant
	level  uint8
	rows   int
	max    int // variants of a place
}

// variant is the captures of one URL. An offset of 0, where the header is, is none.
type variant struct {
	hash          uint64
	first, latest int64 // offsets of lines
}

func newIndex(max int) *index { return &index{places: make(map[uint64][]variant), max: max} }

func (x *index) find(place, hash uint64) *variant {
	of := x.places[place]
	i := slices.IndexFunc(of, func(v variant) bool { return v.hash == hash })
	if i < 0 {
		return nil
	}
	return &of[i]
}

// full reports whether a place has no room for a variant.
func (x *index) full(place, hash uint64) bool {
	return len(x.places[place]) >= x.max && x.find(place, hash) == nil
}

// put notes where a capture is, and reports whether the sample has room for it.
func (x *index) put(place, hash uint64, offset int64) bool {
	if !kept(place, x.level) || x.full(place, hash) {
		return false
	}
	v := x.find(place, hash)
	switch {
	case v == nil:
		x.places[place] = append(x.places[place], variant{hash: hash, first: offset})
		x.rows++
	case v.latest == 0:
		v.latest = offset
		x.rows++
	default:
		v.latest = offset
	}
	return true
}

// raise drops the places that a level leaves out.
func (x *index) raise(level uint8) {
	x.level = max(x.level, level)
	for place, of := range x.places {
		if !kept(place, x.level) {
			x.rows -= rowsOf(of)
			delete(x.places, place)
		}
	}
}

func rowsOf(of []variant) (n int) {
	for _, v := range of {
		if n++; v.latest != 0 {
			n++
		}
	}
	return n
}

// entry is a variant and its place.
type entry struct {
	place uint64
	variant
}

// entries copies the index, in no order.
func (x *index) entries() []entry {
	all := make([]entry, 0, x.rows)
	for place, of := range x.places {
		for _, v := range of {
			all = append(all, entry{place, v})
		}
	}
	return all
}

// sortEntries puts the variants of a place together.
func sortEntries(all []entry) {
	slices.SortFunc(all, func(a, b entry) int { return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.first, b.first)) })
}

// replace makes the index that of the given entries.
func (x *index) replace(all []entry) {
	x.places, x.rows = make(map[uint64][]variant, len(x.places)), 0
	for _, e := range all {
		x.places[e.place] = append(x.places[e.place], e.variant)
	}
	for _, of := range x.places {
		x.rows += rowsOf(of)
	}
}
