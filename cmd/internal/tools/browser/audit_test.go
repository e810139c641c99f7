package browser

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestAudit checks that the audit finds an element that is too wide, one that scrolls, and, with
// axe-core, a picture without a text.
func TestAudit(t *testing.T) {
	const page = `<!doctype html><html lang="en"><head><title>t</title></head><body style="margin:0"><main><h1>t</h1>
<p id="wide" style="width:500px">wide</p><div id="box" tabindex="0" style="overflow-x:auto"><p style="width:600px">in a box</p></div><img src="data:,"></main></body></html>`
	all := Audit(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, page)
	}), View{400, 800, true}, View{450, 800, false})
	if len(all) != 2 {
		t.Fatalf("got %d results; want 2", len(all))
	}
	got := all[0]
	if len(got.Wide) != 1 || !strings.HasPrefix(got.Wide[0], "p#wide") {
		t.Errorf("got wide %q; want p#wide", got.Wide)
	}
	if len(got.Scrolled) != 1 || !strings.HasPrefix(got.Scrolled[0], "div#box") {
		t.Errorf("got scrolled %q; want div#box", got.Scrolled)
	}
	if all := strings.Join(got.Violations, "\n"); got.Axe && !strings.Contains(all, "image-alt") {
		t.Errorf("got violations %s; want the picture without a text", all)
	}
}
