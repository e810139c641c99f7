package canon

import "strings"

// paramRules are the parameter rules of a rule file. A nil one has none.
type paramRules struct {
	hostTable
	digest string // of the rules, for Profile.String
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
func (r *paramRules) scopesFor(host, path []byte) (found []*scope) {
	if r == nil {
		return nil
	}
	r.each(host, func(s *scope) bool {
		if s.covers(path) {
			found = append(found, s)
		}
		return true
	})
	return found
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
