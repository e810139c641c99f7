// Package browser opens pages in Chromium, for tests.
package browser

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"
)

// DOM returns a page as it stands after its script ran. It skips the test where
// there is no Chromium.
func DOM(t testing.TB, url string, flags ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skipf("needs Chromium: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, chromium, append(flags, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+profile(t), "--dump-dom", url)...)
	cmd.WaitDelay = 10 * time.Second // its helpers may outlive it, and hold its output, which is whole
	out, err := cmd.Output()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatalf("cannot run %s: %v", chromium, err)
	}
	return string(out)
}

// profile is a directory that goes with the test, as far as it can: helpers of
// a browser that has ended may still write there, at which t.TempDir would fail
// the test.
func profile(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "firstseen-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
