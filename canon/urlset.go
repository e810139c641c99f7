package canon

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/firstseen/firstseen/internal/whatwg"
)

// A URLSet is a set of URLs, described by hosts and patterns: what belongs to a list or crawl, or what is left out of it. It
// is immutable and safe for concurrent use.
//
// Rule files ([WithRuleFile]) have the same hosts and patterns, since both describe parts of sites; the patterns are those of
// robots.txt (RFC 9309 2.2.3).
type URLSet struct{ in, out urlRules }

// urlRules are the rules of one kind.
type urlRules struct {
	hosts    hostTable
	nets     []*scope // address ranges, in any order
	rules    int
	patterns bool   // some rules have one
	every    string // a rule that covers every URL; "" if there is none
}

// ParseURLSet reads a set from lines, each a rule:
//
//	example.com              all URLs of a host, any scheme and port
//	*.example.com            of the hosts below it, itself not among them
//	example.com/shop/        whose path begins so; https://example.com:8443/shop/ names the scheme and port, too
//	example.com/*?*id=       "*" is any text, also in the query; a "$" at the end is the end of the URL
//	/cgi-bin/                of any host
//	192.0.2.0/24             of a range of addresses
//	!example.com/logout      an exception: not in the set, whatever other rules say
//
// Empty lines and lines that begin with "#" are comments. A set of exceptions alone has every other URL. A rule that no URL
// can fit is refused; see also [URLSet.Check]. The error names the line.
func ParseURLSet(text []byte) (*URLSet, error) {
	s := &URLSet{in: urlRules{hosts: newHostTable()}, out: urlRules{hosts: newHostTable()}}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	for number, line := range bytes.Split(text, []byte("\n")) {
		rule := strings.TrimSpace(string(line))
		if rule == "" || rule[0] == '#' {
			continue
		}
		to, place := &s.in, rule
		if except, ok := strings.CutPrefix(rule, "!"); ok {
			to, place = &s.out, strings.TrimSpace(except)
		}
		err := to.add(rule, place)
		if err == nil && s.out.every != "" {
			err = fmt.Errorf("got %q, which leaves no URL; want a narrower exception", rule)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number+1, err)
		}
	}
	if s.in.rules+s.out.rules == 0 {
		return nil, fmt.Errorf("got no rule; want lines such as example.com, *.example.com or !example.com/logout")
	}
	return s, nil
}

// Check refuses a set that has every URL, because of one rule: most often a variable was empty where the rule was written.
func (s *URLSet) Check() error {
	if s.in.every != "" && s.out.rules == 0 {
		return fmt.Errorf("got %q, which holds for every URL; want a host or path, or an exception beside it, such as !example.com", s.in.every)
	}
	return nil
}

func (r *urlRules) add(rule, place string) error {
	if strings.ContainsAny(place, " \t#") {
		return fmt.Errorf(`got %q; want one rule a line, without blanks and "#"`, rule)
	}
	r.rules++
	if net, err := netip.ParsePrefix(place); err == nil {
		r.nets = append(r.nets, &scope{text: rule, net: net.Masked()})
		return nil
	}
	sc := &scope{text: rule}
	if scheme, rest, ok := strings.Cut(place, "://"); ok && !strings.Contains(scheme, "/") {
		if sc.scheme = strings.ToLower(scheme); defaultPorts[sc.scheme] == "" {
			return fmt.Errorf("got %q; want the scheme http, https or ftp, or none", rule)
		}
		place = rest
	}
	host, path := place, ""
	if i := strings.IndexAny(place, "/?"); i >= 0 {
		host, path = place[:i], place[i:]
	}
	if host == "" && path != "" && sc.scheme == "" {
		host = "*"
	}
	want := misread(sc.scheme, place, host, path)
	if want == "" {
		want = sc.setAuthority(host)
	}
	if want == "" && strings.HasPrefix(path, "?") {
		want = "a path before the query: " + strings.Replace(rule, "?", "/?", 1)
	}
	if want != "" {
		return fmt.Errorf("got %q; want %s", rule, want)
	}
	if any := strings.TrimSuffix(path, "*$"); strings.TrimRight(any, "*") != "" && strings.TrimRight(any, "*") != "/" {
		text, end := strings.CutSuffix(path, "$")
		if hasDots(text, end) {
			return fmt.Errorf(`got %q; want a path without "\" and dot segments, which no canonical form has`, rule)
		}
		sc.pattern, r.patterns = newPathPattern(path), true
	}
	if sc.host == "*" && sc.scheme+sc.port == "" && sc.pattern == nil {
		r.every = rule
	}
	r.hosts.add(sc)
	return nil
}

// misread returns what to write instead of a rule that reads as something else than it looks like; "" for any other rule.
func misread(scheme, place, host, path string) (want string) {
	word, rest, _ := strings.Cut(place, "/")
	address := whatwg.EndsInNumber(word) || word != "" && word[0] == '[' || strings.Count(word, ":") > 1
	name, _, _ := strings.Cut(host, ":")
	switch {
	case scheme != "":
		return ""
	case address && rest != "" && strings.Trim(rest, "0123456789") == "":
		return "a range such as 192.0.2.0/24 or 2001:db8::/32, or for a path http://" + place
	case strings.Count(host, ":") > 1 && host[0] != '[':
		return "an IPv6 address in brackets"
	case defaultPorts[strings.ToLower(name)] != "":
		return strings.ToLower(name) + "://HOST/PATH, or a host"
	case strings.HasPrefix(place, "//"):
		return strings.TrimLeft(place, "/") + ", or https:" + place
	}
	return ""
}

// setAuthority reads host and port of a rule, or returns what to write instead.
func (s *scope) setAuthority(host string) (want string) {
	host, port := whatwg.CutPort(host)
	number, err := whatwg.CanonicalPort("", port)
	if err != nil || port == ":" {
		return "a port from 0 to 65535, or no colon"
	}
	if s.port = strings.TrimPrefix(number, ":"); s.port == "" {
		s.port = defaultPorts[s.scheme]
	}
	if host == "" {
		return `a host, "*.domain", a beginning of a URL, or "/" and a path`
	}
	host, want = hostOfRule(host)
	s.host = strings.TrimSuffix(host, ".")
	return want
}

// hasDots reports whether no canonical form has a path as in a pattern, since it has a backslash or a whole segment of dots. The
// last segment may go on, unless the pattern or a query ends it.
func hasDots(pattern string, end bool) bool {
	path, _, query := strings.Cut(pattern, "?")
	segments := strings.Split(normalizeEscapes(path, pathRaw), "/")
	if !end && !query {
		segments = segments[:len(segments)-1]
	}
	return strings.Contains(path, `\`) || slices.Contains(segments, ".") || slices.Contains(segments, "..")
}

var defaultPorts = map[string]string{"http": "80", "https": "443", "ftp": "21"}

// Has reports whether the set has a URL, given in canonical form: that of [Qiita] or [WHATWG], or of profiles that give
// URLs, which may have changed the host. rule is the line that decides, or "" if no line is about it.
func (s *URLSet) Has(canonical []byte) (rule string, has bool) {
	var space [512]byte
	u := setURL{host: Host(canonical)}
	scheme, rest, _ := bytes.Cut(canonical, []byte(":"))
	u.scheme = string(scheme)
	if i := bytes.IndexByte(rest, '/'); i == 0 && len(rest) > 1 && u.host != nil {
		rest = rest[2:] // the slashes before the authority
		if i = bytes.IndexAny(rest, "/?#"); i >= 0 && (s.in.patterns || s.out.patterns) {
			path, _, _ := bytes.Cut(rest[i:], []byte("#"))
			u.path = appendMatched(space[:0], path)
		}
	}
	name, port := whatwg.CutPort(string(u.host))
	if u.port = strings.TrimPrefix(port, ":"); u.port == "" {
		u.port = defaultPorts[u.scheme]
	}
	u.host = bytes.TrimSuffix(u.host[:len(name)], []byte("."))
	if rule := s.out.find(&u); rule != nil {
		return rule.text, false
	}
	if s.in.rules == 0 {
		return "", true
	}
	if rule := s.in.find(&u); rule != nil {
		return rule.text, true
	}
	return "", false
}

// setURL is what rules look at.
type setURL struct {
	scheme, port string
	host, path   []byte // the path with its query, in the form in which patterns are compared
}

// find returns the nearest rule that covers a URL; nil for none.
func (r *urlRules) find(u *setURL) (found *scope) {
	if len(u.host) == 0 {
		return nil
	}
	r.hosts.each(u.host, func(s *scope) bool {
		if (s.scheme == "" || s.scheme == u.scheme) && (s.port == "" || s.port == u.port) && (s.pattern == nil || s.pattern.covers(u.path)) {
			found = s
		}
		return found == nil
	})
	if found != nil || len(r.nets) == 0 {
		return found
	}
	addr, err := netip.ParseAddr(strings.Trim(string(u.host), "[]"))
	for _, s := range r.nets {
		if err == nil && s.net.Contains(addr) {
			return s
		}
	}
	return nil
}
