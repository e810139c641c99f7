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
// package, so that only a release of it changes their version. The other profiles map as
// the tools they follow do, by tables that change with the Go release.
func (p *Profile) UnicodeVersion() string {
	switch p.name {
	case "qiita", "whatwg", "safebrowsing":
		return uts46.UnicodeVersion
	}
	return idna.UnicodeVersion
}

// HasUnicodeHost is the function [HasUnicodeHost] for a form that p made. None maps
// nothing, so no key of it depends on the tables.
func (p *Profile) HasUnicodeHost(canonical []byte) bool {
	switch p.name {
	case "none":
		return false
	case "qiita": // nearly no form has such a label anywhere, so look for that first
		return bytes.Contains(canonical, []byte("xn--")) && HasUnicodeHost(canonical)
	}
	return HasUnicodeHost(canonical)
}

// HasUnicodeHost reports whether the form of a URL, and so its key, depends on the Unicode version;
// see [Profile.UnicodeVersion]. It does if the host has an xn-- label, whatever the scheme. For
// profiles other than [Qiita] it also does if the host or the user has non-ASCII letters, or if the
// host has a %-escape, which is how these profiles write a host that the tables cannot map.
func HasUnicodeHost(canonical []byte) bool {
	_, authority := cutAuthority(canonical)
	host := hostIn(authority)
	return hasUnicodeLabel(host) || bytes.IndexByte(host, '%') >= 0 || !whatwg.IsASCII(authority)
}

// hasUnicodeLabel reports whether a label begins with "xn--", as one that encodes letters beyond ASCII does (RFC 3490).
func hasUnicodeLabel(host []byte) bool {
	return bytes.HasPrefix(host, []byte("xn--")) || bytes.Contains(host, []byte(".xn--"))
}
