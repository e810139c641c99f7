package canon

import (
	"fmt"
	"strings"
)

// URLSet is a set of URLs, named by rules in the manner of robots.txt. It is immutable, and safe for concurrent use; nil
// is the empty set.
//
//	example.org                 the URLs of this host
//	*.example.org               of the hosts below it
//	example.org/private/        of the host, if their path begins so
//	*/calendar/                 of any host, if their path begins so
//	example.org/*.pdf$          "*" stands for any text, a final "$" for the end (RFC 9309 2.2.3)
//	https://example.org/a       with a scheme: URLs that begin so; at the scheme's port alone, if the rule has no other
//	!example.org/private/open   an exception: URLs that it names are not in the set, whatever the other rules
//
// A path includes the query. Rules and URLs are compared without regard to how they are escaped, and hosts in their
// canonical form. A rule without a scheme is of all schemes and ports, unless it names a port.
type URLSet struct {
	in, out hostTable
	rules   []urlRule
}

// urlRule is what a rule says beside the host and the path of its scope, whose field at is the rule's place.
type urlRule struct {
	text         string
	scheme, port string // "" is any
}

// NewURLSet returns the set of some rules. The error names the first rule that cannot be read.
func NewURLSet(rules []string) (*URLSet, error) {
	s := &URLSet{in: newHostTable(), out: newHostTable()}
	for _, text := range rules {
		text = strings.TrimSpace(text)
		rest, except := strings.CutPrefix(text, "!")
		sc, rule, err := parseURLRule(rest)
		if err != nil {
			return nil, fmt.Errorf("cannot use rule %.200q: %w", text, err)
		}
		sc.at, rule.text = int64(len(s.rules)), text
		s.rules = append(s.rules, rule)
		if except {
			s.out.add(sc)
		} else {
			s.in.add(sc)
		}
	}
	return s, nil
}

func parseURLRule(text string) (*scope, urlRule, error) {
	var rule urlRule
	rest := text
	if scheme, after, ok := strings.Cut(text, "://"); ok {
		rule.scheme, rest = strings.ToLower(scheme), after
		if defaultPorts[rule.scheme] == "" {
			return nil, rule, fmt.Errorf("got scheme %.20q; want http, https or ftp, or none", scheme)
		}
		rule.port = defaultPorts[rule.scheme]
	}
	host, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	if path != "" && path[0] != '/' || strings.Contains(path, "#") {
		return nil, rule, fmt.Errorf("want a slash after the host, and no fragment")
	}
	if host == "" && rule.scheme == "" && path != "" {
		host = "*" // a path alone, as in robots.txt
	}
	name, below := strings.CutPrefix(host, "*.")
	if name != "*" {
		// The authority of a URL, so that ports, IP addresses and internationalised names are read as those of URLs are.
		form, err := Qiita().Canonicalize("http://" + name + "/")
		authority, ok := strings.CutPrefix(strings.TrimSuffix(form, "/"), "http://")
		if err != nil || !ok || strings.ContainsAny(authority, "/@*") {
			return nil, rule, fmt.Errorf("its host cannot be one of a URL; want example.org, *.example.org or *")
		}
		var port string
		if name, port = cutPort(authority); port != "" {
			rule.port = port
		}
	} else if below {
		return nil, rule, fmt.Errorf("its host cannot be one of a URL; want example.org, *.example.org or *")
	}
	if below {
		name = "*." + name
	}
	path, end := strings.CutSuffix(path, "$")
	parts := strings.Split(path, "*")
	for i, part := range parts {
		parts[i] = normalizeEscapes(part, queryRaw)
	}
	pattern := strings.Join(parts, "*")
	if end {
		pattern += "$"
	}
	return &scope{host: name, pattern: newPathPattern(pattern)}, rule, nil
}

var defaultPorts = map[string]string{"http": "80", "https": "443", "ftp": "21"}

// cutPort splits an authority without user information.
func cutPort(authority string) (host, port string) {
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		return authority[:i], authority[i+1:]
	}
	return authority, ""
}

// Len is the number of rules.
func (s *URLSet) Len() int {
	if s == nil {
		return 0
	}
	return len(s.rules)
}

// Match returns a rule by which a URL is in the set, if one is. The URL is one with a scheme and a host, best in canonical
// form; any other is in no set.
func (s *URLSet) Match(url string) (rule string, ok bool) {
	if s.Len() == 0 {
		return "", false
	}
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return "", false
	}
	authority, path := rest, "/"
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if path, _, _ = strings.Cut(path, "#"); path == "" || path[0] != '/' {
		path = "/" + path
	}
	if strings.IndexByte(path, '%') >= 0 { // a form of another profile
		path = normalizeEscapes(path, queryRaw)
	}
	scheme = strings.ToLower(scheme)
	host, port := cutPort(strings.ToLower(authority[strings.LastIndexByte(authority, '@')+1:]))
	if port == "" {
		port = defaultPorts[scheme]
	}
	var space [512]byte
	form := appendMatched(space[:0], []byte(path))
	find := func(t *hostTable) (at int64) {
		at = -1
		t.each([]byte(host), func(sc *scope) bool {
			r := &s.rules[sc.at]
			if (r.scheme == "" || r.scheme == scheme) && (r.port == "" || r.port == port) && sc.pattern.covers(form) {
				at = sc.at
			}
			return at < 0
		})
		return at
	}
	at := find(&s.in)
	if at < 0 || find(&s.out) >= 0 {
		return "", false
	}
	return s.rules[at].text, true
}
