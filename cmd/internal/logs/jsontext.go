package logs

import (
	"bytes"
	"errors"
	"strconv"
	"unicode/utf8"
)

// ErrNotUTF8 means that JSON has bytes that are not UTF-8, or a surrogate
// without its other half. A decoder would replace each by U+FFFD, so that
// different texts become equal.
var ErrNotUTF8 = errors.New(`got text that is not UTF-8, or half of a surrogate pair (\ud800 to \udfff)`)

// CheckJSON returns ErrNotUTF8 unless JSON is UTF-8 and each surrogate in it is
// half of a pair. It does not look for other mistakes.
func CheckJSON(text []byte) error {
	if !utf8.Valid(text) {
		return ErrNotUTF8
	}
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return nil
		}
		text = text[i:]
		n := 2 // of an escape
		switch unit, ok := escaped(text); {
		case !ok:
		case unit>>10 == 0x36: // a high surrogate: its other half must follow
			if low, ok := escaped(text[6:]); !ok || low>>10 != 0x37 {
				return ErrNotUTF8
			}
			n = 12
		case unit>>10 == 0x37:
			return ErrNotUTF8
		}
		text = text[min(n, len(text)):]
	}
}

// escaped returns the UTF-16 code unit of a \uXXXX that text begins with.
func escaped(text []byte) (unit uint32, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return uint32(n), err == nil
}
