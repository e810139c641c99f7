package uts46

// idna.Punycode of x/net also has these two functions. It is not used because its releases refuse
// different inputs, and keys must not change.

import "math"

// AppendPunycode appends the Punycode of a label, RFC 3492, without its "xn--".
// It takes quadratic time, so the caller bounds the label.
func AppendPunycode(dst []byte, label []rune) []byte {
	basic := 0
	for _, r := range label {
		if r < 0x80 {
			dst = append(dst, byte(r))
			basic++
		}
	}
	if basic > 0 {
		dst = append(dst, '-')
	}
	n, delta, bias := rune(0x80), 0, 72
	for done := basic; done < len(label); {
		next := rune(0x7fffffff)
		for _, r := range label {
			if r >= n {
				next = min(next, r)
			}
		}
		delta += int(next-n) * (done + 1)
		for _, r := range label {
			switch {
			case r < next:
				delta++
			case r == next:
				dst = appendVarint36(dst, delta, bias)
				bias = adaptBias(delta, done+1, done == basic)
				delta = 0
				done++
			}
		}
		delta++
		n = next + 1
	}
	return dst
}

const digits36 = "abcdefghijklmnopqrstuvwxyz0123456789"

// appendVarint36 appends a generalized variable-length integer (RFC 3492, 6.3).
func appendVarint36(dst []byte, n, bias int) []byte {
	for k := 36; ; k += 36 {
		t := min(max(k-bias, 1), 26)
		if n < t {
			return append(dst, digits36[n])
		}
		dst = append(dst, digits36[t+(n-t)%(36-t)])
		n = (n - t) / (36 - t)
	}
}

// adaptBias is section 6.1 of RFC 3492.
func adaptBias(delta, points int, first bool) int {
	if delta /= 2; first {
		delta = delta * 2 / 700
	}
	delta += delta / points
	k := 0
	for ; delta > 35*26/2; k += 36 {
		delta /= 35
	}
	return k + 36*delta/(delta+38)
}

// decodePunycode decodes a lower-case label without its "xn--" (RFC 3492, 6.2), and reports
// whether it could.
func decodePunycode(s string) (label []rune, ok bool) {
	basic := 0
	for i := range len(s) {
		switch {
		case s[i] >= 0x80:
			return nil, false
		case s[i] == '-':
			basic = i
		}
	}
	label = []rune(s[:basic])
	if basic > 0 { // the last hyphen ends the ASCII letters
		s = s[basic+1:]
	}
	n, at, bias := 0x80, 0, 72
	for len(s) > 0 {
		delta, rest, ok := varint36(s, bias)
		points := len(label) + 1
		if s = rest; !ok || delta > math.MaxInt32-at {
			return nil, false
		}
		first := at == 0
		at += delta
		if n += at / points; n > 0x10ffff || 0xd800 <= n && n < 0xe000 {
			return nil, false
		}
		at %= points
		bias = adaptBias(delta, points, first)
		label = append(label, 0)
		copy(label[at+1:], label[at:])
		label[at] = rune(n)
		at++
	}
	return label, true
}

// varint36 reads what appendVarint36 writes.
func varint36(s string, bias int) (n int, rest string, ok bool) {
	weight := 1
	for k := 36; len(s) > 0; k += 36 {
		digit := 0
		switch c := s[0]; {
		case 'a' <= c && c <= 'z':
			digit = int(c - 'a')
		case '0' <= c && c <= '9':
			digit = int(c-'0') + 26
		default:
			return 0, "", false
		}
		s = s[1:]
		if digit > (math.MaxInt32-n)/weight {
			return 0, "", false
		}
		n += digit * weight
		t := min(max(k-bias, 1), 26)
		if digit < t {
			return n, s, true
		}
		if weight > math.MaxInt32/(36-t) {
			return 0, "", false
		}
		weight *= 36 - t
	}
	return 0, "", false
}
