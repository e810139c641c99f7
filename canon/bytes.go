package canon

// A byteSet is a set of bytes; the classes of the two standards below are such sets.
type byteSet [256]bool

const (
	digits     = "0123456789"
	lowers     = "abcdefghijklmnopqrstuvwxyz"
	uppers     = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	unreserved = digits + lowers + uppers + "-._~" // RFC 3986 2.3
	subDelims  = "!$&'()*+,;="                     // RFC 3986 2.2
	hexUpper   = "0123456789ABCDEF"
)

func setOf(chars string) *byteSet {
	var s byteSet
	for i := range len(chars) {
		s[chars[i]] = true
	}
	return &s
}

// What stays as it is in each part: what RFC 3986 allows there, less what WHATWG
// parsers would escape, so that no parser of either kind changes our output.
// '%' is in none: an escape is handled before these sets are asked.
var (
	isUnreserved = setOf(unreserved)
	// pathRaw is pchar and "/" (RFC 3986 3.3); the WHATWG path set escapes none of these.
	pathRaw = setOf(unreserved + subDelims + ":@/")
	// queryRaw is pchar, "/" and "?" (RFC 3986 3.4) but "'", which the WHATWG special-query set escapes.
	queryRaw = setOf(unreserved + "!$&()*+,;=" + ":@/?")
	// fragmentRaw is pchar, "/" and "?" (RFC 3986 3.5).
	fragmentRaw = setOf(unreserved + subDelims + ":@/?")
	// userinfoRaw leaves ":" to the caller; WHATWG's userinfo set escapes ";" and "=".
	userinfoRaw = setOf(unreserved + "!$&'()*+,")
	// whatwgUserinfoRaw is all the WHATWG userinfo set lets stand.
	whatwgUserinfoRaw = setOf(unreserved + "!$%&'()*+,")
	// The same for the WHATWG path, special-query and fragment sets. "^" is escaped in a path
	// since March 2025.
	whatwgPathRaw     = setOf(unreserved + subDelims + ":@/%[]\\|")
	whatwgQueryRaw    = setOf(unreserved + "!$%&()*+,;=" + ":@/?[]\\^`{|}")
	whatwgFragmentRaw = setOf(unreserved + subDelims + ":@/?#%[]\\^{|}")
	// otherQueryRaw is the query set of other schemes, which leaves "'" alone.
	otherQueryRaw = setOf(unreserved + subDelims + "%" + ":@/?[]\\^`{|}")
	// opaqueRaw is all but what the C0 control set escapes.
	opaqueRaw = func() *byteSet {
		var s byteSet
		for c := byte(' '); c < 0x7f; c++ {
			s[c] = true
		}
		return &s
	}()
	// forbiddenHost holds the WHATWG forbidden host code points.
	forbiddenHost = setOf("\x00\t\n\r #/:<>?@[\\]^|")
	// forbiddenDomain holds the WHATWG forbidden domain code points.
	forbiddenDomain = setOf("\x00\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x0b\x0c\r\x0e\x0f" +
		"\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f #%/:<>?@[\\]^|\x7f")
)

// unhex returns the value of a hexadecimal digit, and notHex for any other byte.
var unhex = func() (t [256]byte) {
	for i := range t {
		t[i] = notHex
	}
	for i := range byte(10) {
		t['0'+i] = i
	}
	for i := range byte(6) {
		t['a'+i], t['A'+i] = 10+i, 10+i
	}
	return t
}()

const notHex = 0xff

// isEscape reports whether an escape, % and two hexadecimal digits, begins at s[i].
func isEscape[T string | []byte](s T, i int) bool {
	return i+2 < len(s) && s[i] == '%' && unhex[s[i+1]] != notHex && unhex[s[i+2]] != notHex
}

func appendEscape(dst []byte, c byte) []byte {
	return append(dst, '%', hexUpper[c>>4], hexUpper[c&15])
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// lowerText lower-cases ASCII letters and leaves all other bytes, valid UTF-8 or not.
func lowerText(s string) string {
	b := []byte(s)
	for i, c := range b {
		b[i] = lower(c)
	}
	return string(b)
}
