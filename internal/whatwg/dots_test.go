package whatwg

import (
	"strings"
	"testing"
)

// literal is the algorithm of RFC 3986, section 5.2.4, step by step, for paths that
// begin with a slash.
func literal(in string) string {
	out := ""
	for in != "" {
		switch {
		case strings.HasPrefix(in, "/./"), in == "/.":
			in = "/" + strings.TrimPrefix(in[2:], "/")
		case strings.HasPrefix(in, "/../"), in == "/..":
			in = "/" + strings.TrimPrefix(in[3:], "/")
			out = out[:max(strings.LastIndexByte(out, '/'), 0)]
		default:
			end := strings.IndexByte(in[1:], '/') + 1
			if end == 0 {
				end = len(in)
			}
			out, in = out+in[:end], in[end:]
		}
	}
	return out
}

func TestRemove(t *testing.T) {
	for path, want := range map[string]string{
		"": "", "/": "/", "/.": "/", "/..": "/", "/../..": "/", "/a/b/..": "/a/", "/a/b/.": "/a/b/",
		"/a/b/c/./../../g": "/a/g", "/a//..": "/a/", "/a//../b": "/a/b", "//..": "/", "/.a/..b/...": "/.a/..b/...",
		"/../a": "/a", "/%2e%2e/a": "/%2e%2e/a",
	} {
		if got := string(RemoveDots([]byte(path))); got != want {
			t.Errorf("%s: got %q; want %q", path, got, want)
		}
	}
}

// TestRemoveIsTheRFC compares all paths of up to nine characters of "/", "." and "a".
func TestRemoveIsTheRFC(t *testing.T) {
	compared := 0
	var try func(path string)
	try = func(path string) {
		compared++
		if got, want := string(RemoveDots([]byte(path))), literal(path); got != want {
			t.Errorf("%s: got %q; want %q", path, got, want)
		}
		if len(path) < 9 {
			for _, c := range []string{"/", ".", "a"} {
				try(path + c)
			}
		}
	}
	try("/")
	if want := 9841; compared != want {
		t.Errorf("compared %d paths; want %d", compared, want)
	}
}
