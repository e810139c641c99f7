package main

import (
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/cmd/internal/tools/browser"
)

// TestReportScreenshot checks that the picture in the README is one. With FIRSTSEEN_SCREENSHOTS set
// it makes the picture again, of the report of testdata/links.txt.
func TestReportScreenshot(t *testing.T) {
	view := browser.View{Width: 1100, Height: 362}
	if os.Getenv("FIRSTSEEN_SCREENSHOTS") != "" {
		file, err := filepath.Abs("report.png")
		if err != nil {
			t.Fatal(err)
		}
		page := filepath.Join(t.TempDir(), "page.html")
		command(t, "replay", "--report", page, filepath.Join("testdata", "links.txt"))
		browser.Screenshot(t, "file://"+page, file, view)
	}
	f, err := os.Open("report.png")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if head, err := png.DecodeConfig(f); err != nil || head.Width != view.Width || head.Height != view.Height {
		t.Errorf("got %d x %d pixels, %v; want %d x %d", head.Width, head.Height, err, view.Width, view.Height)
	}
	if page, err := os.ReadFile(filepath.Join("..", "..", "docs", "LOGS.md")); err != nil || !strings.Contains(string(page), "(../cmd/firstseen/report.png)") {
		t.Errorf("LOGS.md does not show the picture: %v", err)
	}
}
