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

// stripIndex repeats when trailing slashes go too: "/index.html/index.html" is then "/".
func (w *work) stripIndex() error {
	for {
		cut := strings.LastIndexByte(w.path, '/') + 1
		if cut == 0 || !w.lists.isIndex(w.path[cut:]) {
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
