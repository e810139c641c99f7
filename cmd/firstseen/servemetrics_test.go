package main

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestServeTellsOfItsStore asserts that /metrics has the numbers of the store on disk.
func TestServeTellsOfItsStore(t *testing.T) {
	d := startDaemon(t, filepath.Join(t.TempDir(), "db"))
	if got := verdicts(t, d.http, []string{"http://a.com/"}); got != "new" {
		t.Fatalf("got %s; want new", got)
	}
	res, err := http.Get("http://" + d.http + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"index_bytes", "disk_bytes", "user_bytes_total", "written_bytes_total"} {
		_, value, found := strings.Cut(string(text), "\nfirstseen_store_"+name+" ")
		if !found || strings.HasPrefix(value, "0\n") {
			t.Errorf("firstseen_store_%s is 0 or missing", name)
		}
	}
}
