package canon

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"

	"github.com/firstseen/firstseen/internal/whatwg"
)

// scope is one entry of a rule file: at these paths of this host, drop these parameters,
// or all but these; or switch these rules.
type scope struct {
	path    string
	pattern *pathPattern // in place of a path; nil if there is none
	drop    *nameSet     // nil if the scope drops all that it does not keep
	keep    *nameSet     // nil if the scope only drops
	on, off ruleSet      // of an entry for a site
	host    string       // as in the file, for people
	text    string       // what else the entry says, for people
	source  string       // what the entry is based on, for people

	// Of a rule of a URLSet, whose line is text.
	scheme, port string // "" for any
	net          netip.Prefix
}

// String returns the place of the entry and, after it, its source.
func (s *scope) String() string {
	place := s.host + s.path
	if s.pattern != nil {
		place += s.pattern.String()
	}
	if s.source != "" {
		place += " (" + s.source + ")"
	}
	return place
}

// covers compares whole segments: "/wiki" covers "/wiki" and "/wiki/a", not "/wikipedia". A scope with a
// pattern covers no path: see covers of pathPattern.
func (s *scope) covers(path []byte) bool {
	n := len(s.path)
	if len(path) < n || string(path[:n]) != s.path {
		return false
	}
	return n == 0 || len(path) == n || s.path[n-1] == '/' || path[n] == '/'
}

// hostTable finds scopes by host.
type hostTable struct {
	exact   map[string][]*scope // by host
	below   map[string][]*scope // by the domain after "*."
	longest int                 // length of the longest domain in below
	all     []*scope            // host "*"
}

func newHostTable() hostTable {
	return hostTable{exact: map[string][]*scope{}, below: map[string][]*scope{}}
}

// length is how much a scope says of a path, in octets: RFC 9309 2.2.2 takes the rule with most.
func (s *scope) length() int {
	if s.pattern != nil {
		return len(s.pattern.text)
	}
	return len(s.path)
}

// add files a scope before those that say less, which are those of shorter paths and, of
// one path, the earlier ones.
func (t *hostTable) add(sc *scope) {
	domain, below := strings.CutPrefix(sc.host, "*.")
	switch {
	case sc.host == "*":
		t.all = insertScope(t.all, sc)
	case below:
		t.below[domain] = insertScope(t.below[domain], sc)
		t.longest = max(t.longest, len(domain))
	default:
		t.exact[sc.host] = insertScope(t.exact[sc.host], sc)
	}
}

func insertScope(list []*scope, sc *scope) []*scope {
	i := slices.IndexFunc(list, func(s *scope) bool { return s.length() <= sc.length() })
	if i < 0 {
		i = len(list)
	}
	return slices.Insert(list, i, sc)
}

// each calls yield with the scopes of a host, for any path, until yield returns false: first
// the scopes of the host itself, then those of the domains above it, longest first, then
// those for every host. It looks up no text longer than the longest domain, because hashing
// the rest of a host at each of its dots takes quadratic time.
func (t *hostTable) each(host []byte, yield func(*scope) bool) {
	if !eachOf(t.exact[string(host)], yield) {
		return
	}
	for len(t.below) > 0 {
		dot := bytes.IndexByte(host, '.')
		if dot < 0 {
			break
		}
		host = host[dot+1:]
		if len(host) <= t.longest && !eachOf(t.below[string(host)], yield) {
			return
		}
	}
	eachOf(t.all, yield)
}

func eachOf(scopes []*scope, yield func(*scope) bool) bool {
	for _, s := range scopes {
		if !yield(s) {
			return false
		}
	}
	return true
}

// paramRules are the parameter rules of a rule file. A nil one has none.
type paramRules struct {
	hostTable
	// single are the scopes of one host and one path, which sites can declare by the
	// thousand: by host and path.
	single   map[string][]*scope
	patterns bool // some entries have one
	list     []*scope
	digest   string // of the rules, for Profile.String
}

// nameSet is a set of parameter names as they are emitted, case-sensitive.
type nameSet struct {
	exact    map[string]bool
	prefixes []string
}

func newNameSet(names []string) *nameSet {
	s := &nameSet{exact: map[string]bool{}}
	for _, name := range names {
		prefix, isPrefix := strings.CutSuffix(name, "*")
		name = normalizeEscapes(prefix, queryRaw)
		if isPrefix {
			s.prefixes = append(s.prefixes, name)
		} else {
			s.exact[name] = true
		}
	}
	return s
}

func (s *nameSet) none() bool { return len(s.exact)+len(s.prefixes) == 0 }

func (s *nameSet) has(name []byte) bool {
	if s.exact[string(name)] {
		return true
	}
	for _, p := range s.prefixes {
		if len(name) >= len(p) && string(name[:len(p)]) == p {
			return true
		}
	}
	return false
}

// scopesFor returns the scopes that hold at a canonical host and path, the nearest first: those of the
// host before those of a domain above it before those of every host, then those that say most of the path.
// They depend on nothing a parameter rule changes, so a second run finds the same ones.
func (r *paramRules) scopesFor(host, path []byte) (found []*scope) {
	if r == nil {
		return nil
	}
	var space [256]byte
	form := append(space[:0], host...)
	if r.patterns {
		form = appendMatched(form, path)
		found = append(found, r.single[string(form)]...)
		form = form[len(host):]
	}
	exact := len(found)
	r.each(host, func(s *scope) bool {
		if s.pattern != nil && s.pattern.covers(form) || s.pattern == nil && s.covers(path) {
			found = append(found, s)
		}
		return true
	})
	if exact > 0 { // the others of this host may say more, in a pattern with many asterisks
		of := exact
		for of < len(found) && found[of].host == found[0].host {
			of++
		}
		slices.SortStableFunc(found[:of], func(a, b *scope) int { return b.length() - a.length() })
	}
	return found
}

// add files a scope.
func (r *paramRules) add(sc *scope) {
	r.patterns = r.patterns || sc.pattern != nil
	if sc.pattern == nil || !sc.pattern.single() || strings.HasPrefix(sc.host, "*") {
		r.hostTable.add(sc)
		return
	}
	if r.single == nil {
		r.single = map[string][]*scope{}
	}
	place := sc.host + sc.pattern.parts[0]
	r.single[place] = append(r.single[place], sc)
}

// pathPattern is a pattern for paths as robots.txt has it: the start of a path, in which "*" stands for
// any text and a final "$" for the end of the path (RFC 9309 2.2.3). Pattern and path are compared in one form, in
// which all but letters, digits, "-._~" and "/" have escapes (2.2.2). So "%2A" and "%24" in a pattern
// match the characters themselves, escaped or not, and "%62%61%7A" matches "baz".
type pathPattern struct {
	text  string   // in canonical form
	parts []string // between the asterisks, in the form in which they are compared
	end   bool     // whether the last part ends the path
}

func newPathPattern(text string) *pathPattern {
	p := &pathPattern{}
	text, p.end = strings.CutSuffix(text, "$")
	p.parts = strings.Split(text, "*")
	for i, part := range p.parts {
		p.parts[i] = normalizeEscapes(part, pathRaw)
	}
	if p.text = strings.Join(p.parts, "*"); p.end {
		p.text += "$"
	}
	for i, part := range p.parts {
		p.parts[i] = string(appendMatched(nil, []byte(part)))
	}
	return p
}

// appendMatched appends a path, whose escapes are normalised, in the form in which patterns are compared.
func appendMatched(dst, path []byte) []byte {
	for _, c := range path {
		if whatwg.IsUnreserved[c] || c == '/' || c == '%' {
			dst = append(dst, c)
		} else {
			dst = whatwg.AppendEscape(dst, c)
		}
	}
	return dst
}

// single reports whether the pattern covers one path only.
func (p *pathPattern) single() bool { return p.end && len(p.parts) == 1 }

func (p *pathPattern) String() string { return p.text }

// covers takes a path in the form in which patterns are compared.
func (p *pathPattern) covers(path []byte) bool {
	rest, ok := bytes.CutPrefix(path, []byte(p.parts[0]))
	if !ok {
		return false
	}
	for i, part := range p.parts[1:] {
		if p.end && i == len(p.parts)-2 {
			return bytes.HasSuffix(rest, []byte(part))
		}
		if _, rest, ok = bytes.Cut(rest, []byte(part)); !ok {
			return false
		}
	}
	return !p.end || len(rest) == 0
}

// dropsParam reports whether the scopes, the nearest first, drop the parameter. The nearest that says
// something of it decides. An entry without names to drop says that nothing is dropped. Of two entries that
// are as near, the one that keeps the parameter decides (RFC 9309 2.2.2: allow before disallow).
func dropsParam(scopes []*scope, name []byte) bool {
	for i, s := range scopes {
		if s.keeps(name) {
			return false
		}
		if s.drop != nil && !s.drop.has(name) {
			continue
		}
		for _, other := range scopes[i+1:] {
			if other.host != s.host || other.length() != s.length() {
				break
			}
			if other.keeps(name) {
				return false
			}
		}
		return true
	}
	return false
}

// keeps reports whether the scope says that the parameter stays.
func (s *scope) keeps(name []byte) bool {
	return s.keep != nil && s.keep.has(name) || s.drop != nil && s.drop.none() && s.keep == nil
}

// Rules that are switched for a site.
//
// Which entry of a rule file holds must not depend on what the entries do, or a second
// run could find another one: with strip-www on for www.example.com alone, the form has
// the host example.com, for which the entry no longer holds. So entries are looked up by
// a host and a path that no rule of theirs can change, the site of a URL: the host without
// "www." and final dot, the path without duplicate slashes, default document and final
// slash. Call the site of x k(x), and f_S the profile with the rules S that the entries at
// k(x) leave on. The rules of S change x in no way that k would not undo by changing more
// of the same, so k(f_S(x)) = k(x); then the second run uses S again, and f_S(f_S(x)) =
// f_S(x) holds for any S. Likewise a WHATWG parser leaves every f_S(x) alone.
//
// Three rules change a path in ways that k can't undo, and so can't be switched for a site:
// strip-session-ids, after which "/a/(S(…))/../b" is "/b" where else it is "/a/b",
// lowercase-path and repair-amp. Where they are on for all URLs, k has them too.

// siteRules are the rules that a rule file switches for sites.
type siteRules struct {
	hostTable
	on     ruleSet // what some of them switch on
	digest string  // of the rules, for Profile.String
}

// perSite are the rules that can be switched for a site.
var perSite = setOfRules([]ruleID{rKeepHashbang, rDropFragment, rDropQuery, rStripUserinfo, rStripTrailingDot, rStripWWW, rFoldHTTPS, rCollapseSlashes,
	rStripTrailingSlash, rStripIndex, rCompleteParams, rStripTrackingParams, rDropEmptyParams, rSortQuery, rSortValues})

// siteFolds make the host and path by which entries are looked up.
var siteFolds = setOfRules([]ruleID{rStripTrailingDot, rStripWWW, rCollapseSlashes, rStripTrailingSlash, rStripIndex})

// rulesAt returns on as the entries for a site switch it: the most specific one that speaks
// of a rule has the last word.
func (r *siteRules) rulesAt(host, path []byte, on ruleSet) ruleSet {
	var decided ruleSet
	r.each(host, func(s *scope) bool {
		if s.covers(path) {
			on = on&^(s.off&^decided) | s.on&^decided
			decided |= s.on | s.off
		}
		return true
	})
	return on
}

// knows reports whether there is an entry for a host.
func (r *siteRules) knows(host []byte) (known bool) {
	r.each(host, func(*scope) bool {
		known = true
		return false
	})
	return known
}

// siteOf returns the site of a URL. Its canonical form need not exist: ok is false then.
func (s *settings) siteOf(raw string, on ruleSet) (host, path string, ok bool) {
	w, err := s.cut(raw, on|siteFolds, nil)
	if err != nil {
		return "", "", false
	}
	for id := rLowercaseScheme; id <= rEmptyPath; id++ {
		w.apply(id)
	}
	return w.Host, w.Path, w.err == nil
}

// onFor returns the rules that are on for a URL, in the slow way.
func (q *qiita) onFor(raw string) ruleSet {
	on := q.on.without(rScopedRules)
	if !q.scoped {
		return on
	}
	host, path, ok := q.siteOf(raw, on)
	if !ok {
		return on
	}
	return q.sites.rulesAt([]byte(host), []byte(path), on)
}

// appendAtSite is appendOther for a profile with entries for sites.
func (q *qiita) appendAtSite(dst, raw []byte, l *layout, ok bool) ([]byte, error) {
	at := *q
	at.scoped = false
	if ok && !q.needsSlow(raw, l) {
		at.on = q.onAt(dst, raw, l)
	} else {
		at.on = q.onFor(string(raw))
	}
	at.note()
	if ok && at.isClean(raw, l) {
		return append(dst, raw[:l.end]...), nil
	}
	return at.appendHere(dst, raw, l, ok)
}

// onAt returns the rules that are on for a URL that scan has laid out; the path of its site
// is written behind dst, for a moment.
func (q *qiita) onAt(dst, raw []byte, l *layout) ruleSet {
	on := q.on.without(rScopedRules)
	host := stripWWW(raw[l.host:l.hostEnd])
	if !q.sites.knows(host) {
		return on
	}
	site := *q
	site.on = on | siteFolds
	path := site.appendPath(dst, raw[l.path:l.query], l.pathOK)[len(dst):]
	return q.sites.rulesAt(host, path, on)
}

// sitesOf describes the entries that hold for a URL.
func (q *qiita) sitesOf(raw string) (list []string) {
	if !q.scoped {
		return nil
	}
	q.eachSite(raw, func(s *scope) { list = append(list, s.String()+" "+s.text) })
	return list
}

func (q *qiita) eachSite(raw string, yield func(*scope)) {
	host, path, ok := q.siteOf(raw, q.on)
	if !ok {
		return
	}
	q.sites.each([]byte(host), func(s *scope) bool {
		if s.covers([]byte(path)) {
			yield(s)
		}
		return true
	})
}

// scopeOf names the entries by which a rule holds for raw, which is before when its turn
// comes; "" if it holds everywhere.
func (q *qiita) scopeOf(r Rule, raw, before string) string {
	var names []string
	switch id := findRule(r); {
	case id == rScopedParams:
		w, err := q.cut(before, 0, nil)
		if err != nil {
			return ""
		}
		for _, s := range q.params.scopesFor([]byte(w.Host), []byte(w.Path)) {
			names = append(names, s.String())
		}
	case q.scoped && !q.on.has(id):
		q.eachSite(raw, func(s *scope) {
			if s.on.has(id) && names == nil {
				names = append(names, s.String())
			}
		})
	}
	return strings.Join(names, ", ")
}

// fileDigest stands for the rules of a rule file that are on; ok is false if there is none.
func (q *qiita) fileDigest() (digest string, ok bool) {
	if q.params != nil && q.on.has(rScopedParams) {
		digest, ok = q.params.digest, true
	}
	if q.scoped {
		digest, ok = chainDigest(digest, "sites "+q.sites.digest), true
	}
	return digest, ok
}
