package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/cmd/internal/synth"
)

// genFlags are the flags of the gen command.
type genFlags struct {
	web    synth.Options
	write  synth.WriteOptions
	format string
	output string
}

func newGenCmd(a *app) *cobra.Command {
	var f genFlags
	cmd := &cobra.Command{
		Use:    "gen",
		Hidden: true,
		Short:  "Make a synthetic web whose duplicates are known",
		Long: `Write the links or the captures of a web that does not exist. The same flags give the
same bytes, with any number of workers. The formats truth and captures add to each line the
page that it leads to and the rule by which the URL differs from the page's own; urls has the
lines of truth without these, and cdx, cdxj and crawl.log have those of captures. The last line on
stderr has the page to continue from.

Captures are written in order of time. If a program expects cdx or cdxj in the order of their
keys, sort the file.`,
		Example: `  firstseen gen --lines 1000000 >links.txt
  firstseen gen --format cdx --hosts 600 --pages 60000 >crawl.cdx`,
		Args: noArgs,
		RunE: running(func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) }),
	}
	f.add(cmd)
	return cmd
}

func (f *genFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "urls", "what to write: "+strings.Join(synth.FormatNames(), ", "))
	flags.StringVarP(&f.output, "output", "o", "-", `file to write, "-" for stdout`)
	flags.Int64Var(&f.write.Lines, "lines", 0, "lines to write; 0: all")
	flags.Int64Var(&f.write.From, "from-page", 0, "first page, to continue where an earlier run ended")
	flags.IntVar(&f.write.Workers, "workers", 0, "number of workers; 0: one for each processor")
	flags.Uint64Var(&f.web.Seed, "seed", 1, "which web to make")
	flags.IntVar(&f.web.Hosts, "hosts", 10_000, "number of hosts")
	flags.Int64Var(&f.web.Pages, "pages", 0, "approximate number of pages; 0: 20 for each host")
	flags.Float64Var(&f.web.HostExponent, "host-exponent", 1.05, "the host of rank r has r to the minus this of the pages")
	flags.Float64Var(&f.web.Links, "links", 62, "mean number of a page's own links")
	flags.IntVar(&f.web.Nav, "nav", 30, "links that all pages of a host share")
	flags.Float64Var(&f.web.Cross, "cross", 0.2, "share of links that leave the host")
	flags.Float64Var(&f.web.Skew, "skew", 2, "how much links prefer a host's first pages")
	flags.IntVar(&f.web.Window, "window", 64, "hosts crawled at once")
	flags.IntVar(&f.web.Quantum, "quantum", 64, "pages of a host before the next one's turn")
	flags.Float64Var(&f.web.Variant, "variant", 0.12, "share of links that are variants")
	flags.Float64Var(&f.web.Twin, "twin", 0.004, "share of pages with a look-alike that is another page")
	flags.Float64Var(&f.web.Volatile, "volatile", 0.25, "share of hosts whose pages change with every fetch")
	flags.Float64Var(&f.web.Params, "params", 0, "probability of captures with more parameters: two neutral and two meaningful names for each host")
	flags.Float64Var(&f.web.Redirects, "redirects", 0, "share of hosts that redirect variants in www, scheme, final slash or index file")
	flags.Float64Var(&f.web.Sections, "sections", 0, "of the hosts where a final slash matters, the share where it does not matter in dated directories")
	flags.Float64Var(&f.web.Recapture, "recapture", 0.15, "share of captured URLs that are captured again")
}

func (f *genFlags) run(ctx context.Context, a *app) (err error) {
	web, err := synth.New(f.web)
	if err != nil {
		return misuse{err}
	}
	f.write.Format = synth.Format(f.format)
	if err := web.Check(f.write); err != nil {
		return misuse{err}
	}
	out, err := a.create(f.output)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	buffered := bufio.NewWriterSize(out, 1<<20)
	done, err := web.Write(ctx, buffered, f.write)
	if err == nil || ctx.Err() != nil { // interrupted: the output ends with a whole page
		err = errors.Join(err, buffered.Flush())
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("cannot write the web; the output is cut short: %w", err)
	}
	fmt.Fprintf(a.err, "%d lines; next page %d of %d\n", done.Lines, done.Next, web.Pages())
	return err
}

// create opens a file to write, or stdout for "-".
func (a *app) create(name string) (io.WriteCloser, error) {
	if name == "-" {
		return keepOpen{a.out}, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("cannot make output file: %w", err)
	}
	return f, nil
}

// keepOpen is a stream that isn't ours to close.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }
