package canon

import (
	"fmt"
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
)

// parts is a URL cut at its separators. Each part keeps its separator and its raw text,
// so that join restores exactly the text that was cut, whichever rules have run so far.
type parts struct {
	scheme   string // "http"
	slashes  string // "://", or what stands for it: ":", ":/", ":\\\\"
	userinfo string // "user:pass@", or ""
	host     string // "example.com", "[::1]"
	literal  bool   // the host was found in brackets: an IPv6 address or an error
	port     string // ":8080", ":", or ""
	path     string // "/a/b", or ""
	query    string // "?a=1", "?", or ""
	fragment string // "#top", "#", or ""
}

func (p *parts) join() string {
	return p.scheme + p.slashes + p.userinfo + p.host + p.port + p.path + p.query + p.fragment
}

// trimSpace cuts C0 controls and blanks off both ends (URL Standard 4.4, step 1).
func trimSpace(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}

// dropNewlines removes tabs and line ends, wherever they are (URL Standard 4.4, step 3).
func dropNewlines(s string) string {
	if !strings.ContainsAny(s, "\t\n\r") {
		return s
	}
	return strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s)
}

// split cuts a cleaned URL of http, https or ftp.
func split(s string) (parts, error) {
	n := schemeLen(s)
	if n < 0 {
		return parts{}, errNoScheme(s)
	}
	if defaultPort(strings.ToLower(s[:n])) == "" {
		return parts{}, refuse(s, s[:n])
	}
	return splitSpecial(s, n), nil
}

// splitSpecial cuts a cleaned URL of a special scheme of n bytes as the URL Standard does:
// any number of slashes and backslashes after the colon, the last "@" ends the userinfo.
func splitSpecial(s string, n int) (p parts) {
	p.scheme, s = s[:n], s[n:]
	n = len(s) - len(strings.TrimLeft(s[1:], `/\`))
	p.slashes, s = s[:n], s[n:]
	s, p.fragment = cutBefore(s, "#")
	s, p.query = cutBefore(s, "?")
	s, p.path = cutBefore(s, `/\`)
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		p.userinfo, s = s[:i+1], s[i+1:]
	}
	p.host, p.port = cutPort(s)
	p.literal = strings.HasPrefix(p.host, "[")
	return p
}

func errNoScheme(s string) error {
	return fault.As(ErrURL, "cannot split URL; got %s; want a scheme and a colon at its start", quote(s))
}

// schemeLen is the length of the scheme at the start of s, and -1 if there is none.
func schemeLen(s string) int {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= lower(c) && lower(c) <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return i
		default:
			return -1
		}
	}
	return -1
}

// refuse returns ErrScheme for a URL of another scheme and ErrURL for anything else.
func refuse(s, scheme string) error {
	if _, err := whatwgForm(s); err != nil {
		return err
	}
	return fault.As(ErrScheme, "cannot canonicalize; got scheme %s; want http, https or ftp", quote(scheme))
}

// defaultPort returns the default port of http, https and ftp, and "" for other schemes.
func defaultPort(scheme string) string {
	switch scheme {
	case "http":
		return "80"
	case "https":
		return "443"
	case "ftp":
		return "21"
	}
	return ""
}

// specialPort is defaultPort with the other schemes that the URL Standard treats alike.
func specialPort(scheme string) string {
	switch scheme {
	case "ws":
		return "80"
	case "wss":
		return "443"
	}
	return defaultPort(scheme)
}

// cutBefore cuts s before the first of the bytes of seps.
func cutBefore(s, seps string) (before, rest string) {
	if i := strings.IndexAny(s, seps); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// cutPort cuts before the first colon outside brackets (URL Standard, host state).
func cutPort(s string) (host, port string) {
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

// quote shows a piece of input in an error message, cut to a length that suits one.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		return fmt.Sprintf("%q…", s[:most])
	}
	return fmt.Sprintf("%q", s)
}
