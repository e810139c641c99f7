// Package declares applies declarations of sites to canonical forms.
package declares

import (
	"bytes"
	"strings"

	"github.com/firstseen/firstseen/frontier/declared"
)

// Ignored returns which parameters of a canonical form do not matter, by the No-Vary-Search
// field of its path, nil for none, and the Clean-param rules of its host. It returns nil if
// nothing of these holds there.
func Ignored(form []byte, search *declared.Search, clean []declared.CleanParam) func(name string) bool {
	var rules []declared.CleanParam
	if len(clean) > 0 {
		_, rest, _ := strings.Cut(string(form), "://")
		path := rest[max(0, strings.IndexByte(rest, '/')):]
		for _, rule := range clean {
			if rule.Covers(path) {
				rules = append(rules, rule)
			}
		}
	}
	if search == nil && rules == nil {
		return nil
	}
	return func(name string) bool {
		if search != nil && search.Ignores(name) {
			return true
		}
		for i := range rules {
			if rules[i].Names(name) {
				return true
			}
		}
		return false
	}
}

// AppendWithout appends a canonical form without the parameters that are ignored. dst and form
// must not overlap, except that dst may be form[:0].
func AppendWithout(dst, form []byte, ignored func(name string) bool) []byte {
	front, query, ok := bytes.Cut(form, []byte{'?'})
	dst = append(dst, front...)
	if !ok {
		return dst
	}
	sep := byte('?')
	for pair := range bytes.SplitSeq(query, []byte{'&'}) {
		if name, _, _ := bytes.Cut(pair, []byte{'='}); !ignored(string(name)) {
			dst = append(append(dst, sep), pair...)
			sep = '&'
		}
	}
	return dst
}
