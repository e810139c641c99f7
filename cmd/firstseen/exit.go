package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/store"
)

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
		fmt.Fprintf(a.err, "firstseen: %v\n", err)
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
