package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// noCommand refuses a word where a command is expected, and names the likely one.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	hint := ""
	switch meant := nearest(args[0], names); {
	case looksLikeURL(args[0]):
		hint = fmt.Sprintf("; for the canonical form of a URL, run: firstseen canon %s", quoted(args[0]))
	case isFile(args[0]):
		hint = fmt.Sprintf("; for the URLs of a file, each once, run: firstseen uniq %s", quoted(args[0]))
	case meant != "":
		hint = fmt.Sprintf("; did you mean %s?", meant)
	}
	return fmt.Errorf("there is no command %q%s", args[0], hint)
}

// hintOfArgument returns what to do instead where an argument that was refused as a URL is the
// name of a file; or "".
func hintOfArgument(command, arg string) string {
	if looksLikeURL(arg) || !isFile(arg) {
		return ""
	}
	return fmt.Sprintf("%s is a file; for the URLs in it, run: firstseen %s < %s", quoted(arg), command, quoted(arg))
}

func looksLikeURL(s string) bool {
	scheme, rest, ok := strings.Cut(s, "://")
	return ok && scheme != "" && rest != "" && !strings.ContainsAny(scheme, "/. ")
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}

// quoted is an argument as it can be pasted into a shell.
func quoted(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+,=", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(visible(s), "'", `'\''`) + "'"
}

// variableOf is the variable of the environment that sets a flag.
func variableOf(flag string) string {
	return "FIRSTSEEN_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// foreignVariables begin the names of variables that the program doesn't read and must not
// warn about: its tests, benchmarks and clients read them.
var foreignVariables = []string{
	"FIRSTSEEN_TEST_", "FIRSTSEEN_BENCH_", "FIRSTSEEN_KILL_", "FIRSTSEEN_SOAK_", "FIRSTSEEN_TORTURE", "FIRSTSEEN_SHARED", "FIRSTSEEN_VECTORS",
	"FIRSTSEEN_ORACLES", "FIRSTSEEN_JAVA_STUBS", "FIRSTSEEN_PYTHON", "FIRSTSEEN_CRAWLEE", "FIRSTSEEN_SCRAPY", "FIRSTSEEN_COLLY", "FIRSTSEEN_FUZZING",
	"FIRSTSEEN_IN_SNIPPET", "FIRSTSEEN_UNICODE_PYTHON", "FIRSTSEEN_URL", "FIRSTSEEN_TOKEN", "FIRSTSEEN_BIN", "FIRSTSEEN_CA_FILE",
	"FIRSTSEEN_REDIS_PASSWORD", "FIRSTSEEN_LEASE", "FIRSTSEEN_PREFETCH", "FIRSTSEEN_GIVE_UP", "FIRSTSEEN_SERIALIZER",
}

// warnOfUnknownVariables warns of variables that look like settings and are none.
func warnOfUnknownVariables(root *cobra.Command, w io.Writer, environ []string) {
	known := map[string]bool{}
	collectVariables(root, known)
	names := make([]string, 0, len(known))
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, "FIRSTSEEN_") || known[name] ||
			slices.ContainsFunc(foreignVariables, func(f string) bool { return strings.HasPrefix(name, f) }) {
			continue
		}
		hint := ""
		if meant := nearest(name, names); meant != "" {
			hint = "; did you mean " + meant + "?"
		}
		fmt.Fprintf(w, "firstseen: ignoring variable %s, as no flag is called --%s%s\n", name,
			strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "FIRSTSEEN_"), "_", "-")), hint)
	}
}

func collectVariables(cmd *cobra.Command, known map[string]bool) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { known[variableOf(f.Name)] = true })
	for _, sub := range cmd.Commands() {
		collectVariables(sub, known)
	}
}

func flagNamesOf(flags *pflag.FlagSet) (names []string) {
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// nearest returns the one name that a mistyped word probably means, or "". Cobra suggests commands; names of flags and
// variables are asked for as commands of these names.
func nearest(word string, names []string) string {
	if word == "" {
		return ""
	}
	asked := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, name := range names {
		asked.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	if meant := asked.SuggestionsFor(word); len(meant) == 1 {
		return meant[0]
	}
	return ""
}
