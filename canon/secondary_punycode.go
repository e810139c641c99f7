package canon

// appendPunycode appends the Punycode of a label, RFC 3492, without its "xn--".
// It takes quadratic time, so the caller bounds the label.
func appendPunycode(dst []byte, label []rune) []byte {
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

// appendVarint36 appends a generalized variable-length integer (RFC 3492, 6.3).
func appendVarint36(dst []byte, n, bias int) []byte {
	const digits36 = lowers + digits
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
