package canon

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"
)

// idna2003 maps a lower-case host to ASCII by RFC 3490 and 3491, and gives it back as
// it came where they refuse it. An ASCII host is left alone, for it is one already.
func idna2003(host string) string {
	if isASCII(host) {
		return host
	}
	mapped := norm.NFKC.String(strings.NewReplacer("@", "", ":", "", "#", "", "?", "").Replace(host))
	labels := strings.Split(strings.ReplaceAll(mapped, "。", "."), ".")
	for i, label := range labels {
		if i > 0 && i == len(labels)-1 && label == "" {
			continue // the dot at the end
		}
		ascii, ok := label2003(label)
		if !ok {
			return host
		}
		labels[i] = ascii
	}
	return strings.Join(labels, ".")
}

// label2003 is ToASCII of RFC 3490, with code points unassigned in Unicode 3.2 allowed
// and ASCII not restricted.
func label2003(label string) (string, bool) {
	if !isASCII(label) {
		var ok bool
		if label, ok = nameprep(label); !ok {
			return "", false
		}
	}
	if !isASCII(label) {
		if strings.HasPrefix(label, "xn--") || utf8.RuneCountInString(label) > 63 {
			return "", false // each character costs a byte or more, so 63 bytes can't hold it
		}
		var err error
		if label, err = idna.Punycode.ToASCII(label); err != nil {
			return "", false
		}
	}
	return label, 0 < len(label) && len(label) < 64
}

// nameprep is RFC 3491 for text that is in lower case and NFKC already. What is left of
// its case folding: sharp s, final sigma, capitals that NFKC made, and the iota written
// below a vowel.
func nameprep(label string) (string, bool) {
	var folded strings.Builder
	for _, r := range pyLower(label) {
		switch {
		case unicode.Is(mappedToNothing, r):
		case r == 'ß':
			folded.WriteString("ss")
		case r == 'ς':
			folded.WriteString("σ")
		default:
			folded.WriteString(strings.ReplaceAll(norm.NFD.String(string(r)), "\u0345", "ι"))
		}
	}
	label = norm.NFKC.String(folded.String())
	if strings.ContainsFunc(label, func(r rune) bool { return unicode.Is(prohibited, r) }) {
		return "", false
	}
	return label, keepsBidi(label)
}

// keepsBidi is section 6 of RFC 3454: a label with a right-to-left character has such at
// both ends, and no left-to-right one.
func keepsBidi(label string) bool {
	if !strings.ContainsFunc(label, isRandAL) {
		return true
	}
	first, _ := utf8.DecodeRuneInString(label)
	last, _ := utf8.DecodeLastRuneInString(label)
	return isRandAL(first) && isRandAL(last) && !strings.ContainsFunc(label, func(r rune) bool {
		p, _ := bidi.LookupRune(r)
		return p.Class() == bidi.L
	})
}

func isRandAL(r rune) bool { return unicode.Is(randAL, r) }
