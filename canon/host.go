package canon

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/uts46"
)

// maxLabel bounds a non-ASCII label, in bytes. Punycode takes quadratic time; the
// longest label the DNS can carry has 63 bytes.
const maxLabel = 1000

// hostToASCII maps a host that has non-ASCII letters to its xn-- form (the domain parser of
// the URL Standard, section 3.3). An ASCII host stays as it is, whatever its xn-- labels
// encode: since June 2026 the standard lets those pass that UTS #46 would refuse.
func hostToASCII(host string) (string, error) {
	if isASCII(host) {
		return host, nil
	}
	// A bad byte would be mapped as U+FFFD, and so hosts would merge.
	if !utf8.ValidString(host) {
		return "", fault.As(ErrURL, "cannot map host; got %s; want UTF-8", quote(host))
	}
	if n := longestLabel(host); n > maxLabel {
		return "", fault.As(ErrURL, "cannot map host; got a label of %d bytes; want at most %d", n, maxLabel)
	}
	ascii, err := uts46.ToASCII(host)
	if err != nil {
		return "", fault.As(ErrURL, "cannot map host; got %s; want one that UTS #46 allows (%v)", quote(host), err)
	}
	return ascii, nil
}

// ace begins a label that encodes another in ASCII (RFC 3490).
const ace = "xn--"

// isDot knows the ASCII dot and the three others that UTS #46 maps to it.
func isDot(r rune) bool {
	return r == '.' || r == '\u3002' || r == '\uff0e' || r == '\uff61'
}

// hasUnicodeLabel reports whether a label of a lower-case ASCII host begins with xn--.
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

// forbiddenIn is the error of a host that contains a forbidden code point.
func forbiddenIn(host string, c byte) error {
	name := strconv.QuoteRune(rune(c))
	if c == ' ' {
		name = "a space"
	}
	return fault.As(ErrURL, "cannot canonicalize; got host %s, which contains %s; want a host without it", quote(host), name)
}

// checkHost refuses a host that is empty or holds a forbidden domain code point, which
// decoding and mapping can bring in ("%2F", "／").
func checkHost(host string) error {
	if host == "" {
		return fault.As(ErrURL, "cannot canonicalize; got an empty host; want one")
	}
	for i := range len(host) {
		if c := host[i]; forbiddenDomain[c] {
			return forbiddenIn(host, c)
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
