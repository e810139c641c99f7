package canon

import (
	"bytes"
	"strings"
)

// paramRules are the parameter rules of a rule file, found by host. A nil one has none.
type paramRules struct {
	exact  map[string][]*scope // by host
	below  map[string][]*scope // by the domain after "*."
	all    []*scope            // host "*"
	digest string              // of the file's rules, for Profile.String
}

// scope is one rule: at these paths of this host, drop these parameters, or all but these.
type scope struct {
	path string
	drop *nameSet // nil if the scope keeps
	keep *nameSet // nil if the scope drops
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

// scopesFor gives the scopes that hold at a canonical host and path. They depend on
// nothing a parameter rule changes, so a second run finds the same ones.
func (r *paramRules) scopesFor(host, path []byte) []*scope {
	if r == nil {
		return nil
	}
	found := appendAt(nil, r.all, path)
	found = appendAt(found, r.exact[string(host)], path)
	for {
		dot := bytes.IndexByte(host, '.')
		if dot < 0 || len(r.below) == 0 {
			return found
		}
		host = host[dot+1:]
		found = appendAt(found, r.below[string(host)], path)
	}
}

func appendAt(found, scopes []*scope, path []byte) []*scope {
	for _, s := range scopes {
		if s.covers(path) {
			found = append(found, s)
		}
	}
	return found
}

// covers compares whole segments: "/wiki" covers "/wiki" and "/wiki/a", not "/wikipedia".
func (s *scope) covers(path []byte) bool {
	n := len(s.path)
	if len(path) < n || string(path[:n]) != s.path {
		return false
	}
	return n == 0 || len(path) == n || s.path[n-1] == '/' || path[n] == '/'
}

// dropsParam tells whether one of the scopes drops the parameter.
func dropsParam(scopes []*scope, name []byte) bool {
	for _, s := range scopes {
		if s.drop != nil && s.drop.has(name) || s.keep != nil && !s.keep.has(name) {
			return true
		}
	}
	return false
}
