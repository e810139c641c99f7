package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestBadValues checks that a bad value of a flag, and one out of its bounds, is shown with what is wanted.
func TestBadValues(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"serve", "--delay", "5"}, `cannot run serve: --delay: got "5"; want a duration, such as 30s or 5m`},
		{[]string{"serve", "--attempts", "x"}, `cannot run serve: --attempts: got "x"; want a whole number`},
		{[]string{"serve", "--max-held", "99999999999999999999"}, `cannot run serve: --max-held: got "99999999999999999999"; want a smaller number`},
		{[]string{"serve", "--max-expired", "1,x"}, `cannot run serve: --max-expired: got "1,x"; want a number of 0 or more, or two with a comma`},
		{[]string{"serve", "--also-seen", "c="}, `cannot run serve: --also-seen: got "c="; want FILE or CRAWL=FILE`},
		{[]string{"canon", "--json=maybe"}, `cannot run canon: --json: got "maybe"; want true or false`},
		{[]string{"uniq", "--memory", "lots"}, `cannot run uniq: --memory: got "lots"; want bytes, as 512M or 2G`},
		{[]string{"serve", "--index-memory", "-2"}, `cannot run serve: --index-memory: got "-2"; want 0 or more, or -1 for no index`},
		{[]string{"serve", "--min-free", "8X"}, `cannot run serve: --min-free: got "8X"; want bytes, as 512M or 2G`},
		{[]string{"serve", "--cache", "100K"}, `cannot run serve: --cache: got "100K"; want whole MiB, as 512M or 2G`},
		{[]string{"serve", "--cache", "8M"}, `cannot run serve: --cache: got "8M"; want 16M or more`},
		{[]string{"serve", "--cache", "15"}, `cannot run serve: --cache: got "15"; want 16M or more`},
		{[]string{"serve", "--min-free", "-2"}, `cannot run serve: --min-free: got "-2"; want 0 or more, or -1 for no such bound`},
		{[]string{"serve", "--max-held", "-1"}, `cannot run serve: --max-held: got "-1"; want 0 or more`},
		{[]string{"serve", "--delay", "-1s"}, `cannot run serve: --delay: got "-1s"; want 0 or more`},
		{[]string{"serve", "--max-expired", "-1"}, `cannot run serve: --max-expired: got "-1"; want a number of 0 or more, or two with a comma`},
		{[]string{"serve", "--max-expired", "1,-1"}, `cannot run serve: --max-expired: got "1,-1"; want a number of 0 or more, or two with a comma`},
		{[]string{"serve", "--adaptive", "NaN"}, `cannot run serve: --adaptive: got "NaN"; want 0 or more`},
		{[]string{"serve", "--queue-by", "site"}, `cannot run serve: --queue-by: got "site"; want host or domain`},
		{[]string{"serve", "--max-in-flight", "-1"}, `cannot run serve: --max-in-flight: got "-1"; want 0 or more`},
		{[]string{"serve", "--traps", "maybe"}, `cannot run serve: --traps: got "maybe"; want http, all or off, alone or with ",yield", ",yield,unlisted" or ",yield-shadow"`},
		{[]string{"serve", "--crawl-profile", "=qiita"}, `cannot run serve: --crawl-profile: got "=qiita"; want a crawl, =, and a profile`},
	} {
		status, _, got := runCommand(t, c.args...)
		if line, _, _ := strings.Cut(got, "\n"); status != statusMisuse || line != "firstseen: "+c.want {
			t.Errorf("%v: got status %d, %s; want %s", c.args, status, line, c.want)
		}
	}
}

// TestEmptyNames tries each flag that names a file, a store or a selection with nothing, as an unset variable of a script leaves it.
func TestEmptyNames(t *testing.T) {
	places := regexp.MustCompile(`\b(file|directory|store|PEM|rule file)\b`)
	tried := 0
	var try func(cmd *cobra.Command)
	try = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			switch kind := f.Value.Type(); {
			case slices.Contains(mustName, f.Name):
				tried++
				args := append(strings.Fields(cmd.CommandPath())[1:], "--"+f.Name, "", "a", "b")
				status, _, got := runCommand(t, args...)
				for n := len(args) - 1; n > len(args)-3 && !strings.Contains(got, "--"+f.Name+": "); n-- { // the command takes fewer arguments
					status, _, got = runCommand(t, args[:n]...)
				}
				if status != statusMisuse || !strings.Contains(got, "--"+f.Name+": got ") {
					t.Errorf("%s --%s: got status %d, %s; want it refused", cmd.Name(), f.Name, status, got)
				}
			case f.Name != "format" && f.Name != "group" && strings.HasPrefix(kind, "string") && places.MatchString(f.Usage):
				t.Errorf("%s --%s may be empty: %s", cmd.Name(), f.Name, f.Usage)
			}
		})
		for _, sub := range cmd.Commands() {
			try(sub)
		}
	}
	try(newRootCmd(&app{}))
	if tried < 50 {
		t.Errorf("got %d flags; want those of all commands", tried)
	}
}
