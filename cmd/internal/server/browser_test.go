package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
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

// TestDashboardOfATenant opens the page with a token for one crawl, with a wrong one, and without: what it may not see, it
// calls so, and never shows as 0.
func TestDashboardOfATenant(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	const oneToken = "0123456789abcdef"
	r := start(t, canon.Qiita(), Config{TokensFile: tokenFile(t, "admin "+bossToken+"\nread "+oneToken+" crawls=one\n")})
	r.requestWith(t, bossToken, "POST", "/v1/urls", `{"url":"http://a.example/1","crawl":"one"}`+"\n"+`{"url":"http://b.example/1","crawl":"two"}`)
	for _, c := range []struct {
		what, token string
		has, lacks  []string
	}{
		{"no token", "", []string{">token needed<", "asks for a token"}, []string{`class="tile"`, "a.example"}},
		{"a wrong token", strings.Repeat("x", 32), []string{">token needed<", "asks for a token"}, []string{`class="tile"`, "a.example"}},
		{"a tenant", oneToken, []string{">serving<", ">not for this token<", ">a.example<", ">new / s<", ">fetched / s<", ">not counted by crawl<", ` 150.0" class="new">`},
			[]string{"b.example", "no URLs were offered", ">offers that failed<", ">leases / s<"}},
		{"the operator", bossToken, []string{">serving<", ">a.example<", ">b.example<", ">offers that failed<", ">leases / s<"}, []string{"not for this token<", "not counted by crawl", "asks for a token"}},
	} {
		dom := browser.DOM(t, r.proxy(t, c.token), "--virtual-time-budget=5000")
		visible := regexp.MustCompile(`(?s)<section id="locked" hidden="">.*?</section>|<p id="nohistory" hidden="">.*?</p>`).ReplaceAllString(dom, "")
		for _, want := range c.has {
			if !strings.Contains(visible, want) {
				t.Errorf("%s: the page does not show %q", c.what, want)
			}
		}
		for _, not := range c.lacks {
			if strings.Contains(visible, not) {
				t.Errorf("%s: the page shows %q", c.what, not)
			}
		}
	}
}

// proxy returns the address of a proxy that adds a token to each request, as a browser in which it was typed does.
func (r *running) proxy(t testing.TB, token string) string {
	target, err := url.Parse(r.url("/"))
	if err != nil {
		t.Fatal(err)
	}
	p := &httputil.ReverseProxy{Rewrite: func(pr *httputil.ProxyRequest) {
		pr.SetURL(target)
		if token != "" {
			pr.Out.Header.Set("Authorization", "Bearer "+token)
		}
	}}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	return s.URL
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
