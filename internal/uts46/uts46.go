// Package uts46 maps non-ASCII domain names to ASCII by UTS #46 (Unicode IDNA Compatibility Processing), with
// the options of the URL Standard: non-transitional, with bidi and joiner checks. It does not
// check hyphens, DNS lengths or the ASCII letters of host names, and it refuses invalid Punycode.
//
// The data are those of [UnicodeVersion]. They are part of this package, not of the Go release. So the key of
// a host does not depend on the compiler.
package uts46

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// ace begins a label that encodes another one in ASCII (RFC 3490).
const ace = "xn--"

// ToASCII returns domain in ASCII. The domain must be valid UTF-8. The result can hold any
// ASCII character that is not an upper-case letter, and may be empty.
//
// It takes time quadratic in the length of a label, as Punycode does.
func ToASCII(domain string) (string, error) {
	mapped, err := mapAll(domain)
	if err != nil {
		return "", err
	}
	labels := strings.Split(string(composeNFC(mapped)), ".")
	unicode := make([][]rune, len(labels))
	rightToLeft := false
	for i, label := range labels {
		if unicode[i], err = toUnicode(label); err != nil {
			return "", err
		}
		rightToLeft = rightToLeft || hasRightToLeft(unicode[i])
	}
	for i, label := range unicode {
		if rightToLeft && !keepsBidiRule(label) {
			return "", fmt.Errorf("label %q breaks the Bidi rule of RFC 5893", labels[i])
		}
		if !isASCII(label) {
			labels[i] = ace + string(AppendPunycode(nil, label))
		}
	}
	return strings.Join(labels, "."), nil
}

// mapAll is step 1 of the processing (UTS #46, section 4).
func mapAll(domain string) ([]rune, error) {
	out := make([]rune, 0, len(domain))
	for _, r := range domain {
		switch v := value(r); {
		case v == disallowed:
			return nil, fmt.Errorf("character %U is not allowed", r)
		case v == ignored:
		case v >= firstMapped:
			out = append(out, []rune(mapping(v))...)
		default:
			out = append(out, r)
		}
	}
	return out, nil
}

// toUnicode decodes a label if it is encoded, and checks it (UTS #46, sections 4 and 4.1).
func toUnicode(label string) ([]rune, error) {
	encoded, isEncoded := strings.CutPrefix(label, ace)
	if !isEncoded {
		return []rune(label), valid(label, []rune(label))
	}
	decoded, ok := decodePunycode(encoded)
	switch {
	case !ok:
		return nil, fmt.Errorf("label %q is no Punycode", label)
	case isASCII(decoded): // empty, too
		return nil, fmt.Errorf("label %q encodes ASCII", label)
	case strings.HasPrefix(string(decoded), ace):
		return nil, fmt.Errorf("label %q encodes an encoded label", label)
	case string(composeNFC(append([]rune(nil), decoded...))) != string(decoded):
		return nil, fmt.Errorf("label %q encodes text that is not in form NFC", label)
	}
	return decoded, valid(label, decoded)
}

// valid checks the criteria of UTS #46, section 4.1, but for the form NFC and the Bidi rule.
func valid(label string, text []rune) error {
	for i, r := range text {
		v := value(r)
		switch {
		case v < firstValid || v >= firstMapped || r == '.':
			return fmt.Errorf("label %q has %U, which is not allowed in it", label, r)
		case i == 0 && propOf(r).isMark():
			return fmt.Errorf("label %q begins with the combining mark %U", label, r)
		case (r == zeroWidthNonJoiner || r == zeroWidthJoiner) && !joins(text, i):
			return fmt.Errorf("label %q has the joiner %U where none may be", label, r)
		}
	}
	return nil
}

const (
	zeroWidthNonJoiner = 0x200c
	zeroWidthJoiner    = 0x200d
)

// joins reports whether the joiner at i stands where RFC 5892, appendices A.1 and A.2,
// allows it.
func joins(text []rune, i int) bool {
	if i == 0 {
		return false
	}
	if propOf(text[i-1]).isVirama() {
		return true
	}
	if text[i] == zeroWidthJoiner {
		return false
	}
	before := i - 1
	for before >= 0 && propOf(text[before]).joining() == transparent {
		before--
	}
	after := i + 1
	for after < len(text) && propOf(text[after]).joining() == transparent {
		after++
	}
	if before < 0 || after == len(text) {
		return false
	}
	left, right := propOf(text[before]).joining(), propOf(text[after]).joining()
	return (left == leftJoining || left == dualJoining) && (right == rightJoining || right == dualJoining)
}

func isASCII(text []rune) bool {
	for _, r := range text {
		if r >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// classes is a set of bidi classes.
type classes uint16

func setOf(all ...bidiClass) (s classes) {
	for _, c := range all {
		s |= 1 << c
	}
	return s
}

func (s classes) has(c bidiClass) bool { return s>>c&1 != 0 }

var (
	inRightToLeft   = setOf(bidiR, bidiAL, bidiAN, bidiEN, bidiES, bidiCS, bidiET, bidiON, bidiBN, bidiNSM)
	endsRightToLeft = setOf(bidiR, bidiAL, bidiEN, bidiAN)
	inLeftToRight   = setOf(bidiL, bidiEN, bidiES, bidiCS, bidiET, bidiON, bidiBN, bidiNSM)
	endsLeftToRight = setOf(bidiL, bidiEN)
	rightToLeft     = setOf(bidiR, bidiAL, bidiAN)
)

// hasRightToLeft reports whether a label makes its domain a Bidi domain name (RFC 5893, 1.4).
func hasRightToLeft(label []rune) bool {
	for _, r := range label {
		if rightToLeft.has(propOf(r).bidi()) {
			return true
		}
	}
	return false
}

// keepsBidiRule reports whether a label of a Bidi domain name keeps the rule of RFC 5893,
// section 2. An empty one does.
func keepsBidiRule(label []rune) bool {
	if len(label) == 0 {
		return true
	}
	allowed, ends := inLeftToRight, endsLeftToRight // conditions 5 and 6
	switch propOf(label[0]).bidi() {
	case bidiL:
	case bidiR, bidiAL:
		allowed, ends = inRightToLeft, endsRightToLeft // 2 and 3
	default:
		return false // 1
	}
	var seen classes
	var last bidiClass
	for _, r := range label {
		c := propOf(r).bidi()
		seen |= setOf(c)
		if c != bidiNSM {
			last = c
		}
	}
	return seen&^allowed == 0 && ends.has(last) && !(seen.has(bidiEN) && seen.has(bidiAN)) // 4
}

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
