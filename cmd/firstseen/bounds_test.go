package main

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/frontier"
)

// namedNumber finds the numbers that a help says the meaning of: "0 for no bound", "; 0: all", "negative for no bound".
var namedNumber = regexp.MustCompile(`(?:^|[;,] )(-?\d+|negative)(?: for | keeps |: )`)

// namedWords are the words that helps name as values, by flag.
var namedWords = map[string]string{
	"log-level": "debug info warn error", "log-format": "text json", "queue-by": "host domain", "http": "off", "health": "off",
	"traps": "http all off http,yield off,yield-shadow", "events": "fetches links all auto", "invalid": "drop keep", "input": "lines jsonl",
	"format": "auto", "input-format": "auto",
}

// TestWhatTheHelpNames sets each flag of each command to each value that its help names: none is refused.
func TestWhatTheHelpNames(t *testing.T) {
	dir := t.TempDir()
	db, list := filepath.Join(dir, "db"), filepath.Join(dir, "list")
	if err := os.WriteFile(list, []byte("http://a.example/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	onStore(t, db, "qiita", func(f *frontier.Frontier) {
		if _, err := f.AddBatch(t.Context(), []frontier.Link{{URL: "http://a.example/"}}); err != nil {
			t.Fatal(err)
		}
	})
	// What a command needs besides the flag. Commands that take logs are given a list.
	args := map[string][]string{
		"serve": {"--db", db, "--check"}, "set": {"--db", db, "--crawl", "DEFAULT"}, "backup": {"--db", db, "--to", filepath.Join(dir, "backups")},
		"import": {"--db", filepath.Join(dir, "keys"), list}, "audit": {list}, "learn": {"--output", filepath.Join(dir, "rules"), list},
	}
	app := &app{out: io.Discard, err: io.Discard, log: slog.New(slog.DiscardHandler)}
	tried := 0
	for _, cmd := range newRootCmd(app).Commands() {
		if cmd.Name() == "version" {
			_ = cmd.ParseFlags(nil) // adds those of all commands
		}
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			for _, value := range namedBy(t, cmd, flag) {
				rest, known := args[cmd.Name()]
				if !known {
					rest = []string{list}
				}
				_, _, without := runCommand(t, append([]string{cmd.Name()}, rest...)...)
				status, _, errOut := runCommand(t, append([]string{cmd.Name(), "--" + flag.Name + "=" + value}, rest...)...)
				if tried++; status == statusMisuse && errOut != without {
					t.Errorf("%s --%s=%s: got %s; want it taken, as the help says: %s", cmd.Name(), flag.Name, value, errOut, flag.Usage)
				}
			}
		})
	}
	if tried < 30 {
		t.Errorf("got %d values that helps name; want 30 or more", tried)
	}
}

// namedBy returns the values that the help of a flag names.
func namedBy(t *testing.T, cmd *cobra.Command, flag *pflag.Flag) (values []string) {
	t.Helper()
	for _, m := range namedNumber.FindAllStringSubmatch(flag.Usage, -1) {
		values = append(values, strings.ReplaceAll(m[1], "negative", "-1"))
	}
	if flag.Value.Type() != "string" {
		return values
	}
	words := strings.Fields(namedWords[flag.Name])
	for i, word := range words {
		if !strings.Contains(flag.Usage, strings.Split(word, ",")[0]) && flag.DefValue != word {
			words[i] = ""
		}
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	if flag.Name == "format" && cmd.Name() != "diff" && cmd.Name() != "uniq" { // each format that is listed reads a list, or refuses it as input
		words = nil
	}
	return append(values, words...)
}

// TestVariables: each flag that variables set, and whose help says so, is set by one.
func TestVariables(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	t.Setenv("FIRSTSEEN_CHECK", "true")
	if status, out, errOut := runCommand(t, "serve", "--db", db); status != statusOK || !strings.HasPrefix(out, "ok\n") {
		t.Errorf("got status %d, %s%s; want a check", status, out, errOut)
	}
	if _, err := os.Stat(db); !os.IsNotExist(err) {
		t.Errorf("got %v; want that a check makes no store", err)
	}
}
