package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

// A mistake is a setting that a command refuses, if found is true.
type mistake struct {
	found     bool
	got, want string
}

// refuse returns the first of the mistakes that was found, as misuse: one message names one setting.
func refuse(what string, mistakes ...mistake) error {
	for _, m := range mistakes {
		if m.found {
			return misusef("cannot %s; got %s; want %s", what, m.got, m.want)
		}
	}
	return nil
}

// below returns the mistake of a whole number that is less than least.
func below[N int | int64](flag string, value, least N) mistake {
	return mistake{value < least, fmt.Sprintf("--%s %d", flag, value), fmt.Sprintf("%d or more", least)}
}

// bounds are the bounds of flags that bounded added.
type bounds []func() mistake

// mistakes returns the values of the flags that are out of bounds.
func (b bounds) mistakes() []mistake {
	list := make([]mistake, len(b))
	for i, check := range b {
		list[i] = check()
	}
	return list
}

// special is a value of a flag with a meaning of its own.
type special[N any] struct {
	value N
	means string
}

// bounded adds a flag of a number: value is its default, least its least value, and special values may be less. The help and
// the check are made of the same values, so that what the help names is not refused.
func bounded[N int | int64 | time.Duration](b *bounds, fs *pflag.FlagSet, at *N, name string, value, least N, usage string, specials ...special[N]) {
	want := fmt.Sprint(least, " or more")
	if least == 0 {
		want = "0 or more" // also of a duration
	}
	for i, s := range specials {
		usage += fmt.Sprintf("%s %d %s", []string{";", ","}[min(i, 1)], s.value, s.means)
		if s.value < least {
			want += fmt.Sprintf(", or %d %s", s.value, s.means)
		}
	}
	switch at := any(at).(type) {
	case *int:
		fs.IntVar(at, name, int(value), usage)
	case *int64:
		fs.Int64Var(at, name, int64(value), usage)
	case *time.Duration:
		fs.DurationVar(at, name, time.Duration(value), usage)
	}
	*b = append(*b, func() mistake {
		named := slices.ContainsFunc(specials, func(s special[N]) bool { return s.value == *at })
		return mistake{*at < least && !named, fmt.Sprintf("--%s %v", name, *at), want}
	})
}

// notIn returns the mistake of a share for which ok is false.
func notIn(flag string, value any, ok bool, want string) mistake {
	return mistake{!ok, fmt.Sprintf("--%s %v", flag, value), want}
}

// flagError says of which command a flag could not be read.
func flagError(cmd *cobra.Command, err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if meant := nearest(name, flagNamesOf(cmd.Flags())); unknown && meant != "" {
		return fmt.Errorf("cannot run %s: %w; did you mean --%s?", cmd.Name(), err, meant)
	}
	var bad *pflag.InvalidValueError
	if errors.As(err, &bad) {
		return fmt.Errorf("cannot run %s: --%s: %w", cmd.Name(), bad.GetFlag().Name, valueError(err))
	}
	return fmt.Errorf("cannot run %s: %w", cmd.Name(), err)
}

// valueError says which value a flag wants. The packages that read numbers and durations say
// only that they cannot.
func valueError(err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	want := ""
	switch kind := bad.GetFlag().Value.Type(); kind {
	case "bool":
		want = "true or false"
	case "duration":
		want = "a duration, such as 30s or 5m"
	case "int", "int64", "uint", "uint64":
		want = "a whole number"
	case "float64":
		want = "a number"
	default: // our own types, whose errors say it
		return bad.Unwrap()
	}
	if errors.Is(err, strconv.ErrRange) {
		want = "a smaller number"
	}
	return fmt.Errorf("got %q; want %s", bad.GetValue(), want)
}
