package uts46

//go:generate sh -c "python3 make_tables.py | gofmt >tables.go"

// value returns what the tables say of a code point.
func value(r rune) uint16 {
	block := r >> 8
	low, high := int(blockRuns[block]), int(blockRuns[block+1])
	for low < high { // the last run that begins at r or before it
		if middle := (low + high + 1) / 2; runStarts[middle] <= uint32(r) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return runValues[low]
}

// mapping returns the text that a code point with a mapped value becomes.
func mapping(v uint16) string {
	i, from := v-firstMapped, uint16(0)
	if i > 0 {
		from = mappingEnds[i-1]
	}
	return mappings[from:mappingEnds[i]]
}

// prop holds the properties of a valid code point: the bidi class in bits 0 to 3, the
// joining type in bits 4 to 6, whether it is a mark in bit 7, the combining class in bits 8
// to 15, and in bit 16 whether it can compose with a code point before it, or change places.
type prop uint32

// propOf returns the properties of a valid code point.
func propOf(r rune) prop {
	if v := value(r); v >= firstValid && v < firstMapped {
		return props[v-firstValid]
	}
	return prop(bidiOther)
}

func (p prop) bidi() bidiClass       { return bidiClass(p & 15) }
func (p prop) joining() joiningType  { return joiningType(p >> 4 & 7) }
func (p prop) isMark() bool          { return p>>7&1 != 0 }
func (p prop) combiningClass() uint8 { return uint8(p >> 8) }
func (p prop) moves() bool           { return p>>16&1 != 0 }
func (p prop) isVirama() bool        { return p.combiningClass() == 9 }

type bidiClass uint8

// The bidi classes, in the order of make_tables.py.
const (
	bidiL bidiClass = iota
	bidiR
	bidiAL
	bidiEN
	bidiES
	bidiET
	bidiAN
	bidiCS
	bidiNSM
	bidiBN
	bidiON
	bidiOther
)

type joiningType uint8

// The joining types, in the order of make_tables.py.
const (
	nonJoining joiningType = iota
	dualJoining
	leftJoining
	rightJoining
	transparent
)
