package canon

import "encoding/binary"

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// scanPath runs to the "?", "#" or end of a path. ok reports whether it is canonical;
// end is -1 if it has bytes only the slow path knows.
//
// It goes eight bytes at a time. In slashThenDot w^(x in every byte) has a
// zero for each byte x, and (v-ones)&^v&highs marks zero bytes; it can mark too many,
// never too few, and where there is a mark the bytes are looked at one by one.
func scanPath(s []byte, i int) (end int, ok bool) {
	n := len(s)
	if i == n || s[i] != '/' {
		return i, false // empty
	}
	start := i
	for {
		for i+9 <= n {
			b := s[i : i+9 : i+9]
			if !allOf(b, inPath) || slashThenDot(binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[1:])) {
				break
			}
			i += 8
		}
		if tail := n - 9; i > tail && tail >= start && plainTail(s[tail:]) {
			return n, true // the last bytes, some of them once more
		}
		if i, end, ok = scanPathBytes(s, i, min(i+8, n)); end != more {
			return end, ok
		}
	}
}

// plainTail looks at nine bytes as scanPath's loop does, and at the class of the last.
func plainTail(b []byte) bool {
	return allOf(b, inPath) && classes[b[8]]&inPath != 0 &&
		!slashThenDot(binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[1:]))
}

// slashThenDot reports whether one of the eight bytes of w is a slash, and that of next in
// the same place a slash or a dot.
func slashThenDot(w, next uint64) bool {
	slash := w ^ ones*'/'
	next = (next ^ ones*'.') &^ ones // zero for a dot, 0x2e, and a slash, 0x2f
	return (slash-ones)&^slash&(next-ones)&^next&highs != 0
}

// allOf reports whether the first eight bytes of b are in the class.
func allOf(b []byte, class uint8) bool {
	_ = b[7]
	return classes[b[0]]&classes[b[1]]&classes[b[2]]&classes[b[3]]&
		classes[b[4]]&classes[b[5]]&classes[b[6]]&classes[b[7]]&class != 0
}

// noneOf reports whether none of the first eight bytes of b is in the class.
func noneOf(b []byte, class uint8) bool {
	_ = b[7]
	return (classes[b[0]]|classes[b[1]]|classes[b[2]]|classes[b[3]]|
		classes[b[4]]|classes[b[5]]|classes[b[6]]|classes[b[7]])&class == 0
}

// more, as an end, means that the part continues.
const more = -2

// scanPathBytes looks at the bytes from i to stop one by one. It returns the next offset
// and end = more, or else the end as scanPath does.
func scanPathBytes(s []byte, i, stop int) (next, end int, ok bool) {
	for i < stop {
		switch c := s[i]; {
		case c == '/':
			if dirtySlash(s, i) {
				return i, scanDirtyPath(s, i), false
			}
			i++
		case classes[c]&inPath != 0:
			i++
		case c == '?' || c == '#':
			return i, i, true
		case c == '%' && isCanonicalEscape(s, i):
			i += 3
		default:
			return i, scanDirtyPath(s, i), false
		}
	}
	if i >= len(s) {
		return i, len(s), true
	}
	return i, more, true
}

// dirtySlash reports whether an empty or a dot segment follows the slash at i.
func dirtySlash(s []byte, i int) bool {
	if i++; i >= len(s) {
		return false
	}
	if s[i] == '.' {
		if i++; i < len(s) && s[i] == '.' {
			i++
		}
		return i == len(s) || s[i] == '/' || s[i] == '?' || s[i] == '#'
	}
	return s[i] == '/'
}

func scanDirtyPath(s []byte, i int) (end int) {
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == '?' || c == '#':
			return i
		case c == '\\' || classes[c]&isNewline != 0:
			return -1
		}
	}
	return i
}

// isCanonicalEscape reports whether an escape begins at i that stays as it is.
func isCanonicalEscape(s []byte, i int) bool {
	if i+2 >= len(s) {
		return false
	}
	hi, lo := s[i+1], s[i+2]
	return hi < 'a' && lo < 'a' && unhex[hi] != notHex && unhex[lo] != notHex && !isUnreserved[unhex[hi]<<4|unhex[lo]]
}
