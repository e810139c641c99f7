// Package uts46 maps non-ASCII domain names to ASCII by UTS #46 (Unicode IDNA Compatibility Processing), with
// the options of the URL Standard: non-transitional, with bidi and joiner checks. It does not
// check hyphens, DNS lengths or the ASCII letters of host names, and it refuses invalid Punycode.
//
// The data are those of [UnicodeVersion]. They are part of this package, not of the Go release. So the key of
// a host does not depend on the compiler.
package uts46

import (
	"fmt"
	"strings"
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
