package canon

import (
	"bytes"
	"fmt"
	"strings"
)

// SURT writes the sort-friendly key of a URL as web archives put it in CDX files: what
// surt.surt(url) of the PyPI package surt 0.3.1 returns with its defaults, on CPython
// 3.11.7, given the URL as bytes: "com,example)/path?query". Host reversed; scheme,
// userinfo, "www.", default port and fragment gone; path and query in lower case without
// session ids; parameters sorted; escapes decoded until none is left and then written
// once. It merges more than any other profile, and is made to sort and to look up by.
//
// A URL without an authority keeps its scheme ("mailto:a@b"), an empty one is "-", and
// whatever begins with "filedesc" stays. The error is [ErrURL] where surt fails: for a
// port that is no number up to 65535, and for blanks alone.
//
// Laws: neither. A SURT is no URL; SURT of a SURT is something else.
func SURT() *Profile {
	return fixed(RuleInfo{
		Rule: "surt", Does: "writes the key of CDX files", Source: "surt 0.3.1; webarchive-commons IAURLCanonicalizer",
		Risk: "pages that differ in case, scheme, www., session id, a trailing slash or a slash escaped in the path, meet",
	}, appendSURT)
}

func appendSURT(dst, raw []byte) ([]byte, error) {
	switch {
	case len(raw) == 0:
		return append(dst, '-'), nil
	case bytes.HasPrefix(raw, []byte("filedesc")):
		return append(dst, raw...), nil
	}
	u, err := splitSURT(string(raw))
	if err != nil {
		return dst, err
	}
	host, path, query := surtHost(u.host), unescapeFully(u.path), surtQuery(u.query)
	if host != "" {
		path = surtDots(path)
	}
	path = surtPath(string(escapeMinimal(nil, path)))
	dst = append(dst, host...)
	switch {
	case host == "": // there was none, or nothing is left of it
		dst = append(append(dst, u.scheme...), ':')
	case u.port != 0 && u.port != surtDefaultPort(u.scheme):
		dst = fmt.Appendf(dst, ":%d)", u.port)
	default:
		dst = append(dst, ')')
	}
	if path == "" && query != "" {
		path = "/"
	}
	dst = append(dst, path...)
	if query != "" {
		dst = append(append(dst, '?'), query...)
	}
	return dst, nil
}

func surtDefaultPort(scheme string) uint64 {
	switch strings.ToLower(scheme) {
	case "http":
		return 80
	case "https":
		return 443
	}
	return 0
}

// surtHost reverses the labels of a host without its leading "www.", "www2." and so on.
// Addresses are reversed like names, and an IPv6 address has lost its brackets before.
func surtHost(raw string) string {
	host := surtASCII(raw)
	if rest := strings.TrimLeft(strings.TrimPrefix(host, "www"), digits); strings.HasPrefix(host, "www") && strings.HasPrefix(rest, ".") {
		host = rest[1:]
	}
	labels := strings.Split(host, ".")
	for i, j := 0, len(labels)-1; i < j; i, j = i+1, j-1 {
		labels[i], labels[j] = labels[j], labels[i]
	}
	return strings.Join(labels, ",")
}
