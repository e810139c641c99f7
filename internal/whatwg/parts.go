package whatwg

import (
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
