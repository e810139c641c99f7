package repocheck

import (
	"os/exec"
	"strings"
	"testing"
)

// topLevel is all that belongs in the root of the repository; what begins with a dot does, too.
var topLevel = map[string]bool{
	"go.mod": true, "go.sum": true, "frontier": true, "canon": true, "hashkey": true, "store": true,
	"internal": true, "cmd": true, "examples": true, "README.md": true,
	"LICENSE": true, "Makefile": true, "CHANGELOG.md": true, "CONTRIBUTING.md": true,
	"docs": true,
}

func TestTopLevelStaysShort(t *testing.T) {
	for _, file := range tracked(t) {
		top, _, _ := strings.Cut(file, "/")
		if !topLevel[top] && !strings.HasPrefix(top, ".") {
			t.Errorf("got %s at the top level; want it in a directory, or in topLevel", top)
		}
	}
}

func tracked(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command("git", "ls-files")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("not a git checkout, so nothing says what belongs to it: %v", err)
	}
	return strings.Fields(string(out))
}
