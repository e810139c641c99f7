// Package browser opens pages in Chromium, for tests.
package browser

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/internal/testutil/hang"
)

// DOM returns a page as it stands after its script ran. It skips the test where
// no Chromium is installed, and where the one installed opens no page at all.
func DOM(t testing.TB, url string, flags ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skipf("needs Chromium: %v", err)
	}
	dom, err := open(t, chromium, url, flags...)
	if err == nil {
		return dom
	}
	if blank, other := open(t, chromium, "data:text/html,<p>blank</p>"); other != nil || !strings.Contains(blank, "<p>blank</p>") {
		t.Skipf("needs a Chromium that opens pages; %s does not open an empty one: %v", chromium, other)
	}
	t.Fatalf("cannot run %s: %v", chromium, err)
	return ""
}

func open(t testing.TB, chromium, url string, flags ...string) (string, error) {
	cmd := exec.CommandContext(hang.Context(t), chromium, append(flags, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+profile(t), "--dump-dom", url)...)
	cmd.WaitDelay = 10 * time.Second // its helpers may outlive it, and hold its output, which is whole
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return string(out), err
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
