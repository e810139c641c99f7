package whatwg

import "strings"

// Plain is where the parts of a plain URL are in its text. Nearly all URLs of the web are already as the URL Standard
// writes them, which one pass can see without a copy.
type Plain struct {
	SchemeLen int    // "https", without the colon; the host begins 3 bytes later
	HostEnd   int    // end of the host, where a colon or the path begins
	Port      uint16 // 0 if none is written
	Path      int    // start of the path, always a slash
	PathEnd   int    // end of the path: the "?", the "#" or the end
	Query     int    // start of the query after its "?"; 0 if there is none
	QueryEnd  int    // end of the query or, if there is none, of the path
	Fragment  int    // start of the fragment after its "#"; 0 if there is none
}

// ParsePlain reports whether s is certainly an http, https or ftp URL in the form the URL
// Standard returns it, with a host name in ASCII and without user and password; if so,
// also where its parts are. "No" means only that Parse has to look.
func ParsePlain(s string) (u Plain, ok bool) {
	switch {
	case strings.HasPrefix(s, "https://"):
		u.SchemeLen = 5
	case strings.HasPrefix(s, "http://"):
		u.SchemeLen = 4
	case strings.HasPrefix(s, "ftp://"):
		u.SchemeLen = 3
	default:
		return u, false
	}
	if !u.host(s) || !u.port(s) {
		return u, false
	}
	return u, u.rest(s)
}

// host reads lower-case labels up to a colon or the path. It leaves to Parse: empty
// labels, "xn--", and a last label that begins with a digit, which can mean an IP address.
func (u *Plain) host(s string) bool {
	label := u.SchemeLen + 3
	for i := label; i < len(s); i++ {
		c := s[i]
		if plainClass[c]&inLabel != 0 {
			continue
		}
		if i == label || strings.HasPrefix(s[label:i], "xn--") {
			return false
		}
		if c == '.' {
			label = i + 1
			continue
		}
		u.HostEnd, u.Path = i, i
		return (c == '/' || c == ':') && (s[label] < '0' || s[label] > '9')
	}
	return false
}

// port reads a port other than the scheme's, without zeros in front.
func (u *Plain) port(s string) bool {
	if s[u.HostEnd] == '/' {
		return true
	}
	n, i := 0, u.HostEnd+1
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9' && n < 1<<16; i++ {
		n = 10*n + int(s[i]-'0')
	}
	standard := [...]int{3: 21, 4: 80, 5: 443}[u.SchemeLen]
	if i == len(s) || s[i] != '/' || n >= 1<<16 || n == standard || i == u.HostEnd+1 || s[u.HostEnd+1] == '0' {
		return false
	}
	u.Port, u.Path = uint16(n), i
	return true
}

// rest reads path, query and fragment.
func (u *Plain) rest(s string) bool {
	i := u.Path
	for ; i < len(s) && plainClass[s[i]]&inPath != 0; i++ {
		if s[i] == '/' && i+1 < len(s) && (s[i+1] == '.' || s[i+1] == '%') && dotSegment(s[i+1:]) {
			return false
		}
	}
	u.PathEnd, u.QueryEnd = i, i
	if i < len(s) && s[i] == '?' {
		u.Query = i + 1
		for i++; i < len(s) && plainClass[s[i]]&inQuery != 0; i++ {
		}
		u.QueryEnd = i
	}
	if i < len(s) && s[i] == '#' {
		u.Fragment = i + 1
		for i++; i < len(s) && plainClass[s[i]]&inFragment != 0; i++ {
		}
	}
	return i == len(s)
}

// dotSegment reports whether the first segment of a path is "." or "..", escaped or not.
func dotSegment(path string) bool {
	for range 2 {
		switch {
		case strings.HasPrefix(path, "."):
			path = path[1:]
		case len(path) >= 3 && path[0] == '%' && path[1] == '2' && path[2]|0x20 == 'e':
			path = path[3:]
		default:
			return path == "" || path[0] == '/' || path[0] == '?' || path[0] == '#'
		}
	}
	return path == "" || path[0] == '/' || path[0] == '?' || path[0] == '#'
}

// Where a byte may stand without being escaped or changed.
const (
	inLabel = 1 << iota
	inPath
	inQuery
	inFragment
)

var plainClass = func() (t [256]uint8) {
	for c := byte('!'); c <= '~'; c++ {
		if !strings.ContainsRune("\"#<>?^`{}\\", rune(c)) { // whether "^" is escaped has changed; Parse knows
			t[c] |= inPath
		}
		if !strings.ContainsRune("\"#<>'", rune(c)) {
			t[c] |= inQuery
		}
		if !strings.ContainsRune("\"<>`", rune(c)) {
			t[c] |= inFragment
		}
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			t[c] |= inLabel
		}
	}
	return t
}()
