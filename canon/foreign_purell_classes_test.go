package canon

import (
	"strings"
	"testing"

	"github.com/firstseen/firstseen/internal/whatwg"
)

// Where qiita and purell differ, they do so for one of the reasons named here.
// A reason holds or not for an input, before anything runs, and excuses a difference in
// the parts it names and in no other. "accept" is a difference in who refuses the URL.

type divergence struct {
	name  string
	parts string // which differences it excuses
	// like is an input of the class on which the two do differ.
	like  string
	holds func(in rawParts) bool
}

// rawParts is an input cut in the plainest way, without any correction.
type rawParts struct{ all, scheme, slashes, userinfo, host, port, path, query, fragment string }

func cutRaw(raw string) rawParts {
	u := rawParts{all: raw}
	s, fragment, _ := strings.Cut(raw, "#")
	s, query, _ := strings.Cut(s, "?")
	u.fragment, u.query = fragment, query
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok {
		return u
	}
	u.scheme, s = scheme, rest
	n := len(s) - len(strings.TrimLeft(s, "/"))
	u.slashes, s = s[:n], s[n:]
	s, u.path = whatwg.CutBefore(s, "/")
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		u.userinfo, s = s[:i+1], s[i+1:]
	}
	u.host, u.port = s, ""
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
		u.host, u.port = s[:i], s[i+1:]
	}
	return u
}

var divergences = []divergence{
	{"other scheme, or none", "accept", "mailto:a@b", func(in rawParts) bool { return !isQiitas(strings.ToLower(in.scheme)) }},
	{"ftp, whose default port purell does not know", "port", "ftp://h:21/", func(in rawParts) bool { return strings.EqualFold(in.scheme, "ftp") }},
	{"slashes after the scheme that are not two", "accept scheme userinfo host port path query", "http:/a", func(in rawParts) bool { return in.slashes != "//" }},
	{"backslash", "accept scheme userinfo host port path query", `http://h\a`, func(in rawParts) bool { return strings.Contains(in.all, `\`) }},
	{"blanks and controls", "accept host path", "http://h/a\tb", func(in rawParts) bool { return hasBlank(in.all) }},
	{"stray percent outside the query", "accept", "http://h/100%", func(in rawParts) bool {
		return hasStrayPercent([]byte(in.userinfo + "/" + in.host + "/" + in.path + "/" + in.fragment))
	}},
	{"escape in the host", "accept host", "http://%41/", func(in rawParts) bool { return strings.Contains(in.host, "%") }},
	{"host that is no plain name", "accept host", "http://a<b/", func(in rawParts) bool { return !onlyOf(in.host, whatwg.Unreserved+"[]:\x80") && !hasHigh(in.host) }},
	{"host that is empty", "accept", "http:///", func(in rawParts) bool { return in.host == "" }},
	{"IPv6 literal, which purell only lower-cases", "accept host", "http://[::0]/", func(in rawParts) bool { return strings.ContainsAny(in.host, "[]:") }},
	{"host that ends in a number", "accept host", "http://0x7f.1/", func(in rawParts) bool { return whatwg.EndsInNumber(strings.ToLower(in.host)) }},
	{"IDN: purell maps by older rules and takes the port for a part of the label", "accept host port", "http://日本語。jp/", func(in rawParts) bool {
		return hasHigh(whatwg.Unescape(in.host)) || strings.Contains(strings.ToLower(in.host), "xn--")
	}},
	{"a host \"xn--\", of which purell leaves nothing", "scheme host path", "http://xn--/", func(in rawParts) bool {
		return strings.EqualFold(in.host, "xn--")
	}},
	{"port that is not 1 to 5 digits, or has leading zeros", "accept port", "http://h:080/", func(in rawParts) bool { return in.port != "" && !plainPort(in.port) }},
	{"port above 65535", "accept", "http://h:65536/", func(in rawParts) bool { return len(in.port) > 4 }},
	{"userinfo that has empty parts, escapes or odd bytes", "accept userinfo", "http://@h/", func(in rawParts) bool {
		user, password, _ := strings.Cut(strings.TrimSuffix(in.userinfo, "@"), ":")
		return in.userinfo != "" && (user == "" || password == "" || !onlyOf(user+password, whatwg.Unreserved+"!$&'()*+,"))
	}},
	{"reserved character escaped in the path: purell decodes it", "path", "http://h/a%2Fb", func(in rawParts) bool { return escapesAny(in.path, reservedInPath) }},
	{"brackets in the path, which purell leaves raw", "path", "http://h/[", func(in rawParts) bool { return strings.ContainsAny(in.path, "[]") }},
	{"nothing but & in the query, which purell keeps", "query", "http://h/?&", func(in rawParts) bool { return onlyOf(in.query, "&") }},
	{"; in the query, at which purell drops the parameter", "query", "http://h/?a;b=1&c=2", func(in rawParts) bool { return strings.Contains(in.query, ";") }},
	{"stray percent in the query, at which purell drops the parameter", "query", "http://h/?a=%&b", func(in rawParts) bool { return hasStrayPercent([]byte(in.query)) }},
	{"blank, as + or %20, which purell writes +", "query", "http://h/?a=%20", func(in rawParts) bool {
		return strings.ContainsAny(in.query, "+ ") || strings.Contains(in.query, "%20")
	}},
	{"parameter name that is not plain: purell decodes and does not encode it", "query", "http://h/?a%26b=1", func(in rawParts) bool { return !plainNames(in.query) }},
	{"raw reserved character in a value, which purell encodes", "query", "http://h/?a=/", func(in rawParts) bool { return !plainValues(in.query) }},
	{"repeated name, whose escaped values purell sorts decoded", "query", "http://h/?a=%3A&a=0", func(in rawParts) bool { return repeatsWithEscapes(in.query) }},
}

const reservedInPath = whatwg.SubDelims + ":@/?#[]"

func hasBlank(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

func hasHigh(s string) bool { return !whatwg.IsASCII(s) }

// onlyOf reports whether s is made of these bytes alone.
func onlyOf(s, chars string) bool { return strings.Trim(s, chars) == "" }

func plainPort(s string) bool { return onlyOf(s, whatwg.Digits) && len(s) <= 5 && s[0] != '0' }

// escapesAny reports whether s has an escape of one of the characters.
func escapesAny(s, chars string) bool {
	for i := range len(s) {
		if whatwg.IsEscape(s, i) && strings.IndexByte(chars, whatwg.Escaped(s, i)) >= 0 {
			return true
		}
	}
	return false
}

func plainNames(query string) bool {
	for pair := range strings.SplitSeq(query, "&") {
		if name, _, _ := strings.Cut(pair, "="); !onlyOf(name, whatwg.Unreserved) || pair != "" && name == "" {
			return false
		}
	}
	return true
}

func plainValues(query string) bool {
	for pair := range strings.SplitSeq(query, "&") {
		if _, value, _ := strings.Cut(pair, "="); !onlyOf(value, whatwg.Unreserved+"%") {
			return false
		}
	}
	return true
}

func repeatsWithEscapes(query string) bool {
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if seen[name] && strings.Contains(query, "%") {
			return true
		}
		seen[name] = true
	}
	return false
}

// reasons lists the classes of an input that excuse a difference in a part.
func reasons(in rawParts, part string) (names []string) {
	for _, d := range divergences {
		if strings.Contains(" "+d.parts+" ", " "+part+" ") && d.holds(in) {
			names = append(names, d.name)
		}
	}
	return names
}

// TestDivergencesAreReal keeps the list honest: each class has an input on which qiita
// and purell do differ, in a part the class names.
func TestDivergencesAreReal(t *testing.T) {
	for _, d := range divergences {
		in := cutRaw(d.like)
		if d.like == "" || !d.holds(in) {
			t.Errorf("%s: does not hold for %q", d.name, d.like)
			continue
		}
		found := false
		for _, part := range differingParts(d.like) {
			found = found || strings.Contains(" "+d.parts+" ", " "+part+" ")
		}
		if !found {
			t.Errorf("%s: qiita and purell differ on %q in %v; want one of %s", d.name, d.like, differingParts(d.like), d.parts)
		}
	}
}
