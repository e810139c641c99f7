package canon

import (
	"strings"

	"github.com/firstseen/firstseen/internal/dotsegments"
)

func (w *work) lowercasePath() error {
	var b strings.Builder
	for i := 0; i < len(w.path); i++ {
		if isEscape(w.path, i) { // its digits stay upper-case
			b.WriteString(w.path[i : i+3])
			i += 2
			continue
		}
		b.WriteByte(lower(w.path[i]))
	}
	w.path = b.String()
	return nil
}

// dotSegments is RFC 3986 5.2.4 for a path that is empty or begins with a slash.
func (w *work) dotSegments() error {
	w.path = withoutDots(w.path)
	return nil
}

func withoutDots(path string) string {
	if !strings.Contains(path, "/.") {
		return path
	}
	return string(dotsegments.Remove([]byte(path)))
}

func (w *work) collapseSlashes() error {
	var b strings.Builder
	for i := range len(w.path) {
		if i == 0 || w.path[i] != '/' || w.path[i-1] != '/' {
			b.WriteByte(w.path[i])
		}
	}
	w.path = b.String()
	return nil
}

func (w *work) stripTrailingSlash() error {
	if path := strings.TrimRight(w.path, "/"); path != "" {
		w.path = path
	} else if w.path != "" {
		w.path = "/"
	}
	return nil
}

// indexNames are default documents; compared without case, since the servers that
// have the capitalised ones ignore case.
var indexNames = []string{
	"index.html", "index.htm", "index.shtml", "index.xhtml", "index.php", "index.jsp", "index.asp", "index.aspx",
	"index.cgi", "index.pl", "default.html", "default.htm", "default.asp", "default.aspx",
}

const longestIndex = len("default.aspx")

func isIndexName(s string) bool {
	for _, name := range indexNames {
		if strings.EqualFold(s, name) {
			return true
		}
	}
	return false
}

// stripIndex repeats when trailing slashes go too: "/index.html/index.html" is then "/".
func (w *work) stripIndex() error {
	for {
		cut := strings.LastIndexByte(w.path, '/') + 1
		if cut == 0 || !isIndexName(w.path[cut:]) {
			return nil
		}
		w.path = w.path[:cut]
		if !w.on.has(rStripTrailingSlash) {
			return nil
		}
		_ = w.stripTrailingSlash()
	}
}

func (w *work) emptyPath() error {
	if w.path == "" {
		w.path = "/"
	}
	return nil
}

// stripPathSessions drops ";jsessionid=…" up to the next ";" or "/", and whole
// segments like "(S(…24 letters and digits…))" of ASP.NET.
func stripPathSessions(path string) string {
	segments := strings.Split(path, "/")
	kept := segments[:0]
	for _, s := range segments {
		if s = stripJSession(s); !isASPSession(s) { // what the one leaves, the other may find
			kept = append(kept, s)
		}
	}
	if path = strings.Join(kept, "/"); !strings.HasPrefix(path, "/") {
		return "/" + path
	}
	return path
}

func stripJSession(segment string) string {
	params := strings.Split(segment, ";")
	kept := params[:1]
	for _, p := range params[1:] {
		if !hasPrefixFold(p, "jsessionid=") {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, ";")
}

// isASPSession matches "(" then one or more of a letter and 24 letters or digits in
// brackets, then ")": "(S(…))", "(A(…)S(…))".
func isASPSession(s string) bool {
	if len(s) < 2 || s[0] != '(' || s[len(s)-1] != ')' {
		return false
	}
	const group = len("S(") + 24 + len(")")
	s = s[1 : len(s)-1]
	if s == "" || len(s)%group != 0 {
		return false
	}
	for ; s != ""; s = s[group:] {
		if !isAlnum(s[:1]) || s[1] != '(' || !isAlnum(s[2:26]) || s[26] != ')' {
			return false
		}
	}
	return true
}

func isAlnum[T string | []byte](s T) bool {
	for i := range len(s) {
		if c := lower(s[i]); !('a' <= c && c <= 'z' || '0' <= c && c <= '9') {
			return false
		}
	}
	return true
}

// hasPrefixFold reports whether s begins with prefix, which is lower-case, in any case.
func hasPrefixFold[T string | []byte](s T, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if lower(s[i]) != prefix[i] {
			return false
		}
	}
	return true
}
