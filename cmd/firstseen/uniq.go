package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/cmd/internal/input"
	"github.com/firstseen/firstseen/cmd/internal/uniq"
)

// uniqFlags are the flags of uniq.
type uniqFlags struct {
	profile       profileFlags
	log           logFlags
	invalid       string
	strict, quiet bool
	zero          bool
}

func newUniqCmd(a *app) *cobra.Command {
	var f uniqFlags
	cmd := &cobra.Command{
		Use:   "uniq [FILE…]",
		Short: "Print each URL of a list or log the first time it is seen",
		Long: `Print each URL the first time its canonical form is seen: as it was found, in order, as
soon as it is read. Without a file, standard input is read. Lists of URLs and all logs and
archives that "firstseen replay" reads are recognised by their content, plain or compressed.

Lines that are no URL are dropped and counted. A closing line on standard error counts what
was read, printed, dropped as a duplicate and refused.`,
		Example: `  firstseen uniq urls.txt
  gau example.com | firstseen uniq
  tail -f found.log | firstseen uniq --rules +strip-www`,
		Args: cobra.ArbitraryArgs,
		RunE: running(func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) }),
	}
	flags := cmd.Flags()
	f.profile.add(flags)
	f.log.addFormatAs(flags, "input-format")
	f.log.addEvents(flags)
	flags.StringVar(&f.invalid, "invalid", "drop", "what becomes of lines that are no URL: drop, or keep to print them as they are")
	flags.BoolVar(&f.strict, "strict", false, "exit with status 1 if a line is no URL")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "write no closing line on standard error")
	flags.BoolVarP(&f.zero, "zero-terminated", "z", false, "end each printed URL with NUL instead of a line feed")
	return cmd
}

func (f *uniqFlags) run(ctx context.Context, a *app, names []string) error {
	opt, err := f.options()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		names = []string{"-"}
	}
	files := &fileSet{stdin: a.in, log: f.log.options()}
	r, err := uniq.Run(ctx, files.inputs(ctx, names), a.out, opt)
	return worst(err, f.close(ctx, a, &r))
}

func (f *uniqFlags) options() (opt uniq.Options, err error) {
	if f.invalid != "drop" && f.invalid != "keep" {
		return opt, misusef("cannot run uniq; got --invalid %q; want drop or keep", f.invalid)
	}
	if err = f.log.check(); err != nil {
		return opt, err
	}
	p, err := f.profile.open()
	if err != nil {
		return opt, err
	}
	opt.Identify, opt.KeepInvalid, opt.End = p.AppendCanonical, f.invalid == "keep", '\n'
	if f.zero {
		opt.End = 0
	}
	return opt, nil
}

// close writes the closing line and returns the error that the exit status is made of.
func (f *uniqFlags) close(ctx context.Context, a *app, r *uniq.Result) error {
	if !f.quiet {
		fmt.Fprintln(a.err, closingLine(r))
	}
	var errs []error
	for _, err := range r.Errors {
		switch {
		case errors.Is(err, input.ErrBinary):
			fmt.Fprintf(a.err, "firstseen: %v\n", err)
			errs = append(errs, errRefused)
		case ctx.Err() == nil || !errors.Is(err, ctx.Err()):
			errs = append(errs, err)
		}
	}
	if ctx.Err() != nil {
		errs = append(errs, errors.New("interrupted: what was read until then is printed"))
	}
	if f.strict && r.Refused+r.Unreadable > 0 {
		errs = append(errs, errRefused)
	}
	return worst(errs...)
}

func closingLine(r *uniq.Result) string {
	text := fmt.Sprintf("%s read: %s printed, %s duplicates, %s refused", grouped(r.URLs+r.Unreadable), grouped(r.Printed),
		grouped(r.Duplicates), grouped(r.Refused+r.Unreadable))
	if r.Kept > 0 {
		text += fmt.Sprintf(", %s of them printed as they are", grouped(r.Kept))
	}
	return text
}
