package whatwg

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
)

// Parts is a URL cut at its separators. Each part keeps its separator and its raw text,
// so that Join restores exactly the text that was cut, whichever rules have run so far.
type Parts struct {
	Scheme   string // "http"
	Slashes  string // "://", or what stands for it: ":", ":/", ":\\\\"
	Userinfo string // "user:pass@", or ""
	Host     string // "example.com", "[::1]"
	Literal  bool   // the host was found in brackets: an IPv6 address or an error
	Port     string // ":8080", ":", or ""
	Path     string // "/a/b", or ""
	Query    string // "?a=1", "?", or ""
	Fragment string // "#top", "#", or ""
}

// Join is the inverse of cutting.
func (p *Parts) Join() string {
	return p.Scheme + p.Slashes + p.Userinfo + p.Host + p.Port + p.Path + p.Query + p.Fragment
}

// TrimSpace cuts C0 controls and blanks off both ends (URL Standard 4.4, step 1).
func TrimSpace(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}

// DropNewlines removes tabs and line ends, wherever they are (URL Standard 4.4, step 3).
func DropNewlines(s string) string {
	if !strings.ContainsAny(s, "\t\n\r") {
		return s
	}
	return strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s)
}

// Line returns a URL as a line of text can hold it, and any parser reads the same from it: without the tabs and line ends that
// parsers drop, and with NUL escaped, as they do.
func Line(s string) string {
	if !strings.ContainsAny(s, "\t\n\r\x00") {
		return s
	}
	return strings.ReplaceAll(DropNewlines(TrimSpace(s)), "\x00", "%00")
}

// CutSpecial cuts a cleaned URL of a special scheme of n bytes as the URL Standard does:
// any number of slashes and backslashes after the colon, the last "@" ends the userinfo.
func CutSpecial(s string, n int) (p Parts) {
	p.Scheme, s = s[:n], s[n:]
	n = len(s) - len(strings.TrimLeft(s[1:], `/\`))
	p.Slashes, s = s[:n], s[n:]
	s, p.Fragment = CutBefore(s, "#")
	s, p.Query = CutBefore(s, "?")
	s, p.Path = CutBefore(s, `/\`)
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		p.Userinfo, s = s[:i+1], s[i+1:]
	}
	p.Host, p.Port = CutPort(s)
	p.Literal = strings.HasPrefix(p.Host, "[")
	return p
}

// NoScheme is the error of a text that begins with no scheme.
func NoScheme(s string) error {
	return fault.As(ErrURL, "cannot split URL; got %s; want a scheme and a colon at its start", Quote(s))
}

// SchemeLen is the length of the scheme at the start of s, and -1 if there is none.
func SchemeLen[T string | []byte](s T) int {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= Lower(c) && Lower(c) <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return i
		default:
			return -1
		}
	}
	return -1
}

// DefaultPort returns the default port of a special scheme, and "" for other schemes, file among them.
func DefaultPort(scheme string) string {
	switch scheme {
	case "http", "ws":
		return "80"
	case "https", "wss":
		return "443"
	case "ftp":
		return "21"
	}
	return ""
}

// IsSpecial reports whether the scheme, in lower case, is one of the special schemes of the URL Standard.
func IsSpecial(scheme string) bool { return scheme == "file" || DefaultPort(scheme) != "" }

// CutBefore cuts s before the first of the bytes of seps.
func CutBefore(s, seps string) (before, rest string) {
	if i := strings.IndexAny(s, seps); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// CutPort cuts before the first colon outside brackets (URL Standard, host state).
func CutPort(s string) (host, port string) {
	inside := false
	for i := range len(s) {
		switch s[i] {
		case '[':
			inside = true
		case ']':
			inside = false
		case ':':
			if !inside {
				return s[:i], s[i:]
			}
		}
	}
	return s, ""
}

// Quote shows a piece of input in an error message, cut to a length that suits one.
func Quote(s string) string {
	const most = 80
	if len(s) > most {
		return fmt.Sprintf("%q…", s[:most])
	}
	return fmt.Sprintf("%q", s)
}

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
		if s[i] == '/' && i+1 < len(s) && (s[i+1] == '.' || s[i+1] == '%') {
			segment, _ := CutBefore(s[i+1:], "/?#")
			if segment = unescapeDots(segment); segment == "." || segment == ".." {
				return false
			}
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

// RemoveDots removes the segments "." and ".." from a path in place and returns it (RFC 3986,
// section 5.2.4). The path must be empty or begin with a slash. A ".." removes the segment
// before it, also an empty one. The time is linear: each byte is removed at most once.
func RemoveDots(path []byte) []byte {
	if !bytes.Contains(path, []byte("/.")) {
		return path
	}
	to := 0 // path[:to] is done and lacks its last slash, path[from] is a slash
	for from := 0; from < len(path); {
		next := len(path)
		if i := bytes.IndexByte(path[from+1:], '/'); i >= 0 {
			next = from + 1 + i
		}
		switch segment := path[from+1 : next]; string(segment) {
		case "..":
			to = max(bytes.LastIndexByte(path[:to], '/'), 0)
			fallthrough
		case ".":
			if next == len(path) {
				path[to] = '/'
				to++
			}
		default:
			to += copy(path[to:], path[from:next])
		}
		from = next
	}
	return path[:to]
}

// WithoutDots is RemoveDots of a string.
func WithoutDots(path string) string {
	if !strings.Contains(path, "/.") {
		return path
	}
	return string(RemoveDots([]byte(path)))
}
