package uts46

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
