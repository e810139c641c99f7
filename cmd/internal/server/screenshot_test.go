package server

import (
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/tools/browser"
)

// TestDashboardScreenshot checks that the picture in docs/SERVE.md is one. With FIRSTSEEN_SCREENSHOTS set
// it makes the picture again, of a store in memory.
func TestDashboardScreenshot(t *testing.T) {
	file, err := filepath.Abs(filepath.Join("..", "..", "firstseen", "dashboard.png"))
	if err != nil {
		t.Fatal(err)
	}
	view := browser.View{Width: 1400, Height: 1150}
	if os.Getenv("FIRSTSEEN_SCREENSHOTS") != "" {
		browser.Screenshot(t, crawledDaemon(t).url("/"), file, view)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if head, err := png.DecodeConfig(f); err != nil || head.Width != view.Width || head.Height != view.Height {
		t.Errorf("got %d x %d pixels, %v; want %d x %d", head.Width, head.Height, err, view.Width, view.Height)
	}
	if page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "SERVE.md")); err != nil || !strings.Contains(string(page), "(../cmd/firstseen/dashboard.png)") {
		t.Errorf("SERVE.md does not show the picture: %v", err)
	}
}

// crawledDaemon has queues of two crawls in several states.
func crawledDaemon(t *testing.T) *running {
	t.Helper()
	r := start(t, canon.Qiita(), Config{Queues: QueueDefaults{MaxInFlight: 1}})
	var lines strings.Builder
	for i := range 900 {
		fmt.Fprintf(&lines, "{\"url\":\"http://site%d.example/%d\",\"crawl\":%q}\n", i%(i%17+1), i, []string{"news", "shops"}[i%2])
	}
	lines.WriteString(`{"url":"mailto:x@y.example","crawl":"news"}` + "\n")
	r.request(t, "POST", "/v1/urls", lines.String())
	r.request(t, "POST", "/v1/lease", `{"crawl":"news","max":4,"lease_seconds":600}`)
	r.request(t, "POST", "/v1/queue", `{"crawl":"shops","queue":"site1.example","paused":true}`)
	r.request(t, "POST", "/v1/queue", `{"crawl":"shops","queue":"site3.example","blocked_until":"2040-01-31T12:00:00Z"}`)
	return r
}
