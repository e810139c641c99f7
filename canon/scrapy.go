package canon

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Scrapy writes URLs as w3lib.url.canonicalize_url 2.5.0 does with its defaults, on
// CPython 3.11.7, given the URL as bytes of UTF-8: the form behind the request
// fingerprints of Scrapy. Older releases of w3lib differ: until 2.5 dot segments stayed.
// Parameters are sorted decoded and encoded again, the fragment goes, the default port
// stays; any scheme, and none, is taken. A host is mapped by IDNA 2003.
//
// The error is [ErrURL] where w3lib raises one: a port that is no number up to 65535,
// brackets around no IPv6 address, a host that NFKC would give a separator.
//
// Laws: neither. In a path, "%2%41" becomes "%2A", and that becomes "*".
func Scrapy() *Profile {
	return fixed(RuleInfo{
		Rule: "scrapy", Does: "writes URLs as w3lib's canonicalize_url does", Source: "w3lib 2.5.0",
		Risk: "pages built from the fragment meet",
	}, ofText(scrapy))
}

func scrapy(raw string) (string, error) {
	u, err := scrapySplit(raw)
	if err != nil {
		return "", fmt.Errorf("cannot canonicalize as w3lib does; got %s: %w", quote(raw), err)
	}
	if u.netloc, err = scrapyNetloc(u.netloc); err != nil {
		return "", fmt.Errorf("cannot canonicalize as w3lib does; got %s: %w", quote(raw), err)
	}
	path, params := cutParams(u.scheme, string(escapeOutside(nil, u.path, w3libSafe)))
	switch {
	case path == "":
		path = "/"
	case path[0] == '/':
		path = resolveDots(scrapyPath(path))
	default:
		path = scrapyPath(path)
	}
	u.path, u.query, u.fragment = path+params, scrapyQuery(u.query, u.scheme), ""
	return scrapyJoin(u), nil
}

// What w3lib leaves raw: whatever is legal in all of RFC 2396, RFC 3986 and WHATWG
// URLs, and "%"; and in the second pass over a path also what RFC 3986 reserves.
var (
	w3libSafe     = setOf(unreserved + subDelims + ":/?@%")
	w3libPathSafe = setOf(unreserved + subDelims + ":/?@%[]|")
	w3libUserSafe = setOf(unreserved + "!$&'()*+,")
)

// scrapySplit cuts as w3lib's own urlsplit: like Python's, but blanks go at both ends,
// "\" is "/" in special schemes, and bytes that are not UTF-8 become escapes first.
func scrapySplit(raw string) (pyURL, error) {
	s := dropNewlines(trimSpace(escapeInvalid(raw)))
	var u pyURL
	if n := schemeLen(s); n > 0 {
		u.scheme, s = strings.ToLower(s[:n]), s[n+1:]
	}
	if isSpecial(u.scheme) {
		head, tail := cutBefore(s, "?#")
		s = strings.ReplaceAll(head, `\`, "/") + tail
	}
	if strings.HasPrefix(s, "//") {
		u.netloc, s = cutBefore(s[2:], "/?#")
		if err := scrapyCheckNetloc(u.netloc); err != nil {
			return u, err
		}
	}
	s, u.fragment, _ = strings.Cut(s, "#")
	u.path, u.query, _ = strings.Cut(s, "?")
	return u, nil
}

// scrapyJoin is like join, but an authority that is empty is written only before a path
// that begins with a slash, and always before one that begins with two.
func scrapyJoin(u pyURL) string {
	s := u.path
	switch {
	case u.netloc != "":
		if s[0] != '/' {
			s = "/" + s
		}
		s = "//" + u.netloc + s
	case strings.HasPrefix(s, "//") || pyUsesNetloc(u.scheme) && s[0] == '/':
		s = "//" + s
	}
	return u.around(s)
}

// isSpecial tells whether the URL Standard gives the scheme rules of its own.
func isSpecial(scheme string) bool {
	switch scheme {
	case "ftp", "file", "http", "https", "ws", "wss":
		return true
	}
	return false
}

func scrapyCheckNetloc(netloc string) error {
	opens, closes := strings.Contains(netloc, "["), strings.Contains(netloc, "]")
	if opens != closes {
		return fmt.Errorf("brackets that are no pair: %w", ErrURL)
	}
	if opens {
		host := netloc[strings.LastIndexByte(netloc, '@')+1:]
		before, inside, hasOpen := strings.Cut(host, "[")
		inside, after, _ := strings.Cut(inside, "]")
		if !hasOpen {
			before, inside, after = "", strings.SplitN(host, ":", 2)[0], ""
		}
		if before != "" || after != "" && after[0] != ':' || !pyBracketed(inside) {
			return fmt.Errorf("brackets around no IPv6 address: %w", ErrURL)
		}
	}
	return pyCheckNFKC(netloc, `/?#@:\`)
}

// escapeInvalid escapes every byte that is not part of valid UTF-8.
func escapeInvalid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b []byte
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b = appendEscape(b, s[i])
		} else {
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return string(b)
}

// escapeOutside appends s with every byte outside the set escaped.
func escapeOutside(dst []byte, s string, set *byteSet) []byte {
	for i := range len(s) {
		if set[s[i]] {
			dst = append(dst, s[i])
		} else {
			dst = appendEscape(dst, s[i])
		}
	}
	return dst
}
