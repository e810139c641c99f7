package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// noArgs refuses arguments where a command takes flags alone.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("cannot run %s; got argument %q; want flags alone", cmd.Name(), args[0])
}

// oneArg wants one argument.
func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return fmt.Errorf("cannot run %s; got %d arguments; want %s", cmd.Name(), len(args), what)
	}
}

// someFiles wants at least one argument.
func someFiles(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return nil
	}
	return fmt.Errorf(`cannot run %s; got no file; want at least one, or "-" for stdin`, cmd.Name())
}

// flagError says of which command a flag could not be read.
func flagError(cmd *cobra.Command, err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if meant := nearest(name, flagNamesOf(cmd.Flags())); unknown && meant != "" {
		return fmt.Errorf("cannot run %s: %w; did you mean --%s?", cmd.Name(), err, meant)
	}
	return fmt.Errorf("cannot run %s: %w", cmd.Name(), err)
}

// flagGroup is flags of which at most one may be given, and at least one if need be. The flag
// groups of cobra do the same, but with fixed messages that do not help the user.
type flagGroup struct {
	needed bool
	names  []string
}

func oneOf(names ...string) flagGroup       { return flagGroup{true, names} }
func atMostOneOf(names ...string) flagGroup { return flagGroup{false, names} }

// wanting has a command check groups of flags before it runs.
func wanting(cmd *cobra.Command, groups ...flagGroup) {
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		for _, g := range groups {
			if err := g.check(cmd); err != nil {
				return err
			}
		}
		return nil
	}
}

func (g flagGroup) check(cmd *cobra.Command) error {
	var given []string
	for _, name := range g.names {
		if cmd.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	all := "--" + strings.Join(g.names[:len(g.names)-1], ", --") + " or --" + g.names[len(g.names)-1]
	switch {
	case len(given) > 1:
		return fmt.Errorf("cannot run %s; got %s; want one of them", cmd.Name(), strings.Join(given, " and "))
	case len(given) == 0 && g.needed:
		return fmt.Errorf("cannot run %s; got none of %s; want one", cmd.Name(), all)
	}
	return nil
}
