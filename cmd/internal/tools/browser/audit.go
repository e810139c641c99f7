package browser

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A View is how a page is looked at.
type View struct {
	Width, Height int
	Dark          bool
}

// Views are those that each page must be fit for: of a desk and of a phone, light and dark.
func Views() []View {
	return []View{{1400, 1600, false}, {1400, 1600, true}, {390, 1600, false}, {390, 1600, true}}
}

func (v View) String() string {
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	return fmt.Sprintf("%d %s", v.Width, scheme)
}

// Audited is what was found on a page.
type Audited struct {
	View       View     // the width and scheme that the page had
	Wide       []string // elements that end beyond the window
	Scrolled   []string // elements whose content is wider than they are, and is scrolled
	Violations []string // of WCAG 2.2, levels A and AA
	Axe        bool     // whether axe-core looked for them
}

//go:embed audit.js
var auditScript string

// frames shows a page in a frame of each size: Chromium without a screen has windows of at least 500
// pixels.
func frames(views []View) string {
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang="en"><head><title>audit</title></head><body>`)
	for _, v := range views {
		scheme, _ := strings.CutPrefix(v.String(), strconv.Itoa(v.Width)+" ")
		fmt.Fprintf(&b, `<iframe src="/" style="border:0;width:%dpx;height:%dpx;color-scheme:%s"></iframe>`, v.Width, v.Height, scheme)
	}
	b.WriteString(`</body></html>`)
	return b.String()
}

var auditResult = regexp.MustCompile(`(?s)<pre class="audited">(.*?)</pre>`)

// Audit opens the page that a handler serves at /, in each view, waits until its script has run for
// 4 seconds, and returns what does not fit the width, and what axe-core finds. Without axe-core it
// finds only the former; see deps.sh.
func Audit(t testing.TB, page http.Handler, views ...View) []Audited {
	t.Helper()
	axe, err := os.ReadFile(axeFile())
	if err != nil {
		t.Logf("without axe-core, which make deps installs from npm: %v", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/audit-axe.js", func(w http.ResponseWriter, _ *http.Request) { script(w, string(axe)) })
	mux.HandleFunc("/audit.js", func(w http.ResponseWriter, _ *http.Request) { script(w, auditScript) })
	mux.HandleFunc("/audit.html", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, frames(views)) // the browser may have ended
	})
	mux.Handle("/", page)
	server := httptest.NewServer(withScripts(mux))
	defer server.Close()
	dom := DOM(t, server.URL+"/audit.html", "--window-size=1500,1000", "--virtual-time-budget=12000")
	var all []Audited
	for _, found := range auditResult.FindAllStringSubmatch(dom, -1) {
		var a Audited
		if err := json.Unmarshal([]byte(html.UnescapeString(found[1])), &a); err != nil {
			t.Fatalf("%v\n%s", err, found[1])
		}
		all = append(all, a)
	}
	for _, v := range views {
		if !slices.ContainsFunc(all, func(a Audited) bool { return a.View == v && a.Axe == (axe != nil) }) {
			t.Errorf("got no result for %v\n%.2000s", v, dom)
		}
	}
	return all
}

// script answers with a script, which is empty if it could not be read.
func script(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	_, _ = io.WriteString(w, text) // the browser may have ended
}

// withScripts adds the scripts of the audit to each page of HTML, and lets it be in a frame.
func withScripts(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		r.Header.Del("Accept-Encoding")
		r.Header.Del("If-Modified-Since")
		inner.ServeHTTP(answer, r)
		body := answer.Body.Bytes()
		if strings.HasPrefix(answer.Header().Get("Content-Type"), "text/html") && r.URL.Path != "/audit.html" {
			body = bytes.Replace(body, []byte("</head>"), []byte(`<script src="/audit-axe.js"></script><script src="/audit.js"></script></head>`), 1)
		}
		policy := answer.Header().Get("Content-Security-Policy")
		if answer.Header().Del("Content-Security-Policy"); policy != "" {
			w.Header().Set("Content-Security-Policy", strings.Replace(policy, "frame-ancestors 'none'", "frame-ancestors 'self'", 1))
		}
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(body) // the browser may have ended
	})
}

// axeFile is where make deps puts axe-core.
func axeFile() string {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return filepath.Join(dir, "bin", "axe", "node_modules", "axe-core", "axe.min.js")
}
