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
	res, err := http.Post("http://"+d.http+"/v1/urls", "application/x-ndjson", strings.NewReader(`{"url":"http://a.com/"}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("got %s, %v", res.Status, err)
	}
	if res, err = http.Get("http://" + d.http + "/metrics"); err != nil {
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
