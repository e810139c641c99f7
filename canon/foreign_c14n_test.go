package canon

import (
	"errors"
	"testing"
)

func TestC14NVectors(t *testing.T) {
	eachRow(t, "c14n", func(t *testing.T, r struct {
		ID, Input, Py string
		PyError       string `json:"py_error"`
	}) {
		got, err := C14N().Canonicalize(r.Input)
		if got != r.Py || errors.Is(err, ErrURL) != (r.PyError != "") {
			t.Errorf("%s: %q: got %q, %v; want %q, error %q", r.ID, r.Input, got, err, r.Py, r.PyError)
		}
	})
}

func TestC14NKeepsItsFaults(t *testing.T) {
	for _, c := range []struct{ in, want, why string }{
		{"HTTP://U:P@H.com:80", "http://u:p@h.com/", "the userinfo is lower-cased"},
		{"http://h:080/", "http://h:080/", "only :80 itself is the default port"},
		{"http://h/a/b/..", "http://h/a", "the slash is lost"},
		{"http://h/a//../b", "http://h/b", "slashes collapse before dots are resolved"},
		{"http://h/%aF%af", "http://h/%aF%AF", "mixed digits are missed"},
		{"http://h/?&a", "http://h/?=&a=", "an empty parameter gets its ="},
		{"http://h/?a-b=1&a=1", "http://h/?a=1&a-b=1", "names are compared without the ="},
		{"http:a", "http:///a", "an authority is made up"},
		{"http://ΑΣ/", "http://ας/", "Unicode lower case, with the final sigma"},
		{"http://h/\xff", "http://h/\xff", "bytes that are not UTF-8 stay"},
	} {
		if got, err := C14N().Canonicalize(c.in); got != c.want || err != nil {
			t.Errorf("%s: %q: got %q, %v; want %q", c.why, c.in, got, err, c.want)
		}
	}
}
