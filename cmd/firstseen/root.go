package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// app is what the subcommands share: the process's streams and its log.
type app struct {
	in       io.Reader
	out, err io.Writer
	log      *slog.Logger
	level    slog.LevelVar // of log; serve lets its clients change it
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
	level := root.PersistentFlags().String("log-level", "info", "least level that is logged: debug, info, warn or error")
	format := root.PersistentFlags().String("log-format", "text", "form of the log on stderr: text or json")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		warnOfUnknownVariables(root, a.err, os.Environ())
		if err := flagsFromEnv(cmd.Flags(), os.LookupEnv); err != nil {
			return err
		}
		return a.openLog(*level, *format)
	}
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"lists", "URLs and lists of them:", []*cobra.Command{newUniqCmd(a), newDiffCmd(a), newCanonCmd(a), newExplainCmd(a)}},
		{"logs", "Logs of a crawl:", []*cobra.Command{newReplayCmd(a), newAuditCmd(a), newLearnCmd(a)}},
		{"daemon", "A daemon for fetchers:", []*cobra.Command{newServeCmd(a), newHealthCmd(a)}},
		{"crawl", "A crawl, in a store or through its daemon:", []*cobra.Command{newStatsCmd(a), newListCmd(a), newSetCmd(a), newForgetCmd(a), newExportCmd(a),
			newPauseCmd(a, true), newPauseCmd(a, false), newDelayCmd(a), newLimitCmd(a), newPurgeCmd(a)}},
		{"store", "A store:", []*cobra.Command{newImportCmd(a), newCopyCmd(a), newBackupCmd(a), newRestoreCmd(a), newVerifyCmd(a), newMigrateCmd(a)}},
		{"keys", "Keys:", []*cobra.Command{newHashCmd(a), newSXURLCmd(a)}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, cmd := range g.commands {
			cmd.GroupID = g.id
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(newVersionCmd(a), newGenCmd(a))
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
	column := 80
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
func (a *app) openLog(level, format string) error {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return fmt.Errorf("cannot log; got level %q; want debug, info, warn or error", level)
	}
	a.level.Set(l)
	options := &slog.HandlerOptions{Level: &a.level}
	switch format {
	case "text":
		a.log = slog.New(slog.NewTextHandler(a.err, options))
	case "json":
		a.log = slog.New(slog.NewJSONHandler(a.err, options))
	default:
		return fmt.Errorf("cannot log; got format %q; want text or json", format)
	}
	return nil
}

// typedOnly are flags that destroy, overrule or replace a file: a variable that is still
// set from another command must not mean them.
var typedOnly = map[string]bool{"help": true, "all": true, "repair": true, "force": true, "again": true,
	"output": true, "report": true, "csv": true, "to-file": true}

// typed keeps single flags of a command from being set by variables.
func typed(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		_ = flags.SetAnnotation(name, typedMark, nil) // the flag is there
	}
}

const typedMark = "firstseen_typed"

// flagsFromEnv sets the flags that weren't given from FIRSTSEEN_… variables.
func flagsFromEnv(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		name := variableOf(f.Name)
		value, ok := lookup(name)
		_, marked := f.Annotations[typedMark]
		if !ok || f.Changed || failed != nil || typedOnly[f.Name] || marked {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			failed = fmt.Errorf("cannot read variable %s: %w", name, valueError(err))
		}
	})
	return failed
}
