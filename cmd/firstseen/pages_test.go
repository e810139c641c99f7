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
var pages = []string{"README.md", "cmd/firstseen/*.md", "store/redisstore/REDIS.md", "frontier/client/README.md", "canon/*.md", "examples/README.md"}

// foreign are flags of other programs on these pages.
var foreign = map[string]string{
	"data-binary": "curl", "retry": "curl", "retry-delay": "curl", "retry-connrefused": "curl", "cluster": "redis-cli", "tls": "redis-cli",
	"cluster-slave": "redis-cli", "cluster-master-id": "redis-cli", "cluster-use-empty-masters": "redis-cli",
	"cacert": "curl", "storage": "prometheus", "web": "prometheus", "archive": "rsync", "delete": "rsync",
}

var flagOnPage = regexp.MustCompile(`(?:^|[^-\w])--([a-z][a-z0-9-]+)`)

// TestPagesNameFlagsThatExist checks that every flag on the pages is one of some command.
func TestPagesNameFlagsThatExist(t *testing.T) {
	known := make(map[string]bool)
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

func collectFlags(cmd *cobra.Command, known map[string]bool) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
	for _, sub := range cmd.Commands() {
		collectFlags(sub, known)
	}
}
