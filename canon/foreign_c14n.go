package canon

import (
	"fmt"
	"slices"
	"strings"
)

// C14N writes URLs as python-url-c14n 0.1.0 does on CPython 3.11.7 under POSIX, faults
// and all, for a crawler whose keys were made by it. It differs from [Qiita], which fixes
// these: the userinfo is lower-cased, "%aF" stays, "/a/b/.." becomes "/a", "?&" becomes
// "?=&=", a port that is not a number or has leading zeros stays, characters that should be
// escaped are not, and the fragment stays. Any scheme, and none, is accepted; "http:a" becomes
// "http:///a".
//
// The error is [ErrURL] where Python's urlsplit raises one: unpaired brackets, brackets around
// something that is not an IPv6 address, a host in which NFKC normalization produces one of
// "/?#@:".
// Bytes that are not UTF-8, which Python strings cannot hold, stay as they are.
//
// Laws: neither. "%%36%31" becomes "%61", and that becomes "a".
func C14N() *Profile {
	return fixed(RuleInfo{
		Rule: "c14n", Does: "writes URLs as python-url-c14n does", Source: "python-url-c14n 0.1.0",
		Risk: "pages that differ in the case of the user, or in a trailing slash after dots, meet",
	}, ofText(c14n))
}

func c14n(raw string) (string, error) {
	u, err := pySplit(raw)
	if err != nil {
		return "", fmt.Errorf("cannot canonicalize as python-url-c14n does; got %s: %w", quote(raw), err)
	}
	u.netloc = pyLower(u.netloc)
	switch u.scheme {
	case "http":
		u.netloc = strings.TrimSuffix(u.netloc, ":80")
	case "https":
		u.netloc = strings.TrimSuffix(u.netloc, ":443")
	}
	u.path = c14nPath(decodeUnreserved(c14nUppercase(u.path)))
	u.query = c14nQuery(decodeUnreserved(c14nUppercase(u.query)))
	return u.join(), nil
}

// c14nUppercase upper-cases escapes of lower-case digits only: "%aF" is left.
func c14nUppercase(s string) string {
	return mapBytes(s, '%', func(b *strings.Builder, i int) int {
		if isEscape(s, i) && s[i+1] == lower(s[i+1]) && s[i+2] == lower(s[i+2]) {
			b.WriteString(strings.ToUpper(s[i : i+3]))
			return 3
		}
		b.WriteByte('%')
		return 1
	})
}

// c14nPath applies POSIX path rules, whose ".." takes "//" as one slash and whose result
// has no slash at its end; the one of the input is put back.
func c14nPath(path string) string {
	if path == "" {
		return "/"
	}
	clean := pyNormpath(path)
	if strings.HasSuffix(path, "/") {
		clean += "/"
	}
	return collapseRuns(clean, '/')
}

// c14nQuery sorts parameters by name, then value. Every parameter gets its "=",
// the empty ones too.
func c14nQuery(query string) string {
	if query == "" {
		return ""
	}
	type param struct{ name, value string }
	var params []param
	for s := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(s, "=")
		params = append(params, param{name, value})
	}
	slices.SortStableFunc(params, func(a, b param) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return strings.Compare(a.value, b.value)
	})
	var b strings.Builder
	for i, p := range params {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(p.name + "=" + p.value)
	}
	return b.String()
}

// collapseRuns writes one c for each run of them.
func collapseRuns(s string, c byte) string {
	double := string([]byte{c, c})
	if !strings.Contains(s, double) {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		if s[i] != c || i == 0 || s[i-1] != c {
			b = append(b, s[i])
		}
	}
	return string(b)
}
