package frontierpb

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// unavailable is the status of generate.sh where its tools are not to be had.
const unavailable = 75

// TestFresh generates the stubs again and compares them with those committed.
func TestFresh(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the generators")
	}
	dir := t.TempDir()
	out, err := exec.Command("sh", "generate.sh", dir).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == unavailable {
		t.Skipf("needs what generate.sh needs: %s", out)
	}
	if err != nil {
		t.Fatalf("generate.sh: %v\n%s", err, out)
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
