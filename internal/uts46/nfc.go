package uts46

import (
	"cmp"
	"slices"
	"sync"
)

// composition is a pair of code points and the one that is canonically equal to both.
type composition struct{ first, second, composite uint32 }

// decompositions are the compositions in order of the composite.
var decompositions = sync.OnceValue(func() []composition {
	all := slices.Clone(compositions[:])
	slices.SortFunc(all, func(a, b composition) int { return cmp.Compare(a.composite, b.composite) })
	return all
})

// composeNFC returns text in Normalization Form C (UAX #15), and may change it. It knows
// the code points that are valid in a domain: the others that decompose are mapped before.
func composeNFC(text []rune) []rune {
	if !slices.ContainsFunc(text, func(r rune) bool { return propOf(r).moves() }) {
		return text // every code point that is valid by itself is in this form
	}
	apart := make([]rune, 0, len(text)+len(text)/2)
	for _, r := range text {
		apart = appendDecomposed(apart, r)
	}
	orderMarks(apart)
	return compose(apart)
}

// The Hangul syllables, which compose by arithmetic (Unicode Standard, 3.12).
const (
	hangulS, hangulL, hangulV, hangulT = 0xac00, 0x1100, 0x1161, 0x11a7
	hangulLs, hangulVs, hangulTs       = 19, 21, 28
	hangulSyllables                    = hangulLs * hangulVs * hangulTs
)

func appendDecomposed(dst []rune, r rune) []rune {
	if s := r - hangulS; 0 <= s && s < hangulSyllables {
		dst = append(dst, hangulL+s/(hangulVs*hangulTs), hangulV+s/hangulTs%hangulVs)
		if t := s % hangulTs; t > 0 {
			dst = append(dst, hangulT+t)
		}
		return dst
	}
	all := decompositions()
	i, found := slices.BinarySearchFunc(all, uint32(r), func(c composition, r uint32) int { return cmp.Compare(c.composite, r) })
	if !found {
		return append(dst, r)
	}
	return append(appendDecomposed(dst, rune(all[i].first)), rune(all[i].second))
}

// orderMarks sorts each run of marks by combining class.
func orderMarks(text []rune) {
	for from := 0; from < len(text); from++ {
		to := from
		for to < len(text) && propOf(text[to]).combiningClass() > 0 {
			to++
		}
		slices.SortStableFunc(text[from:to], func(a, b rune) int {
			return cmp.Compare(propOf(a).combiningClass(), propOf(b).combiningClass())
		})
		from = to
	}
}

// compose joins each starter with the marks after it that it composes with, in place.
func compose(text []rune) []rune {
	out := text[:0]
	starter, last := -1, uint8(0) // last is the combining class of the last character kept since the starter
	for _, r := range text {
		class := propOf(r).combiningClass()
		if starter >= 0 && (last < class || last == 0 && starter == len(out)-1) {
			if c, ok := composite(out[starter], r); ok {
				out[starter] = c
				continue
			}
		}
		if class == 0 {
			starter = len(out)
		}
		last = class
		out = append(out, r)
	}
	return out
}

func composite(a, b rune) (rune, bool) {
	if l, v := a-hangulL, b-hangulV; 0 <= l && l < hangulLs && 0 <= v && v < hangulVs {
		return hangulS + (l*hangulVs+v)*hangulTs, true
	}
	if s, t := a-hangulS, b-hangulT; 0 <= s && s < hangulSyllables && s%hangulTs == 0 && 0 < t && t < hangulTs {
		return a + t, true
	}
	i, found := slices.BinarySearchFunc(compositions[:], [2]uint32{uint32(a), uint32(b)}, func(c composition, pair [2]uint32) int {
		return cmp.Or(cmp.Compare(c.first, pair[0]), cmp.Compare(c.second, pair[1]))
	})
	if !found {
		return 0, false
	}
	return rune(compositions[i].composite), true
}
