package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// pages are those that name flags.
var pages = []string{"README.md", "docs/*.md", "examples/README.md", "examples/*/README.md"}

// foreign are flags of other programs on these pages.
var foreign = map[string]string{
	"data-binary": "curl", "retry": "curl", "retry-delay": "curl", "retry-connrefused": "curl", "cluster": "redis-cli", "tls": "redis-cli",
	"cluster-slave": "redis-cli", "cluster-master-id": "redis-cli", "cluster-use-empty-masters": "redis-cli",
	"cacert": "curl", "find-links": "pip", "test": "node", "firstseen": "bench.py", "pages": "bench.py", "rounds": "bench.py", "archive": "rsync", "delete": "rsync", "python": "protoc",
}

// commandOnPage is a call of the program in code of a page, up to a pipe or the end of the line.
var (
	codeOnPage    = regexp.MustCompile("(?s)```.*?```|`[^`\n]+`")
	commandOnPage = regexp.MustCompile("(?:^|[\\s/`(])firstseen ([a-z]+)((?:\\\\\n|[^`|;&\n])*)")
)

var flagOnPage = regexp.MustCompile(`(?:^|[^-\w])--([a-z][a-z0-9-]+)`)

// TestPagesNameFlagsThatExist checks that every flag on the pages is one of some command.
func TestPagesNameFlagsThatExist(t *testing.T) {
	known := map[string]bool{"help": true}
	collectFlags(newRootCmd(&app{in: os.Stdin, out: io.Discard, err: io.Discard}), known)
	found := 0
	for _, pattern := range pages {
		names, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: got %v, %v; want pages", pattern, names, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range flagOnPage.FindAllSubmatch(text, -1) {
				flag := string(m[1])
				if found++; !known[flag] && foreign[flag] == "" {
					t.Errorf("%s: got --%s; want a flag that exists", name, flag)
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("found %d flags on the pages; want more, or the test reads nothing", found)
	}
}

// TestPagesCallCommandsThatExist checks that what the pages call is a command, with flags of its own.
func TestPagesCallCommandsThatExist(t *testing.T) {
	root := newRootCmd(&app{in: os.Stdin, out: io.Discard, err: io.Discard})
	found := 0
	for _, pattern := range pages {
		names, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, code := range codeOnPage.FindAll(text, -1) {
				for _, m := range commandOnPage.FindAllStringSubmatch(string(code), -1) {
					found++
					cmd, _, err := root.Find([]string{m[1]})
					if err != nil || cmd == root {
						t.Errorf("%s: got firstseen %s; want a command that exists", name, m[1])
						continue
					}
					for _, f := range flagOnPage.FindAllStringSubmatch(m[2], -1) {
						if cmd.Flags().Lookup(f[1]) == nil && cmd.InheritedFlags().Lookup(f[1]) == nil && f[1] != "help" {
							t.Errorf("%s: got firstseen %s --%s; want a flag of the command", name, m[1], f[1])
						}
					}
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("found %d commands on the pages; want more, or the test reads nothing", found)
	}
}

func collectFlags(cmd *cobra.Command, known map[string]bool) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
	for _, sub := range cmd.Commands() {
		collectFlags(sub, known)
	}
}
