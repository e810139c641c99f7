package repocheck

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/internal/freeport"
)

const root = "../../../.."

// block is a fenced piece of the README: its language and its text.
type block struct{ lang, text string }

// pages are those whose snippets are run.
var pages = []string{"store/redisstore/REDIS.md", "README.md", "cmd/firstseen/AUDIT.md"}

// sessions are pages whose sh blocks follow each other in one shell.
var sessions = []string{"cmd/firstseen/HTTP.md", "cmd/firstseen/ARCHIVES.md", "cmd/firstseen/OPERATING.md"}

// optional are programs that a machine may lack. The blocks that begin with one of them are then
// left out of a session.
var optional = []string{"promtool", "prometheus"}

// TestPages runs what the README and other pages show: Go programs as they
// stand, and the commands of each sh block, in the root of the repository.
// Blocks in other languages are for reading only.
func TestPages(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every snippet of the pages")
	}
	if os.Getenv("FIRSTSEEN_IN_SNIPPET") != "" {
		t.Skip("already inside a run of a snippet")
	}
	env := append(os.Environ(), "FIRSTSEEN_IN_SNIPPET=1")
	if program := os.Getenv("FIRSTSEEN_BIN"); program != "" {
		env = append(env, "PATH="+linked(t)+":"+os.Getenv("PATH"))
	}
	for _, page := range pages {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			runPage(t, page, env)
		})
	}
	for _, page := range sessions {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			runSession(t, page, env)
		})
	}
}

// linked returns a directory with a go that takes FIRSTSEEN_BIN where a page builds or runs the program: each page
// would link it again, which takes longer than all the rest of what it does. Any other command is go's own.
func linked(t *testing.T) (dir string) {
	t.Helper()
	real, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	script := `#!/bin/sh
case "$1 $2" in
"run ./cmd/firstseen") shift 2 && exec "$FIRSTSEEN_BIN" "$@" ;;
"build -o") [ "$4" = ./cmd/firstseen ] && exec cp "$FIRSTSEEN_BIN" "$3" ;;
esac
exec '` + real + `' "$@"
`
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	return dir
}

// runSession runs the commands of a page together. A daemon that they start
// takes free ports.
func runSession(t *testing.T, page string, env []string) {
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for _, b := range blocks(string(text)) {
		if b.lang == "sh" && !lacks(t, b.text) {
			script.WriteString(b.text)
		}
	}
	addrs, release, err := freeport.Take(t.Context(), 4)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	runShell(t, script.String(), slices.Concat(env, []string{"FIRSTSEEN_HTTP=" + addrs[0], "FIRSTSEEN_GRPC=" + addrs[1], "FIRSTSEEN_MIN_FREE=-1",
		"PROMETHEUS_AT=" + addrs[2], "DRILL_AT=" + addrs[3]}))
}

// lacks reports whether a block begins with an optional program that this machine lacks.
func lacks(t *testing.T, block string) bool {
	name, _, _ := strings.Cut(block, " ")
	if !slices.Contains(optional, name) {
		return false
	}
	_, err := exec.LookPath(name)
	if err != nil {
		t.Logf("left out, needs %s: %v", name, err)
	}
	return err != nil
}

func runPage(t *testing.T, page string, env []string) {
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, b := range blocks(string(text)) {
		switch {
		case b.lang == "go" && strings.HasPrefix(b.text, "package main"):
			t.Run("go", func(t *testing.T) { runGo(t, b.text, env) })
			ran++
		case b.lang == "sh" && strings.TrimSpace(b.text) != "make test":
			t.Run("sh", func(t *testing.T) { runShell(t, b.text, env) })
			ran++
		}
	}
	if ran == 0 {
		t.Errorf("ran no snippet of %s; want at least one", page)
	}
}

var fence = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$")

func blocks(markdown string) []block {
	var bs []block
	for _, m := range fence.FindAllStringSubmatch(markdown, -1) {
		bs = append(bs, block{lang: m[1], text: m[2]})
	}
	return bs
}

func runGo(t *testing.T, program string, env []string) {
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, env, "go", "run", file)
}

// runShell runs a snippet with a scratch directory as $TMP, which is removed afterwards. It needs
// the tools of POSIX, gzip, and curl if the snippet uses it.
func runShell(t *testing.T, script string, env []string) {
	if strings.Contains(script, "curl ") {
		if _, err := exec.LookPath("curl"); err != nil {
			t.Skipf("needs curl: %v", err)
		}
	}
	run(t, env, "sh", "-euc", script)
}

// unavailable is the status of commands that need what this machine lacks.
const unavailable = 75

func run(t *testing.T, env []string, name string, args ...string) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = root
	cmd.Env = append(slices.Clip(env), "TMP="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == unavailable {
		t.Skipf("%s", out)
	}
	if err != nil {
		t.Fatalf("cannot run %s %q: %v\n%s", name, args, err, out)
	}
	t.Logf("%s", out)
}
