package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/hashkey/hasheduri"
)

// TestServeExcludesHashed: what a list of hashed URIs hides is refused, in any
// spelling, and nothing else.
func TestServeExcludesHashed(t *testing.T) {
	hasher := hasheduri.Hasher{Variant: hasheduri.N}
	hidden, err := hasher.Sum("http://secret.example/a")
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte(hidden.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, t.TempDir(), "--exclude-hashed", list)
	offered := `{"url":"HTTP://Secret.example:80/%61#x"}` + "\n" + `{"url":"http://secret.example/b"}` + "\n"
	answer, err := http.Post("http://"+d.http+"/v1/urls", "application/x-ndjson", strings.NewReader(offered))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(body)), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"excluded"`) || !strings.Contains(lines[1], `"new"`) {
		t.Errorf("got %s; want the first excluded, the second new", body)
	}
}
