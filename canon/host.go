package canon

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// uts46 is ToASCII as the URL Standard calls it: non-transitional mapping, bidi and
// joiner checks, hyphens and the lengths of the DNS not checked, and no ASCII letters
// refused but the forbidden ones, which checkHost knows.
var uts46 = idna.New(
	idna.MapForLookup(),
	idna.Transitional(false),
	idna.StrictDomainName(false),
	idna.CheckHyphens(false),
	idna.BidiRule(),
	idna.CheckJoiners(true),
	idna.VerifyDNSLength(false),
)

// maxLabel bounds a non-ASCII label, in bytes. Punycode takes quadratic time; the
// longest label the DNS can carry has 63 bytes.
const maxLabel = 1000

// UnicodeVersion is the version of the Unicode tables by which hosts with non-ASCII
// letters are mapped. It changes with the Go release; see [HasUnicodeHost].
func UnicodeVersion() string { return idna.UnicodeVersion }

// hostToASCII maps a host that has non-ASCII letters to its xn-- form, and checks xn--
// labels that are there. Any other host is plain ASCII and passes.
func hostToASCII(host string) (string, error) {
	if isASCII(host) && !hasUnicodeLabel(host) {
		return host, nil
	}
	// idna would turn each bad byte into U+FFFD and so merge hosts.
	if !utf8.ValidString(host) {
		return "", fmt.Errorf("cannot map host; got %s; want UTF-8: %w", quote(host), ErrURL)
	}
	if n := longestLabel(host); n > maxLabel {
		return "", fmt.Errorf("cannot map host; got a label of %d bytes; want at most %d: %w", n, maxLabel, ErrURL)
	}
	ascii, err := uts46.ToASCII(host)
	if err == nil {
		err = checkLabels(host)
	}
	if err != nil {
		return "", fmt.Errorf("cannot map host; got %s; want one that UTS #46 allows (%v): %w", quote(host), err, ErrURL)
	}
	return ascii, nil
}

// checkLabels refuses two things that x/net/idna lets pass and UTS #46 does not: a label
// that is "xn--" and no more, of which it makes nothing, and one that begins with "xn--"
// and is not ASCII, which it decodes all the same. An "a" before a label keeps it from
// decoding, so that what the label maps to can be seen.
func checkLabels(host string) error {
	for label := range strings.FieldsFuncSeq(host, isDot) {
		mapped, _ := uts46.ToUnicode("a" + label)
		if rest, ok := strings.CutPrefix(mapped, "a"+ace); ok && (rest == "" || !isASCII(rest)) {
			return fmt.Errorf("label %q is no encoding", label)
		}
	}
	return nil
}

// ace begins a label that encodes another in ASCII (RFC 3490).
const ace = "xn--"

// isDot knows the ASCII dot and the three others that UTS #46 maps to it.
func isDot(r rune) bool {
	return r == '.' || r == '\u3002' || r == '\uff0e' || r == '\uff61'
}

// hasUnicodeLabel tells whether a label of a lower-case ASCII host begins with xn--.
func hasUnicodeLabel[T string | []byte](host T) bool {
	for i := 0; i+len(ace) <= len(host); i++ {
		if (i == 0 || host[i-1] == '.') && string(host[i:i+len(ace)]) == ace {
			return true
		}
	}
	return false
}

func longestLabel(host string) int {
	longest := 0
	for label := range strings.FieldsFuncSeq(host, isDot) {
		longest = max(longest, len(label))
	}
	return longest
}

// checkHost refuses a host that is empty or holds a forbidden domain code point, which
// decoding and mapping can bring in ("%2F", "／").
func checkHost(host string) error {
	if host == "" {
		return fmt.Errorf("cannot canonicalize; got an empty host; want one: %w", ErrURL)
	}
	for i := range len(host) {
		if c := host[i]; forbiddenDomain[c] {
			return fmt.Errorf("cannot canonicalize; got host %s with %q; want none of the forbidden ones: %w", quote(host), c, ErrURL)
		}
	}
	return nil
}

func isASCII[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
