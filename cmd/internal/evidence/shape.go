package evidence

import (
	"bytes"
	"slices"
)

// The shape of a canonical URL is the host, the path with what looks
// generated replaced, and the names of the parameters. URLs of one shape are mostly made by
// one page template, so that a few of them stand for all.
//
//	http://shop.example/p/1234-red-shoes.html?color=2&page=7
//	shop.example/p/{number}-red-shoes.html?color&page
//
// The names of the parameters are kept as they are, each once, in alphabetical order, because a
// page with other parameters is another page: URLs with different sets of names never share a shape.
// Only an index in brackets counts as a value: "a[0]" and "a[1]" are both "a[{number}]". Parameters may be
// separated by ";", too.
//
// A path segment is cut into tokens at "-", "_" and ".", and each token is judged by itself, since
// generated parts are often joined to a word: "app-0c6e5e47ca6a3f3f7243.js". A word stays. These are
// replaced:
//
//	{number}  a run of digits of any length, except in a version such as v2 or v1.2
//	{date}    a date such as 2026-01-31: a year, a month and a day with one separator
//	{uuid}    a UUID
//	{hash}    8 or more hexadecimal digits, some of them letters and some not, or 16 or more letters of
//	          them; 20 or more letters and digits with both cases and digits; 8 or more letters and
//	          digits that change from one kind to another too often for a name: B07XJ8C8F5
//	{slug}    four or more words that are joined by "-" or "_"; numbers count, beside three words
//
// A token alone can't tell everything: 8 hexadecimal digits without a letter are a number, and IDs of
// seven characters are words with digits. A file extension stays. "{" in a URL is written %7B, so that
// no URL looks like a shape.

// AppendShape appends the shape of a canonical URL to dst. host is host[:port] of it,
// as canon.Host returns it; with a nil host the form is no URL, and appended as it is.
func AppendShape(dst, form, host []byte) []byte {
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
	if bytes.IndexByte(query, '&') < 0 && bytes.IndexByte(query, ';') < 0 {
		name, _, _ := bytes.Cut(query, []byte("="))
		return appendName(dst, name)
	}
	var space [16][]byte
	var text [256]byte
	names, scratch := space[:0], text[:0]
	add := func(name []byte) {
		from := len(scratch)
		scratch = appendName(scratch, name)
		names = append(names, scratch[from:])
	}
	for pair := range bytes.SplitSeq(query, []byte("&")) {
		name, value, _ := bytes.Cut(pair, []byte("="))
		add(name)
		// Gitweb and others separate parameters by ";".
		for _, rest, more := bytes.Cut(value, []byte(";")); more; {
			value, rest, more = bytes.Cut(rest, []byte(";"))
			if name, _, ok := bytes.Cut(value, []byte("=")); ok {
				add(name)
			}
		}
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

// What a byte is to a segment or a name.
const (
	isSep   = 1 << iota // ends a token
	isDig               // a digit
	isBrack             // begins a bracket
	isBrace             // is escaped
)

var classes = [256]uint8{'-': isSep, '_': isSep, '.': isSep, '[': isBrack, '%': isBrack, '{': isBrace,
	'0': isDig, '1': isDig, '2': isDig, '3': isDig, '4': isDig, '5': isDig, '6': isDig, '7': isDig, '8': isDig, '9': isDig}

// classesOf returns the classes of the bytes of text, up to the first in the class end.
func classesOf(text []byte, end uint8) (n int, seen uint8) {
	for n < len(text) && classes[text[n]]&end == 0 {
		seen |= classes[text[n]]
		n++
	}
	return n, seen
}

// appendName appends the name of a parameter, with indexes in brackets replaced.
func appendName(dst, name []byte) []byte {
	if _, seen := classesOf(name, 0); seen&(isBrack|isBrace) == 0 {
		return append(dst, name...)
	}
	for i := 0; i < len(name); {
		open := bracketAt(name[i:], '[')
		digits := i + open
		for open > 0 && digits < len(name) && isDigit(name[digits]) {
			digits++
		}
		if digits > i+open && bracketAt(name[digits:], ']') > 0 {
			dst = append(append(dst, name[i:i+open]...), "{number}"...)
			i = digits
			continue
		}
		n := max(open, 1)
		if name[i] == '{' {
			dst = append(dst, "%7B"...)
		} else {
			dst = append(dst, name[i:i+n]...)
		}
		i += n
	}
	return dst
}

// bracketAt returns the length of a bracket at the start of text, escaped or not, and 0 if none is there.
func bracketAt(text []byte, bracket byte) int {
	switch {
	case len(text) > 0 && text[0] == bracket:
		return 1
	case len(text) > 2 && text[0] == '%' && text[1] == '5' && text[2]&^0x20 == bracket-'['+'B': // %5B and %5D
		return 3
	}
	return 0
}

// appendSegment appends the template of a path segment.
func appendSegment(dst, segment []byte) []byte {
	segment, params, more := bytes.Cut(segment, []byte(";"))
	stem, extension := cutExtension(segment)
	dst = append(appendTokens(dst, stem), extension...)
	for more { // such as ;jsessionid=…
		var param []byte
		param, params, more = bytes.Cut(params, []byte(";"))
		name, _, _ := bytes.Cut(param, []byte("="))
		dst = appendName(append(dst, ';'), name)
	}
	return dst
}

// cutExtension cuts a file extension with its dot: at most five letters and digits, of
// which the first is a letter, and at most one a digit.
func cutExtension(segment []byte) (stem, extension []byte) {
	i := bytes.LastIndexByte(segment, '.')
	if i <= 0 || len(segment)-i-1 > 5 || i+1 == len(segment) || !isLetter(segment[i+1]) {
		return segment, nil
	}
	digits := 0
	for _, c := range segment[i+1:] {
		if isDigit(c) {
			digits++
		} else if !isLetter(c) {
			return segment, nil
		}
	}
	if digits > 1 {
		return segment, nil
	}
	return segment[:i], segment[i:]
}

// What a token is: a placeholder that it is replaced by, or a word.
const (
	word   = ""
	number = "{number}"
	date   = "{date}"
	uuid   = "{uuid}"
	hash   = "{hash}"
)

// run is a part of a segment, from start on, that has only words and numbers.
type run struct{ start, words, numbers int }

// close ends the run. It may turn out to be a slug, and is then written as one.
func (r *run) close(dst []byte) []byte {
	if r.words >= 3 && r.words+r.numbers >= 4 {
		dst = append(dst[:r.start], "{slug}"...)
	}
	*r = run{}
	return dst
}

// appendTokens appends a segment token by token.
func appendTokens(dst, stem []byte) []byte {
	var r run
	version := false // the token before is v1, or belongs to it
	for separator := byte(0); ; {
		n, kind, seen := tokenAt(stem)
		if separator == '.' || kind != word && kind != number {
			dst = r.close(dst)
		}
		if separator != 0 {
			dst = append(dst, separator)
		}
		if n > 0 && r.words+r.numbers == 0 {
			r.start = len(dst)
		}
		version = kind == word && seen&isDig != 0 && isVersion(stem[:n]) || version && separator == '.' && kind == number && n <= 3
		switch {
		case version:
			r.words++
			dst = append(dst, stem[:n]...)
		case kind == number:
			r.numbers++
			dst = append(dst, kind...)
		case kind != word:
			dst = append(dst, kind...)
		case n > 0:
			if r.words++; seen&(isDig|isBrace) == 0 {
				dst = append(dst, stem[:n]...)
			} else {
				dst = appendDigits(dst, stem[:n])
			}
		}
		if stem = stem[n:]; len(stem) == 0 {
			return r.close(dst)
		}
		separator, stem = stem[0], stem[1:]
	}
}

func isSeparator(c byte) bool { return classes[c]&isSep != 0 }

// tokenAt returns the length, the kind and the classes of the token at the start of text. A UUID and a
// date are tokens, although they have separators.
func tokenAt(text []byte) (n int, kind string, seen uint8) {
	if n, seen = classesOf(text, isSep); seen&isDig == 0 && n < 8 {
		return n, word, seen
	}
	switch {
	case n == 8 && isUUID(text):
		return 36, uuid, seen
	case n == 4 && dateAt(text) > 0:
		return dateAt(text), date, seen
	case seen&isDig == 0 && n < 16:
		return n, word, seen
	}
	return n, kindOf(text[:n]), seen
}

// kindOf tells a number, a hash and a word apart. Generated tokens of letters and digits change from
// one kind of character to another more often than names do. It counts the changes between letters
// and digits, and those from a small letter to a capital one: 0.45 a character in random tokens with
// both cases, 0.4 in those with one, and at most 0.25 in names like IPv4Address2Name.
func kindOf(token []byte) string {
	var digits, hexLetters, lower, upper, changes int
	var before byte
	for _, c := range token {
		now := byte('a')
		switch {
		case isDigit(c):
			digits++
			now = '0'
		case !isLetter(c):
			return word
		case c&0x20 != 0:
			lower++
		default:
			upper++
			now = 'A'
		}
		if now != '0' && isHex(c) {
			hexLetters++
		}
		if before != 0 && now != before && (now == '0' || before == '0' || before == 'a') {
			changes++
		}
		before = now
	}
	n := len(token)
	isRandom := changes >= 4 && (3*changes >= n || n >= 16 && lower*upper == 0)
	switch {
	case n == 0 || digits == 0 && hexLetters < max(n, 16):
		return word
	case digits == n:
		return number
	case n >= 8 && (digits+hexLetters == n || isRandom), n >= 20 && lower > 0 && upper > 0:
		return hash
	}
	return word
}

// appendDigits appends a word with each run of digits replaced, except in percent escapes.
func appendDigits(dst, text []byte) []byte {
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
			dst = append(dst, number...)
		case text[i] == '{':
			dst = append(dst, "%7B"...)
			i++
		default:
			dst = append(dst, text[i])
			i++
		}
	}
	return dst
}

// isVersion reports whether a token is "v" and one to three digits.
func isVersion(token []byte) bool {
	return 2 <= len(token) && len(token) <= 4 && token[0]|0x20 == 'v' && len(bytes.Trim(token[1:], "0123456789")) == 0
}

// isUUID reports whether text begins with a token of 8-4-4-4-12 hexadecimal digits.
func isUUID(text []byte) bool {
	if len(text) < 36 || len(text) > 36 && !isSeparator(text[36]) {
		return false
	}
	for i, c := range text[:36] {
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

// dateAt returns the length of the date at the start of text, such as 2026-01-31 or 2026.1.31, and 0
// if there is none.
func dateAt(text []byte) int {
	if len(text) < len("2026-1-1") || text[0] != '1' && text[0] != '2' || !isSeparator(text[4]) {
		return 0
	}
	n := 0
	for i, limit := range [...]int{9999, 12, 31} { // year, month, day
		value, from := 0, n
		for n < len(text) && isDigit(text[n]) && n-from < 4 {
			value = 10*value + int(text[n]-'0')
			n++
		}
		if width := n - from; width == 0 || i == 0 && width != 4 || i > 0 && width > 2 || value == 0 || value > limit {
			return 0
		}
		switch {
		case i == 2 && (n == len(text) || isSeparator(text[n])):
			return n
		case i == 2 || n == len(text) || text[n] != text[4]:
			return 0
		}
		n++
	}
	return 0
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isHex(c byte) bool    { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
