package server

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/tools/browser"
)

// TestDashboardInBrowser opens the page in Chromium and compares what it shows,
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
	for _, want := range []string{">serving<", ">shop0.example<", ">412<", ">scheme<", ">mailto:x@y.example<", "<path d=", ">qiita<"} {
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
