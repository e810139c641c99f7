package yield

import (
	"bytes"
	"iter"
)

// rest ends the name of a group. A canonical URL has no raw braces, so no template is named like one.
const rest = "{rest}"

// maxGroups bounds the parameters, and the directories, that a template is counted for.
const maxGroups = 8

// groups yields a template and the groups that it belongs to, the smallest first: the URLs of its path
// with one of its parameters, those with any, and those below each of its directories. The whole host
// is no group: lowering it would change nothing. A name is good until the next.
func (t *Table) groups(template []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if !yield(template) {
			return
		}
		named := func(path []byte, mark byte, param []byte, end string) bool {
			t.scratch = append(append(append(append(t.scratch[:0], path...), mark), param...), end...)
			return yield(t.scratch)
		}
		path, query, hasQuery := bytes.Cut(template, []byte{'?'})
		if bytes.IndexByte(query, '&') >= 0 {
			i := 0
			for param := range bytes.SplitSeq(query, []byte{'&'}) {
				if i++; i > maxGroups {
					break
				}
				if !named(path, '?', param, "&"+rest) {
					return
				}
			}
		}
		if hasQuery && !named(path, '?', nil, rest) {
			return
		}
		host := bytes.IndexByte(path, '/')
		for range maxGroups {
			end := bytes.LastIndexByte(path, '/')
			if end <= host || !named(path[:end], '/', nil, rest) {
				return
			}
			path = path[:end]
		}
	}
}

// withAny returns the group of a template's path with any parameters, nil if it has none. It is good until the
// next name.
func (t *Table) withAny(template []byte) []byte {
	i := bytes.IndexByte(template, '?')
	if i < 0 {
		return nil
	}
	t.scratch = append(append(t.scratch[:0], template[:i+1]...), rest...)
	return t.scratch
}

// byParameter reports whether a group is that of one parameter. A URL is in several of them, none
// of which is smaller than the others.
func byParameter(name []byte) bool { return bytes.HasSuffix(name, []byte("&"+rest)) }

// generated reports whether a directory of a group looks like an ID, as that of a session does.
func generated(name []byte) bool {
	return bytes.Contains(name, []byte("/{hash}/")) || bytes.Contains(name, []byte("/{uuid}/"))
}

// combined reports whether all URLs of a template or a group have several parameters.
func combined(name []byte) bool {
	_, query, _ := bytes.Cut(name, []byte{'?'})
	return bytes.IndexByte(query, '&') >= 0
}
