package server

import (
	"io/fs"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// elsewhere finds addresses of other servers. The name of the SVG namespace
// and the example in the input are none.
var elsewhere = regexp.MustCompile(`(?i)(https?:)?//[a-z0-9]`)

// TestNothingFromElsewhere checks that the page works on a machine without a
// network.
func TestNothingFromElsewhere(t *testing.T) {
	known := []string{"http://www.w3.org/2000/svg", "http://Example.org:80/"}
	err := fs.WalkDir(assets, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(assets, path)
		if err != nil {
			return err
		}
		left := string(text)
		for _, k := range known {
			left = strings.ReplaceAll(left, k, "")
		}
		if found := elsewhere.FindString(left); found != "" {
			t.Errorf("%s: got %q; want nothing from elsewhere", path, found)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestNoMarkupFromData checks that text of strangers can't become markup.
func TestNoMarkupFromData(t *testing.T) {
	text, err := fs.ReadFile(assets, "assets/app.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("} {
		if strings.Contains(string(text), way) {
			t.Errorf("the script uses %s; want textContent", way)
		}
	}
}

func TestHandler(t *testing.T) {
	for path, want := range map[string]string{"/": "<title>firstseen", "/app.js": "'use strict'", "/style.css": "prefers-color-scheme"} {
		w := httptest.NewRecorder()
		dashboard().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: got %d; want 200 and %q", path, w.Code, want)
		}
		if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") {
			t.Errorf("%s: got policy %q", path, csp)
		}
	}
}
