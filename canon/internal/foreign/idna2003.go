package foreign

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"

	"github.com/firstseen/firstseen/internal/uts46"
	"github.com/firstseen/firstseen/internal/whatwg"
)

//go:generate sh -c "python3 make_rfc3454.py | gofmt >rfc3454.go"

// What C14N, Scrapy and SURT share with CPython: its codec "idna", which is IDNA 2003
// (RFC 3490, 3491) with code points that Unicode 3.2 does not know allowed.

var (
	dots2003  = strings.NewReplacer("。", ".", "．", ".", "｡", ".")
	longFolds = strings.NewReplacer("ß", "ss", "ς", "σ")
	// corrected is the five mappings that Corrigendum 4 put right after Unicode 3.2, as they were.
	corrected = strings.NewReplacer("\U0002f868", "\U0002136a", "\U0002f874", "\u5f33", "\U0002f91f", "\u43ab", "\U0002f95f", "\u7aae", "\U0002f9bf", "\u4d57")
)

// idna2003 maps a host of UTF-8 to ASCII, and reports false where the codec refuses it.
// An ASCII host is looked at for empty and overlong labels only, and stays.
func idna2003(host string) (string, bool) {
	labels := strings.Split(host, ".")
	if !whatwg.IsASCII(host) {
		labels = strings.Split(dots2003.Replace(host), ".")
	}
	for i, label := range labels {
		if label == "" && i == len(labels)-1 {
			continue // the dot at the end, or an empty host
		}
		ascii, ok := label2003(label)
		if !ok {
			return "", false
		}
		labels[i] = ascii
	}
	return strings.Join(labels, "."), true
}

// label2003 is ToASCII of RFC 3490 with ASCII not restricted.
func label2003(label string) (string, bool) {
	if !whatwg.IsASCII(label) {
		var ok bool
		if label, ok = nameprep(label); !ok {
			return "", false
		}
	}
	if !whatwg.IsASCII(label) {
		if strings.HasPrefix(label, "xn--") || utf8.RuneCountInString(label) > 63 {
			return "", false // each character costs a byte or more, so 63 bytes can't hold it
		}
		label = string(uts46.AppendPunycode([]byte("xn--"), []rune(label)))
	}
	return label, 0 < len(label) && len(label) < 64
}

// nameprep is RFC 3491.
func nameprep(label string) (string, bool) {
	var mapped strings.Builder
	for _, r := range label {
		switch {
		case r < utf8.RuneSelf:
			mapped.WriteByte(whatwg.Lower(byte(r)))
		case !unicode.Is(mappedToNothing, r):
			mapped.WriteString(mapCaseNFKC(string(r)))
		}
	}
	label = nfkc32(mapped.String())
	if strings.ContainsFunc(label, func(r rune) bool { return unicode.Is(prohibited, r) }) {
		return "", false
	}
	return label, keepsBidi(label)
}

// mapCaseNFKC is table B.2 of RFC 3454 for one character: case folded so that NFKC
// brings no capital back.
func mapCaseNFKC(s string) string {
	folded := foldCase(s)
	b := nfkc32(folded)
	if c := nfkc32(foldCase(b)); c != b {
		return c
	}
	return folded
}

// foldCase is table B.3: lower case, and in full where that is longer. Only what NFKC
// would not do by itself is spelt out; an iota below a vowel folds to one beside it.
func foldCase(s string) string {
	s = longFolds.Replace(pyLower(s))
	if folded := strings.ReplaceAll(norm.NFD.String(s), "\u0345", "ι"); folded != norm.NFD.String(s) {
		return folded
	}
	return s
}

// nfkc32 is NFKC by Unicode 3.2: later characters are left alone, and part what stands
// before from what stands after.
func nfkc32(s string) string {
	if whatwg.IsASCII(s) {
		return s
	}
	s = corrected.Replace(s)
	var b strings.Builder
	for len(s) > 0 {
		i := strings.IndexFunc(s, func(r rune) bool { return unicode.Is(unassigned32, r) })
		if i < 0 {
			i = len(s)
		}
		b.WriteString(norm.NFKC.String(s[:i]))
		if s = s[i:]; s != "" {
			_, n := utf8.DecodeRuneInString(s)
			b.WriteString(s[:n])
			s = s[n:]
		}
	}
	return b.String()
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
		return p.Class() == bidi.L && !unicode.Is(unassigned32, r)
	})
}

func isRandAL(r rune) bool { return unicode.Is(randAL, r) }
