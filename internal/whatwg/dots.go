package whatwg

import (
	"bytes"
	"strings"
)

// RemoveDots removes the segments "." and ".." from a path in place and returns it (RFC 3986,
// section 5.2.4). The path must be empty or begin with a slash. A ".." removes the segment
// before it, also an empty one. The time is linear: each byte is removed at most once.
func RemoveDots(path []byte) []byte {
	if !bytes.Contains(path, []byte("/.")) {
		return path
	}
	to := 0 // path[:to] is done and lacks its last slash, path[from] is a slash
	for from := 0; from < len(path); {
		next := len(path)
		if i := bytes.IndexByte(path[from+1:], '/'); i >= 0 {
			next = from + 1 + i
		}
		switch segment := path[from+1 : next]; string(segment) {
		case "..":
			to = max(bytes.LastIndexByte(path[:to], '/'), 0)
			fallthrough
		case ".":
			if next == len(path) {
				path[to] = '/'
				to++
			}
		default:
			to += copy(path[to:], path[from:next])
		}
		from = next
	}
	return path[:to]
}

// WithoutDots is RemoveDots of a string.
func WithoutDots(path string) string {
	if !strings.Contains(path, "/.") {
		return path
	}
	return string(RemoveDots([]byte(path)))
}
