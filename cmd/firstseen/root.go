package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

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
or replace something, nor --db of the commands that measure (replay, audit, learn).`,
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
	root.AddCommand(
		newCanonCmd(a), newExplainCmd(a), newHashCmd(a), newUniqCmd(a), newDiffCmd(a), newReplayCmd(a), newVersionCmd(a),
		newGenCmd(a), newAuditCmd(a), newLearnCmd(a),
		newStatsCmd(a), newListCmd(a), newExportCmd(a), newImportCmd(a), newCopyCmd(a), newForgetCmd(a), newPurgeCmd(a), newPauseCmd(a, true), newPauseCmd(a, false), newDelayCmd(a), newLimitCmd(a), newVerifyCmd(a), newBackupCmd(a), newRestoreCmd(a), newMigrateCmd(a), newServeCmd(a), newHealthCmd(a), newSXURLCmd(a),
	)
	root.AddCommand(extraCommands(a)...)
	return root
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
