package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestHelp: -h of each command fits a screen and names every flag, --help says what each means, and the groups of the
// program list every command once. Earlier names are not listed, and work.
func TestHelp(t *testing.T) {
	const screen = 48 // lines
	_, all, _ := runCommand(t, "--help")
	for _, title := range []string{"URLs and lists of them:", "Logs of a crawl:", "A daemon for fetchers:", "A crawl, in a store or through its daemon:", "A store:", "Keys:"} {
		if strings.Count(all, "\n"+title+"\n") != 1 {
			t.Errorf("got %s; want the group %q", all, title)
		}
	}
	for _, cmd := range newRootCmd(&app{}).Commands() {
		listed := strings.Contains(all, "\n  "+cmd.Name()+" ")
		if listed == cmd.Hidden {
			t.Errorf("%s: listed %v, hidden %v", cmd.Name(), listed, cmd.Hidden)
		}
		checkHelp(t, cmd, screen)
	}
	for _, old := range []string{"pause", "resume", "delay", "limit", "purge"} {
		if status, out, _ := runCommand(t, old, "--help"); status != statusOK || !strings.Contains(out, "firstseen") {
			t.Errorf("%s: got status %d, %s; want the name to stay", old, status, out)
		}
	}
}

func checkHelp(t *testing.T, cmd *cobra.Command, screen int) {
	t.Helper()
	_, short, _ := runCommand(t, cmd.Name(), "-h")
	_, whole, _ := runCommand(t, cmd.Name(), "--help")
	if n := strings.Count(short, "\n"); n > screen || n < 5 {
		t.Errorf("%s -h: got %d lines; want at most %d", cmd.Name(), n, screen)
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if !strings.Contains(short, "--"+f.Name) || !strings.Contains(whole, "--"+f.Name) || !strings.Contains(strings.Join(strings.Fields(whole), " "), strings.Join(strings.Fields(f.Usage), " ")) {
			t.Errorf("%s: --%s is not in both helps", cmd.Name(), f.Name)
		}
	})
}
