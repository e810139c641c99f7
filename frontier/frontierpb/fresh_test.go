package frontierpb

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestFresh generates the stubs again and compares them with those committed.
func TestFresh(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the generators")
	}
	if _, err := exec.LookPath("protoc"); err != nil {
		t.Skipf("needs protoc (Debian: protobuf-compiler): %v", err)
	}
	dir := t.TempDir()
	if out, err := exec.Command("sh", "generate.sh", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot build the generators here: %v\n%s", err, out)
	}
	for _, name := range []string{"urlfrontier.pb.go", "urlfrontier_grpc.pb.go"} {
		if got, want := stub(t, filepath.Join(dir, name)), stub(t, name); got != want {
			t.Errorf("%s is stale; run go generate ./frontier/frontierpb", name)
		}
	}
}

var protocVersion = regexp.MustCompile(`(?m)^// .*protoc +v.*\n`)

// stub returns a generated file without the version of the machine's protoc,
// which does not matter to Go.
func stub(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return protocVersion.ReplaceAllString(string(text), "")
}
