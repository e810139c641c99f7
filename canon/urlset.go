package canon

import (
	"bytes"
	"fmt"
	"net/netip"
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
	patterns bool // some rules have one
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
// Empty lines and lines that begin with "#" are comments. A set of exceptions alone has every other URL. The error names the
// line.
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
		if err := to.add(rule, place); err != nil {
			return nil, fmt.Errorf("line %d: %w", number+1, err)
		}
	}
	if s.in.rules+s.out.rules == 0 {
		return nil, fmt.Errorf("got no rule; want lines such as example.com, *.example.com or !example.com/logout")
	}
	return s, nil
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
	host, port := whatwg.CutPort(host)
	if sc.port = strings.TrimPrefix(port, ":"); sc.port == "" {
		sc.port = defaultPorts[sc.scheme]
	}
	var err error
	sc.host, err = scopeHost(strings.TrimSuffix(host, "."))
	name := strings.TrimPrefix(sc.host, "*")
	if err != nil || strings.Trim(sc.port, "0123456789") != "" || strings.Contains(name, "*") || name != sc.host && name != "" && name[0] != '.' {
		return fmt.Errorf(`got %q; want a host, "*.domain", a beginning of a URL, or "/" and a path`, rule)
	}
	if strings.HasPrefix(path, "?") {
		return fmt.Errorf("got %q; want a path before the query: %s", rule, strings.Replace(rule, "?", "/?", 1))
	}
	if path != "" && path != "/" && path != "/*" {
		text, end := strings.CutSuffix(path, "$")
		parts := strings.Split(text, "*")
		for i, part := range parts {
			parts[i] = normalizeEscapes(part, pathRaw)
		}
		if text = strings.Join(parts, "*"); end {
			text += "$"
		}
		sc.pattern, r.patterns = newPathPattern(text), true
	}
	r.hosts.add(sc)
	return nil
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
