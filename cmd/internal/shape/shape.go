// Package shape reduces canonical URLs to their shapes: the host, the path with what looks
// generated replaced, and the names of the parameters. URLs of one shape are mostly made by
// one page template, so that a few of them stand for all.
//
//	http://shop.example/p/1234-red-shoes.html?color=2&page=7
//	shop.example/p/{number}-red-shoes.html?color&page
//
// What is replaced in a path segment:
//
//	{number}  a run of digits, except in a version such as v2
//	{date}    a date such as 2026-01-31
//	{uuid}    a UUID
//	{hash}    16 or more hexadecimal digits, or 8 or more with letters and digits mixed;
//	          20 or more letters and digits with both cases and digits
//	{slug}    four or more words that are joined by "-" or "_"
//
// A file extension stays. A canonical URL has no raw braces, so no URL looks like a shape.
package shape

import (
	"bytes"
	"slices"
)

// Append appends the shape of a canonical URL to dst. host is host[:port] of it,
// as canon.Host returns it; with a nil host the form is no URL, and appended as it is.
func Append(dst, form, host []byte) []byte {
	if host == nil {
		return append(dst, form...)
	}
	dst = append(dst, host...)
	_, rest, _ := bytes.Cut(form, []byte("//"))
	i := bytes.IndexAny(rest, "/?#")
	if i < 0 {
		return append(dst, '/')
	}
	rest, _, _ = bytes.Cut(rest[i:], []byte("#"))
	path, query, hasQuery := bytes.Cut(rest, []byte("?"))
	for segment := range bytes.SplitSeq(bytes.TrimPrefix(path, []byte("/")), []byte("/")) {
		dst = append(dst, '/')
		dst = appendSegment(dst, segment)
	}
	if hasQuery {
		dst = append(dst, '?')
		dst = appendNames(dst, query)
	}
	return dst
}

// appendNames appends the names of parameters, each once, in alphabetical order.
func appendNames(dst, query []byte) []byte {
	if bytes.IndexByte(query, '&') < 0 {
		name, _, _ := bytes.Cut(query, []byte("="))
		return appendDigits(dst, name)
	}
	var space [16][]byte
	var text [256]byte
	names, scratch := space[:0], text[:0]
	for pair := range bytes.SplitSeq(query, []byte("&")) {
		name, _, _ := bytes.Cut(pair, []byte("="))
		from := len(scratch)
		scratch = appendDigits(scratch, name)
		names = append(names, scratch[from:])
	}
	slices.SortFunc(names, bytes.Compare)
	for i, name := range slices.CompactFunc(names, bytes.Equal) {
		if i > 0 {
			dst = append(dst, '&')
		}
		dst = append(dst, name...)
	}
	return dst
}

// appendSegment appends the template of a path segment.
func appendSegment(dst, segment []byte) []byte {
	segment, parameter, hasParameter := bytes.Cut(segment, []byte(";"))
	stem, extension := cutExtension(segment)
	switch {
	case isUUID(stem):
		dst = append(dst, "{uuid}"...)
	case isDate(stem):
		dst = append(dst, "{date}"...)
	case isHash(stem):
		dst = append(dst, "{hash}"...)
	case isSlug(stem):
		dst = append(dst, "{slug}"...)
	default:
		dst = appendDigits(dst, stem)
	}
	dst = append(dst, extension...)
	if hasParameter { // such as ;jsessionid=…
		name, _, _ := bytes.Cut(parameter, []byte("="))
		dst = append(append(dst, ';'), name...)
	}
	return dst
}

// cutExtension cuts a file extension with its dot: at most five letters and digits, of
// which the first is a letter.
func cutExtension(segment []byte) (stem, extension []byte) {
	i := bytes.LastIndexByte(segment, '.')
	if i <= 0 || len(segment)-i-1 > 5 || i+1 == len(segment) || !isLetter(segment[i+1]) {
		return segment, nil
	}
	for _, c := range segment[i+1:] {
		if !isLetter(c) && !isDigit(c) {
			return segment, nil
		}
	}
	return segment[:i], segment[i:]
}

// appendDigits appends text with each run of digits replaced, except in percent escapes
// and in versions.
func appendDigits(dst, text []byte) []byte {
	if isVersion(text) {
		return append(dst, text...)
	}
	for i := 0; i < len(text); {
		switch {
		case text[i] == '%':
			n := min(3, len(text)-i)
			dst = append(dst, text[i:i+n]...)
			i += n
		case isDigit(text[i]):
			for i < len(text) && isDigit(text[i]) {
				i++
			}
			dst = append(dst, "{number}"...)
		default:
			dst = append(dst, text[i])
			i++
		}
	}
	return dst
}

// isVersion reports whether text is "v", one to three digits, and then only digits and dots.
func isVersion(text []byte) bool {
	if len(text) < 2 || len(text) > 8 || text[0]|0x20 != 'v' || !isDigit(text[1]) {
		return false
	}
	for _, c := range text[1:] {
		if !isDigit(c) && c != '.' {
			return false
		}
	}
	return true
}

// isUUID reports whether text is 8-4-4-4-12 hexadecimal digits.
func isUUID(text []byte) bool {
	if len(text) != 36 {
		return false
	}
	for i, c := range text {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return false
			}
		} else if !isHex(c) {
			return false
		}
	}
	return true
}

// isDate reports whether text is 2026-01-31, with "-", "_" or "." between the numbers.
func isDate(text []byte) bool {
	if len(text) != 10 || text[4] != text[7] || bytes.IndexByte([]byte("-_."), text[4]) < 0 {
		return false
	}
	for i, c := range text {
		if i != 4 && i != 7 && !isDigit(c) {
			return false
		}
	}
	return true
}

// isHash reports whether text looks like a digest or a random token.
func isHash(text []byte) bool {
	var digits, hexLetters, lower, upper int
	for _, c := range text {
		switch {
		case isDigit(c):
			digits++
		case isHex(c):
			hexLetters++
			fallthrough
		default:
			switch {
			case 'a' <= c && c <= 'z':
				lower++
			case 'A' <= c && c <= 'Z':
				upper++
			default:
				return false
			}
		}
	}
	n := len(text)
	switch {
	case digits+hexLetters == n && n >= 16:
		return true
	case digits+hexLetters == n && n >= 8:
		return digits > 0 && hexLetters > 0
	}
	return n >= 20 && digits > 0 && lower > 0 && upper > 0
}

// isSlug reports whether text is four or more words.
func isSlug(text []byte) bool {
	words, letters := 0, 0
	for word := range bytes.FieldsFuncSeq(text, func(r rune) bool { return r == '-' || r == '_' }) {
		words++
		for _, c := range word {
			if isLetter(c) {
				letters++
			}
		}
	}
	return words >= 4 && letters >= 4
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isHex(c byte) bool    { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
