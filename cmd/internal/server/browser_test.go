package server

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/tools/browser"
)

// TestDashboardInBrowser opens the page in Chromium and compares its figures,
// after its script ran, with the store.
func TestDashboardInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	r := start(t, canon.Qiita(), Config{})
	var lines strings.Builder
	for i := range 1234 {
		fmt.Fprintf(&lines, "{\"url\":\"http://shop%d.example/%d\"}\n", i%3, i)
	}
	lines.WriteString(`{"url":"HTTP://shop0.example:80/0"}` + "\n" + `{"url":"mailto:x@y.example"}` + "\n" + `{"url":"http://<script>alert(1)<.example/"}`)
	r.request(t, "POST", "/v1/urls", lines.String())
	r.request(t, "POST", "/v1/lease", `{"max":3}`)
	dom := browser.DOM(t, r.url("/"), "--virtual-time-budget=5000")
	for name, want := range map[string]string{"queued or leased": "1,234", "seen": "1,234", "leased": "3", "completed": "0", "queues, 3 with URLs": "3"} {
		tile := regexp.MustCompile(`data-name="` + name + `"><b>([^<]*)</b>`).FindStringSubmatch(dom)
		if tile == nil || tile[1] != want {
			t.Errorf("tile %q: got %v; want %s", name, tile, want)
		}
	}
	for _, want := range []string{">serving<", ">shop0.example<", ">411<", ">none<", ">scheme<", ">mailto:x@y.example<", "<path d=", ">qiita<"} {
		if !strings.Contains(dom, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
	if strings.Contains(dom, "<script>alert") {
		t.Error("the page takes a URL for markup")
	}
	if t.Failed() {
		t.Log(dom)
	}
}

// TestDashboardIsAccessible looks at the page of an empty store and of one with long names, on a
// desk and on a phone, light and dark: nothing is wider than the page, and axe-core finds nothing.
func TestDashboardIsAccessible(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	empty := start(t, canon.Qiita(), Config{})
	full := start(t, canon.Qiita(), Config{})
	var lines strings.Builder
	for i := range 300 {
		fmt.Fprintf(&lines, "{\"url\":\"http://%s.%d.example/%s\",\"crawl\":\"crawl-%d\"}\n", strings.Repeat("long-name.", i%12+1)+"host", i, strings.Repeat("path", 30), i%3)
	}
	fmt.Fprintf(&lines, "{\"url\":\"mailto:%s@example.org\"}\n", strings.Repeat("somebody", 40))
	full.request(t, "POST", "/v1/urls", lines.String())
	full.request(t, "POST", "/v1/lease", `{"crawl":"crawl-1","max":20}`)
	for _, c := range []struct {
		name string
		r    *running
	}{{"empty", empty}, {"full", full}} {
		target, err := url.Parse(c.r.url("/"))
		if err != nil {
			t.Fatal(err)
		}
		var page http.Handler = httputil.NewSingleHostReverseProxy(target)
		for _, got := range browser.Audit(t, page, browser.Views()...) {
			v := got.View
			if len(got.Wide)+len(got.Violations) > 0 {
				t.Errorf("%s, %v: got wider than the page:\n%s\nviolations:\n%s", c.name, v, strings.Join(got.Wide, "\n"), strings.Join(got.Violations, "\n"))
			}
			for _, box := range got.Scrolled {
				if !strings.HasPrefix(box, "pre#offer") {
					t.Errorf("%s, %v: %s scrolls sideways", c.name, v, box)
				}
			}
		}
	}
}
