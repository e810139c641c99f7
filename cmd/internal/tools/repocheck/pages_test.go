package repocheck

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/internal/freeport"
	"github.com/firstseen/firstseen/internal/testutil/hang"
)

const root = "../../../.."

// block is a fenced piece of a page: its language, its text, and what its commands print, if the next
// fence after it says so.
type block struct {
	lang, text string
	prints     *string
}

// optional are programs that a machine may lack. The blocks that begin with one of them are then left out.
var optional = []string{"promtool"}

// TestPages runs the pages as a reader would: of README.md each block of sh and each Go program alone, in the root of
// the repository; of the pages in docs all blocks of sh in one shell, in an empty directory, with the program on the
// PATH and the root of the repository in CLONE. A block of text directly behind one of sh is what its commands print.
// Addresses of this machine are replaced by free ones.
func TestPages(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every snippet of the pages")
	}
	if os.Getenv("FIRSTSEEN_IN_SNIPPET") != "" {
		t.Skip("already inside a run of a snippet")
	}
	clone, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "FIRSTSEEN_IN_SNIPPET=1", "CLONE="+clone, "PATH="+linked(t)+":"+os.Getenv("PATH"))
	for _, page := range pages(t) {
		blocks := blocks(t, page)
		if !slices.ContainsFunc(blocks, runnable) {
			continue
		}
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			if page != "README.md" {
				runBlocks(t, blocks, t.TempDir(), env)
				return
			}
			for _, b := range blocks {
				if runnable(b) && strings.TrimSpace(b.text) != "make test" {
					runBlocks(t, []block{b}, clone, env)
				}
			}
		})
	}
}

func runnable(b block) bool {
	return b.lang == "sh" || b.lang == "go" && strings.HasPrefix(b.text, "package main")
}

// pages are README.md and those of docs.
func pages(t *testing.T) (names []string) {
	for _, file := range tracked(t) {
		if file == "README.md" || strings.HasPrefix(file, "docs/") && strings.HasSuffix(file, ".md") {
			names = append(names, file)
		}
	}
	if len(names) < 10 {
		t.Fatalf("got %q; want README.md and the pages of docs", names)
	}
	return names
}

// linked returns a directory with the program, and with a go that takes it where a page builds or runs it: each page
// would link it again, which takes longer than all the rest of what it does. Any other command is go's own.
func linked(t *testing.T) (dir string) {
	t.Helper()
	realGo, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	program := filepath.Join(dir, "firstseen")
	if built := os.Getenv("FIRSTSEEN_BIN"); built != "" {
		err = os.Symlink(built, program)
	} else {
		build := exec.Command("go", "build", "-o", program, "./cmd/firstseen")
		build.Dir = root
		if out, failed := build.CombinedOutput(); failed != nil {
			err = fmt.Errorf("%w: %s", failed, out)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	script := `#!/bin/sh
case "$1 $2" in
"run ./cmd/firstseen") shift 2 && exec '` + program + `' "$@" ;;
"build -o") [ "$4" = ./cmd/firstseen ] && exec cp '` + program + `' "$3" ;;
esac
exec '` + realGo + `' "$@"
`
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	return dir
}

var fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// blocks returns the fenced pieces of a page, which the test reads from the file, not from a renderer.
func blocks(t *testing.T, page string) (list []block) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	end := 0
	for _, m := range fence.FindAllSubmatchIndex(text, -1) {
		b := block{lang: string(text[m[2]:m[3]]), text: string(text[m[4]:m[5]])}
		if between := bytes.TrimSpace(text[end:m[0]]); len(list) > 0 && b.lang == "text" && len(between) == 0 && list[len(list)-1].lang == "sh" {
			list[len(list)-1].prints = &b.text
		}
		list, end = append(list, b), m[1]
	}
	return list
}

var local = regexp.MustCompile(`127\.0\.0\.1:\d{4}\b`)

// runBlocks runs Go programs alone and sh blocks in one shell, and compares what each prints.
func runBlocks(t *testing.T, blocks []block, dir string, env []string) {
	var script strings.Builder
	var shown []block
	for _, b := range blocks {
		switch {
		case b.lang == "go" && runnable(b):
			runGo(t, b.text, env)
		case b.lang == "sh" && !lacks(t, b.text):
			fmt.Fprintf(&script, "%s\necho '%s'\n", b.text, endOfBlock)
			shown = append(shown, b)
		}
	}
	if len(shown) == 0 {
		return
	}
	if strings.Contains(script.String(), "curl ") {
		if _, err := exec.LookPath("curl"); err != nil {
			t.Skipf("needs curl: %v", err)
		}
	}
	free, addrs := replacement(t, script.String())
	env = append(slices.Clip(env), "FIRSTSEEN_HTTP="+addrs[0], "FIRSTSEEN_GRPC="+addrs[1])
	if !strings.Contains(script.String(), "FIRSTSEEN_REDIS") { // which has no disk
		env = append(env, "FIRSTSEEN_MIN_FREE=-1")
	}
	out := run(t, dir, env, "sh", "-euc", free.Replace(script.String()))
	for _, b := range shown {
		got, rest, _ := strings.Cut(out, endOfBlock+"\n")
		if out = rest; b.prints == nil {
			continue
		}
		if want := free.Replace(*b.prints); !pattern(want).MatchString(got) {
			t.Errorf("%s\nprints\n%s\nwant\n%s", b.text, got, want)
		}
	}
}

// endOfBlock separates what blocks print.
const endOfBlock = "=== end of block ==="

// replacement replaces the addresses of a text by free ones, of which the first two are the daemon's own.
func replacement(t *testing.T, text string) (free *strings.Replacer, addrs []string) {
	t.Helper()
	found := append([]string{"127.0.0.1:7072", "127.0.0.1:7071"}, local.FindAllString(text, -1)...)
	addrs, release, err := freeport.Take(t.Context(), len(found))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	var pairs []string
	for i, old := range found {
		if slices.Index(found, old) == i {
			pairs = append(pairs, old, addrs[i])
		}
	}
	return strings.NewReplacer(pairs...), addrs
}

// pattern matches what a page shows: … is any text, or any number of lines if it is a line. Blanks at the ends of lines
// make no difference.
func pattern(shown string) *regexp.Regexp {
	text := regexp.QuoteMeta(strings.TrimSpace(shown))
	text = regexp.MustCompile(`(?m)^…\n`).ReplaceAllString(text, `(?:.*\n)*`)
	text = regexp.MustCompile(`(?m)\n…$`).ReplaceAllString(text, `(?:\n.*)*`)
	text = strings.ReplaceAll(text, "…", ".*")
	return regexp.MustCompile(`^\s*` + strings.ReplaceAll(text, "\n", `[ \t]*\n`) + `\s*$`)
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

func runGo(t *testing.T, program string, env []string) {
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, root, env, "go", "run", file)
}

// unavailable is the status of commands that need what this machine lacks.
const unavailable = 75

func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	ctx := hang.Context(t)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == unavailable {
		t.Skipf("%s", out)
	}
	if err != nil {
		t.Fatalf("cannot run %s %q: %v\n%s", name, args, err, out)
	}
	t.Logf("%s", out)
	return string(out)
}
