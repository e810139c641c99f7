package foreign

import (
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/whatwg"
)

// What C14N and Scrapy share: how CPython 3.11.7 cuts, joins and lower-cases URLs, from
// the documentation of urllib.parse and posixpath and from runs of them.

// pyURL is the five parts of urlsplit.
type pyURL struct{ scheme, netloc, path, query, fragment string }

// pySplit cuts as urlsplit does: blanks and controls go at the start only, tabs and line
// ends everywhere. The scheme is in lower case. Errors wrap ErrURL.
func pySplit(raw string) (pyURL, error) {
	s := strings.TrimLeftFunc(raw, func(r rune) bool { return r <= ' ' })
	return cutPy(whatwg.DropNewlines(s), nil, pyCheckNetloc)
}

// cutPy cuts a cleaned URL. In the schemes for which slashed is true, "\" is a slash before query and fragment.
func cutPy(s string, slashed func(scheme string) bool, check func(netloc string) error) (u pyURL, err error) {
	if n := whatwg.SchemeLen(s); n > 0 {
		u.scheme, s = strings.ToLower(s[:n]), s[n+1:]
	}
	if slashed != nil && slashed(u.scheme) {
		head, tail := whatwg.CutBefore(s, "?#")
		s = strings.ReplaceAll(head, `\`, "/") + tail
	}
	if strings.HasPrefix(s, "//") {
		u.netloc, s = whatwg.CutBefore(s[2:], "/?#")
		if err := check(u.netloc); err != nil {
			return u, err
		}
	}
	s, u.fragment, _ = strings.Cut(s, "#")
	u.path, u.query, _ = strings.Cut(s, "?")
	return u, nil
}

// join does as urlunsplit: a scheme known to have an authority gets "//" even for an
// empty one.
func (u pyURL) join() string {
	s := u.path
	if u.netloc != "" || pyUsesNetloc(u.scheme) && !strings.HasPrefix(s, "//") {
		if s != "" && s[0] != '/' {
			s = "/" + s
		}
		s = "//" + u.netloc + s
	}
	return u.around(s)
}

// around puts scheme, query and fragment around the rest. Empty ones lose their separators.
func (u pyURL) around(s string) string {
	if u.scheme != "" {
		s = u.scheme + ":" + s
	}
	if u.query != "" {
		s += "?" + u.query
	}
	if u.fragment != "" {
		s += "#" + u.fragment
	}
	return s
}

func pyUsesNetloc(scheme string) bool {
	switch scheme {
	case "ftp", "http", "gopher", "nntp", "telnet", "imap", "wais", "file", "mms", "https", "shttp",
		"snews", "prospero", "rtsp", "rtsps", "rtspu", "rsync", "svn", "svn+ssh", "sftp", "nfs", "git", "git+ssh", "ws", "wss":
		return true
	}
	return false
}

func pyCheckNetloc(netloc string) error {
	opens, closes := strings.Contains(netloc, "["), strings.Contains(netloc, "]")
	if opens != closes {
		return fault.As(whatwg.ErrURL, "unbalanced brackets")
	}
	if opens {
		_, inside, _ := strings.Cut(netloc, "[")
		inside, _, _ = strings.Cut(inside, "]")
		if !pyBracketed(inside) {
			return fault.As(whatwg.ErrURL, "%s in brackets is not an IPv6 address", whatwg.Quote(inside))
		}
	}
	return pyCheckNFKC(netloc, "/?#@:")
}

// pyBracketed reports whether a host may stand in brackets: an IPv6 address, with a zone
// perhaps, or the RFC 3986 form for future versions, "v1.x".
func pyBracketed(host string) bool {
	if version, rest, ok := strings.Cut(host, "."); ok && strings.HasPrefix(host, "v") {
		return rest != "" && len(version) > 1 && strings.Trim(version[1:], "0123456789abcdefABCDEF") == ""
	}
	addr, zone, hasZone := strings.Cut(host, "%")
	a, err := netip.ParseAddr(addr)
	return err == nil && a.Is6() && (!hasZone || zone != "" && !strings.Contains(zone, "%"))
}

var pyWithoutSeparators = strings.NewReplacer("@", "", ":", "", "#", "", "?", "")

// pyCheckNFKC refuses a host that Unicode compatibility would give a separator of URLs.
func pyCheckNFKC(netloc, separators string) error {
	if whatwg.IsASCII(netloc) {
		return nil
	}
	plain := pyWithoutSeparators.Replace(netloc)
	if mapped := norm.NFKC.String(plain); mapped != plain && strings.ContainsAny(mapped, separators) {
		return fault.As(whatwg.ErrURL, "a host that NFKC turns into one with a separator")
	}
	return nil
}

// pyNormpath is posixpath.normpath: ".." takes a name off, at the root nothing, and
// empty names count as ".". Exactly two slashes at the start stay two.
func pyNormpath(path string) string {
	root := ""
	if strings.HasPrefix(path, "/") {
		root = "/"
		if strings.HasPrefix(path, "//") && !strings.HasPrefix(path, "///") {
			root = "//"
		}
	}
	var names []string
	for name := range strings.SplitSeq(path, "/") {
		switch {
		case name == "" || name == ".":
		case name != ".." || root == "" && (len(names) == 0 || names[len(names)-1] == ".."):
			names = append(names, name)
		case len(names) > 0:
			names = names[:len(names)-1]
		}
	}
	if clean := root + strings.Join(names, "/"); clean != "" {
		return clean
	}
	return "."
}

// pyLower is str.lower: as Unicode says in full, so U+0130 becomes two code points and a
// sigma that ends a word the final one. Bytes that are not UTF-8 stay.
func pyLower(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(b, s[i])
		case r == 'İ':
			b = append(b, "i̇"...)
		case r == 'Σ' && endsWord(s[:i], s[i+n:]):
			b = append(b, "ς"...)
		default:
			b = utf8.AppendRune(b, unicode.ToLower(r))
		}
		i += n
	}
	return string(b)
}

// endsWord is Unicode's condition Final_Sigma: a cased letter before, none after,
// whatever case-ignorable characters stand between.
func endsWord(before, after string) bool {
	prev, _ := utf8.DecodeLastRuneInString(strings.TrimRightFunc(before, caseIgnorable))
	next, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(after, caseIgnorable))
	return cased(prev) && !cased(next)
}

func cased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

func caseIgnorable(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) || strings.ContainsRune("'.:··՟״‘’․﹒＇．", r)
}
