package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDOM(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(page, []byte("<body><script>document.body.append(6*7)</script>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := DOM(t, "file://"+page); !strings.Contains(got, "42</body>") {
		t.Errorf("got %s; want what the script wrote", got)
	}
}
