package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Screenshot writes a picture of a page, 4 seconds after it was opened, to a file in PNG.
func Screenshot(t testing.TB, url, file string, v View) {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skipf("needs Chromium: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	scheme := 1
	if v.Dark {
		scheme = 0
	}
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars", "--disable-background-networking",
		fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme), fmt.Sprintf("--window-size=%d,%d", v.Width, v.Height),
		"--virtual-time-budget=4000", "--user-data-dir="+profile(t), "--screenshot="+file, url)
	out, err := cmd.CombinedOutput()
	if _, missing := os.Stat(file); missing != nil {
		t.Fatalf("%s wrote no picture: %v\n%s", chromium, err, out)
	}
}
