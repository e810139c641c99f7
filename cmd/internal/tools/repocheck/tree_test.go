package repocheck

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// topLevel is all that belongs in the root of the repository; what begins with a dot does, too.
var topLevel = map[string]bool{
	"go.mod": true, "go.sum": true, "frontier": true, "canon": true, "hashkey": true, "store": true,
	"internal": true, "cmd": true, "examples": true, "README.md": true,
	"LICENSE": true, "Makefile": true, "CHANGELOG.md": true, "CONTRIBUTING.md": true,
	"BENCHMARKS.md": true, "COMPARISON.md": true,
}

func TestTopLevelStaysShort(t *testing.T) {
	for _, file := range tracked(t) {
		top, _, _ := strings.Cut(file, "/")
		if !topLevel[top] && !strings.HasPrefix(top, ".") {
			t.Errorf("got %s at the top level; want it in a directory, or in topLevel", top)
		}
	}
}

// TestFilesHoldOneIdea keeps hand-written Go files under 500 lines.
func TestFilesHoldOneIdea(t *testing.T) {
	for _, file := range tracked(t) {
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, ".pb.go") {
			continue
		}
		text, err := os.ReadFile(root + "/" + file)
		if os.IsNotExist(err) {
			continue // deleted and not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); n > 500 && !strings.Contains(string(text[:200]), "Code generated") {
			t.Errorf("%s has %d lines; want at most 500", file, n)
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
