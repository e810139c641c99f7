package canon

import "strings"

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
