package canon

import (
	"bytes"

	"golang.org/x/net/idna"

	"github.com/firstseen/firstseen/internal/uts46"
	"github.com/firstseen/firstseen/internal/whatwg"
)

// Host returns host[:port] of a canonical http, https, ftp, ws or wss URL, without userinfo:
// a part of canonical, not a copy. It is nil for anything else, such as the forms of
// profiles that are no URLs.
func Host(canonical []byte) []byte {
	scheme, authority := cutAuthority(canonical)
	switch string(scheme) {
	case "http:", "https:", "ftp:", "ws:", "wss:":
		if host := hostIn(authority); len(host) > 0 {
			return host
		}
	}
	return nil
}

// cutAuthority returns the authority of a form of any scheme, and the text before it. Both are
// nil if the form has no authority.
func cutAuthority(form []byte) (scheme, authority []byte) {
	scheme, authority, _ = bytes.Cut(form, []byte("//"))
	if colon := bytes.IndexByte(scheme, ':'); colon != len(scheme)-1 {
		return nil, nil // these slashes are in a path
	}
	if i := bytes.IndexAny(authority, "/?#"); i >= 0 {
		authority = authority[:i]
	}
	return scheme, authority
}

func hostIn(authority []byte) []byte { return authority[bytes.LastIndexByte(authority, '@')+1:] }

// UnicodeVersion returns the version of the Unicode tables by which the profile maps hosts
// with non-ASCII letters. Those of [Qiita], [WHATWG] and [SafeBrowsing] are a part of this
// module, so that only a release of it changes their version. For the others it is the version of package
// golang.org/x/net/idna, which changes with the Go release: most of them use it or package golang.org/x/text, as the tools they follow use theirs.
func (p *Profile) UnicodeVersion() string {
	switch p.name {
	case "qiita", "whatwg", "safebrowsing":
		return uts46.UnicodeVersion
	}
	return idna.UnicodeVersion
}

// HasUnicodeHost reports whether a form that p made, and so its key, may depend on the Unicode version; see
// [Profile.UnicodeVersion]. It may if the host has an xn-- label, whatever the scheme. The forms of some
// profiles also show it by letters beyond ASCII in host or user, or by a %-escape in the host, which is how
// a host is written that the tables cannot map. None maps nothing, so no form of it depends on them.
func (p *Profile) HasUnicodeHost(canonical []byte) bool {
	switch p.name {
	case "none":
		return false
	case "qiita": // nearly no form has such a label anywhere, so look for that first
		return bytes.Contains(canonical, []byte("xn--")) && hasUnicodeHost(canonical)
	}
	return hasUnicodeHost(canonical)
}

func hasUnicodeHost(canonical []byte) bool {
	_, authority := cutAuthority(canonical)
	host := hostIn(authority)
	return hasUnicodeLabel(host) || bytes.IndexByte(host, '%') >= 0 || !whatwg.IsASCII(authority)
}

// hasUnicodeLabel reports whether a label begins with "xn--", as one that encodes letters beyond ASCII does (RFC 3490).
func hasUnicodeLabel(host []byte) bool {
	return bytes.HasPrefix(host, []byte("xn--")) || bytes.Contains(host, []byte(".xn--"))
}
