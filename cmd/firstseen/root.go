package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// app is what the subcommands share: the process's streams and its log.
type app struct {
	in       io.Reader
	out, err io.Writer
	log      *slog.Logger
	level    slog.LevelVar       // of log; serve lets its clients change it
	store    pebblestore.Options // where serve has its store: the FS of tests
}

// run runs the command line and returns the exit status.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	a := &app{in: in, out: out, err: errOut, log: slog.New(slog.DiscardHandler)}
	root := newRootCmd(a)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	return a.status(cmd, err)
}

func newRootCmd(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "firstseen",
		Short: "Canonical forms of URLs, and whether they were seen before",
		Long: `Canonical forms of URLs, and whether they were seen before.

Flags of a command can be given as variables of the environment: --profile as
FIRSTSEEN_PROFILE. A flag that is given wins. Variables don't set flags that destroy
or replace something, nor --db of the commands that measure (replay, audit, learn).

-h after a command shows it on one screen, --help whole.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       readVersion().text(),
		Args:          noCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().Var(&value{"string", a.setLevel, func() string { return strings.ToLower(a.level.Level().String()) }}, "log-level",
		"least level that is logged: debug, info, warn or error")
	var format string
	oneOf(root.PersistentFlags(), &format, "log-format", "text", []string{"text", "json"}, "form of the log on stderr: text or json")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		warnOfUnknownVariables(root, a.err, os.Environ())
		if err := checkNames(cmd.Flags()); err != nil {
			return fmt.Errorf("cannot run %s: %w", cmd.Name(), err)
		}
		if err := flagsFromEnv(cmd.Flags(), os.LookupEnv); err != nil {
			return err
		}
		a.openLog(format)
		return nil
	}
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"lists", "URLs and lists of them:", []*cobra.Command{newUniqCmd(a), newDiffCmd(a), newCanonCmd(a), newExplainCmd(a)}},
		{"logs", "Logs of a crawl:", []*cobra.Command{newReplayCmd(a), newAuditCmd(a), newLearnCmd(a)}},
		{"daemon", "A daemon for fetchers:", []*cobra.Command{newServeCmd(a), newHealthCmd(a)}},
		{"crawl", "A crawl, in a store or through its daemon:", []*cobra.Command{newAddCmd(a), newStatsCmd(a), newListCmd(a), newWhyCmd(a), newFindCmd(a), newRequeueCmd(a), newFreeCmd(a), newDropCmd(a), newForgetCmd(a), newExcludeCmd(a), newSetCmd(a), newExportCmd(a)}},
		{"store", "A store:", []*cobra.Command{newImportCmd(a), newCopyCmd(a), newBackupCmd(a), newRestoreCmd(a), newVerifyCmd(a), newMigrateCmd(a)}},
		{"keys", "Keys:", []*cobra.Command{newHashCmd(a), newSXURLCmd(a)}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, cmd := range g.commands {
			cmd.GroupID = g.id
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(newVersionCmd(a))
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd.HasParent() && slices.Contains(args, "-h") && !slices.Contains(args, "--help") {
			writeShortHelp(a.out, cmd)
			return
		}
		help(cmd, args)
	})
	root.AddCommand(extraCommands(a)...)
	return root
}

// writeShortHelp writes the help of a command on one screen: without what its flags mean.
func writeShortHelp(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n", cmd.Short, cmd.UseLine())
	if cmd.Example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(w, "\n  %-10s %s", sub.Name(), sub.Short)
		}
	}
	fmt.Fprint(w, "\nFlags:")
	column := 100 // the first begins a line
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if f.Hidden {
			return
		}
		if column += len(name) + 2; column > 100 {
			fmt.Fprint(w, "\n")
			column = len(name) + 2
		}
		fmt.Fprint(w, "  "+name)
	})
	fmt.Fprintf(w, "\n\n'%s --help' says what they mean.\n", cmd.CommandPath())
}

// openLog sets the log up, on stderr.
func (a *app) openLog(format string) {
	options := &slog.HandlerOptions{Level: &a.level}
	a.log = slog.New(slog.NewTextHandler(a.err, options))
	if format == "json" {
		a.log = slog.New(slog.NewJSONHandler(a.err, options))
	}
}

// setLevel sets the least level that is logged.
func (a *app) setLevel(text string) error {
	var l slog.Level
	if err := l.UnmarshalText([]byte(text)); err != nil {
		return fmt.Errorf("got %q; want debug, info, warn or error", text)
	}
	a.level.Set(l)
	return nil
}

// typedOnly are flags that destroy, overrule or replace a file: a variable that is still
// set from another command must not mean them.
var typedOnly = map[string]bool{"help": true, "all": true, "repair": true, "force": true, "again": true,
	"output": true, "refused": true, "report": true, "csv": true, "to-file": true}

// typed keeps single flags of a command from being set by variables.
func typed(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		_ = flags.SetAnnotation(name, typedMark, nil) // the flag is there
	}
}

const typedMark = "firstseen_typed"

// places are flags that name a store, of which a command takes one. One that is typed has precedence over variables of the others.
var places = [][]string{{"db", "redis", "daemon"}, {"from-db", "from-redis", "daemon", "from-file"}, {"to-db", "to-redis", "to-file"}}

// mustName are flags that name a file, a directory, a store or what to select. Empty they come from a variable of a script that
// is not set, and would mean nothing or everything.
var mustName = strings.Fields(`against also-seen backup-dir ca client config crawl csv daemon db exclude-hashed from from-db
	from-file from-redis match notes output queue reason redis refused report rule-file scope state tls-cert tls-client-ca tls-key to to-db to-file
	to-redis token-file tokens url`)

// checkNames refuses flags of mustName that are empty.
func checkNames(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		empty := f.Value.String() == ""
		if list, ok := f.Value.(pflag.SliceValue); ok {
			empty = len(list.GetSlice()) == 0 || slices.Contains(list.GetSlice(), "")
		}
		if empty && slices.Contains(mustName, f.Name) && err == nil {
			err = fmt.Errorf(`--%s: got ""; want a value, or no --%[1]s`, f.Name)
		}
	})
	return err
}

// flagsFromEnv sets the flags that weren't given from FIRSTSEEN_… variables.
func flagsFromEnv(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var failed error
	named := map[string]bool{}
	for _, list := range places {
		if slices.ContainsFunc(list, flags.Changed) {
			for _, name := range list {
				named[name] = true
			}
		}
	}
	flags.VisitAll(func(f *pflag.Flag) {
		name := variableOf(f.Name)
		value, ok := lookup(name)
		_, marked := f.Annotations[typedMark]
		if !ok || value == "" && slices.Contains(mustName, f.Name) || f.Changed || failed != nil || typedOnly[f.Name] || named[f.Name] || marked {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			failed = fmt.Errorf("cannot read variable %s: %w", name, valueError(err))
		}
	})
	return failed
}

// The exit statuses.
const (
	statusOK      = 0
	statusRefused = 1 // some input was refused
	statusMisuse  = 2
	statusFailed  = 3
)

// errRefused ends a command whose output already lists the refused input.
var errRefused = errors.New("some input was refused")

// worst joins errors. That some input was refused counts only where nothing failed.
func worst(errs ...error) error {
	var failed []error
	refused := false
	for _, err := range errs {
		if err == errRefused {
			refused = true
		} else if err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) == 0 && refused {
		return errRefused
	}
	return errors.Join(failed...)
}

// failure marks an error of running a command, as against one of calling it.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// misuse marks an error of calling a command that only running it could find.
type misuse struct{ error }

func (m misuse) Unwrap() error { return m.error }

func misusef(format string, args ...any) error { return misuse{fmt.Errorf(format, args...)} }

// running wraps what a command does: its errors are failures unless they say
// otherwise. Errors outside of it come from reading flags and arguments.
func running(f func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := f(cmd, args)
		var m misuse
		if err == nil || errors.As(err, &m) || errors.Is(err, errRefused) {
			return err
		}
		return failure{err}
	}
}

// status prints the error of a command to stderr, and returns the exit status.
func (a *app) status(cmd *cobra.Command, err error) int {
	var f failure
	switch {
	case err == nil:
		return statusOK
	case errors.As(err, &f):
		todo := ""
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			todo = "; free some space, or write to another disk (TMPDIR names that of temporary files), and run the command again"
		}
		fmt.Fprintf(a.err, "firstseen: %v%s\n", err, todo)
		return statusFailed
	case errors.Is(err, errRefused):
		return statusRefused
	}
	fmt.Fprintf(a.err, "firstseen: %v\nSee '%s --help'.\n", groupError(err), cmd.CommandPath())
	return statusMisuse
}

// groupOfFlags finds the flags in cobra's errors about groups of them.
var groupOfFlags = regexp.MustCompile(`^(?:at least one of the flags in the group \[(.*)\] is required|if any flags in the group \[.*\] are set none of the others can be; \[(.*)\] were all set)$`)

// groupError says of an error about a group of flags what to do.
func groupError(err error) error {
	m := groupOfFlags.FindStringSubmatch(err.Error())
	switch {
	case m == nil:
		return err
	case m[1] != "":
		return fmt.Errorf("give one of --%s", strings.Join(strings.Fields(m[1]), ", --"))
	}
	return fmt.Errorf("give only one of --%s", strings.Join(strings.Fields(m[2]), ", --"))
}

// unlessReported returns the error of a Close, or nil if both it and err, which is reported, are
// the failure of the store.
func unlessReported(closed, err error) error {
	if errors.Is(err, store.ErrFailed) && errors.Is(closed, store.ErrFailed) {
		return nil
	}
	return closed
}

// takes refuses more or fewer arguments than a command takes.
func takes(least, most int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		got := ""
		switch n := len(args); {
		case n > most:
			got = fmt.Sprintf("argument %q", args[most])
		case n < least:
			got = []string{"no argument", "one argument"}[n]
		default:
			return nil
		}
		return fmt.Errorf("cannot run %s; got %s; want %s", cmd.Name(), got, want)
	}
}

var (
	noArgs    = takes(0, 0, "flags alone")
	someFiles = takes(1, math.MaxInt, `at least one file, or "-" for stdin`)
)

// flagError names the command whose flag could not be read.
func flagError(cmd *cobra.Command, err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if unknown && cmd.Name() == "explain" && slices.Contains(places[0], name) {
		return fmt.Errorf("cannot run explain: %w; it needs no store; for what one knows of a URL, run: firstseen why --%s …", err, name)
	}
	if meant := nearest(name, flagNamesOf(cmd.Flags())); unknown && meant != "" {
		return fmt.Errorf("cannot run %s: %w; did you mean --%s?", cmd.Name(), err, meant)
	}
	var bad *pflag.InvalidValueError
	if errors.As(err, &bad) {
		return fmt.Errorf("cannot run %s: --%s: %w", cmd.Name(), bad.GetFlag().Name, valueError(err))
	}
	return fmt.Errorf("cannot run %s: %w", cmd.Name(), err)
}

// valueError returns the error of a value that a flag refused. Of a switch pflag says only that it can't read it.
func valueError(err error) error {
	var bad *pflag.InvalidValueError
	switch {
	case !errors.As(err, &bad):
		return err
	case bad.GetFlag().Value.Type() == "bool":
		return fmt.Errorf("got %q; want true or false", bad.GetValue())
	}
	return bad.Unwrap()
}

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
	"FIRSTSEEN_ORACLES", "FIRSTSEEN_JAVA_STUBS", "FIRSTSEEN_PYTHON", "FIRSTSEEN_CRAWLEE", "FIRSTSEEN_SCRAPY", "FIRSTSEEN_COLLY", "FIRSTSEEN_SPARK", "FIRSTSEEN_FUZZING",
	"FIRSTSEEN_IN_SNIPPET", "FIRSTSEEN_UNICODE_PYTHON", "FIRSTSEEN_URL", "FIRSTSEEN_TOKEN", "FIRSTSEEN_BIN", "FIRSTSEEN_CA_FILE",
	"FIRSTSEEN_REDIS_PASSWORD", "FIRSTSEEN_LEASE", "FIRSTSEEN_PREFETCH", "FIRSTSEEN_GIVE_UP", "FIRSTSEEN_SERIALIZER",
}

// warnOfUnknownVariables warns of variables that look like settings and are none.
func warnOfUnknownVariables(root *cobra.Command, w io.Writer, environ []string) {
	known := map[string]bool{}
	collectVariables(root, known)
	names := slices.Sorted(maps.Keys(known))
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
	asked := &cobra.Command{}
	for _, name := range names {
		asked.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	for asked.SuggestionsMinimumDistance = 1; asked.SuggestionsMinimumDistance <= 2; asked.SuggestionsMinimumDistance++ {
		if meant := asked.SuggestionsFor(word); len(meant) == 1 {
			return meant[0]
		}
	}
	return ""
}

// versionInfo has the versions that a key depends on besides the URL: of the rules of the
// profile, and of the Unicode tables.
type versionInfo struct {
	Version        string `json:"version"`
	Revision       string `json:"revision,omitempty"`
	Modified       bool   `json:"modified,omitempty"`
	Go             string `json:"go"`
	Platform       string `json:"platform"`
	Profile        string `json:"profile"`
	ProfileVersion int    `json:"profile_version"`
	Unicode        string `json:"unicode"`
}

func newVersionCmd(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program, and of the rules that its keys depend on",
		Args:  noArgs,
		RunE: running(func(*cobra.Command, []string) error {
			v := readVersion()
			return a.answer(asJSON, v, func(out *output) { out.line(v.text()) })
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write a JSON object")
	return cmd
}

func readVersion() versionInfo {
	p := canon.Qiita()
	v := versionInfo{
		Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Profile: p.String(), ProfileVersion: p.Version(), Unicode: p.UnicodeVersion(),
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (v versionInfo) text() string {
	revision := v.Revision
	if v.Modified {
		revision += " (modified)"
	}
	return fmt.Sprintf("firstseen %s %s\nbuilt with %s for %s\nprofile %s, version %d; Unicode %s",
		v.Version, revision, v.Go, v.Platform, v.Profile, v.ProfileVersion, v.Unicode)
}
