package yield

import (
	"bytes"
	"iter"
	"slices"
	"strings"
)

// rest ends the name of a group. A canonical URL has no raw braces, so no template is named like one.
const rest = "{rest}"

// maxGroups bounds the parameters, and the directories, that a template is counted for.
const maxGroups = 8

// groups yields a template and the groups that it belongs to, the smallest first: the URLs of its path
// with one of its parameters, those with any, and those below each of its directories. The whole host
// is no group: lowering it would change nothing.
func groups(template []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if !yield(template) {
			return
		}
		path, query, hasQuery := bytes.Cut(template, []byte{'?'})
		if bytes.IndexByte(query, '&') >= 0 {
			for i, param := range bytes.Split(query, []byte{'&'}) {
				if i < maxGroups && !yield(slices.Concat(path, []byte{'?'}, param, []byte("&"+rest))) {
					return
				}
			}
		}
		if hasQuery && !yield(slices.Concat(path, []byte("?"+rest))) {
			return
		}
		host := bytes.IndexByte(path, '/')
		for range maxGroups {
			end := bytes.LastIndexByte(path, '/')
			if end <= host || !yield(slices.Concat(path[:end], []byte("/"+rest))) {
				return
			}
			path = path[:end]
		}
	}
}

// byParameter reports whether a group is that of one parameter. A URL is in several of them, none
// of which is smaller than the others.
func byParameter(name []byte) bool { return bytes.HasSuffix(name, []byte("&"+rest)) }

// generated reports whether a directory of a group looks like an ID, as that of a session does.
func generated(name string) bool {
	return strings.Contains(name, "/{hash}/") || strings.Contains(name, "/{uuid}/")
}
