package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/cmd/internal/uniq"
	"github.com/firstseen/firstseen/store"
)

func newUniqCmd(a *app) *cobra.Command {
	f := newUniqFlags()
	cmd := &cobra.Command{
		Use:   "uniq [FILE…]",
		Short: "Print each URL of a list or log the first time it is seen",
		Long: `Print each URL the first time its canonical form is seen: as it was found, in order, as
soon as it is read. Without a file, standard input is read. Lists of URLs and all logs and
archives that "firstseen replay" reads are recognised by their content, plain or compressed.

--scope, --not-ext and --with-query leave URLs out, and each counts what it took. --sort host
prints the URLs of a host together. Files of several tools can be given in one call: the format of
each is found for itself.

--by compares something else than the canonical form: "exact" the text, "host" the host,
"domain" the registrable domain, "shape" the host, the path with numbers, dates, UUIDs,
hashes and slugs replaced, and the names of the parameters. --keep N prints the first N URLs
of each host, domain or shape; --show-shape prints what they are compared by before each.

--keep last prints the last of equal URLs instead of the first; --keep-by names a column that says
which is last, so that of several snapshots the newest wins. --format jsonl, csv or parquet says
where each URL was found: file and row, or the offset of an archive record.

-d prints the duplicates instead, each with the first URL and the rules that merged them,
separated by tabs. -c prints each URL with how often it came, at the end.

With --db the URLs are remembered from run to run: each is printed once, and recorded after
it was printed, also on Ctrl-C and when the reader of the output ends. Lines written
to a pipe count as printed even if its reader ends without reading them (up to 64 KiB on
Linux). After kill -9 or on a full disk the next run may print a URL again; no URL is lost. A
second process on the same directory waits. Files that were read to their end are not read again,
unless they changed or --again is given. Use a directory of its own: a crawler or daemon
with the same store would never fetch the URLs that uniq recorded.

--against prints what is in none of its files, which may be lists, logs, archives and key
files of "firstseen export"; --common prints what is in one of them.

Lines that are no URL are dropped and counted. A closing line on standard error counts what
was read, printed, dropped as a duplicate and refused; with --counts-json it is one JSON object, with
what became of each line of each file. Lists of hosts are refused unless --scheme https says
what they are of, and files that can be read in two ways unless --input-format or --url-field decides.

About 10 bytes are kept of each different URL. When they fill --memory, the further ones go
to a temporary store in TMPDIR, which is removed at the end. -c and -d need 64 bytes a URL;
beyond --memory they write the rest of the list to a file in TMPDIR, and -d prints the
duplicates in that rest at the end.`,
		Example: `  firstseen uniq urls.txt
  gau example.com | firstseen uniq
  tail -f found.log | firstseen uniq --rules +strip-www
  katana -u example.com | firstseen uniq --db seen
  firstseen uniq --by shape --keep 2 urls.txt
  firstseen uniq --scope scope.txt --not-ext static --with-query --sort host gau.txt katana.jsonl burp.xml
  firstseen uniq --keep last --keep-by timestamp --format parquet snapshots/*.parquet > urls.parquet
  firstseen uniq --against fetched.cdxj.gz outlinks.txt`,
		Args: cobra.ArbitraryArgs,
		RunE: running(func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) }),
	}
	f.add(cmd.Flags())
	f.addMemory(cmd.Flags())
	return cmd
}

func newDiffCmd(a *app) *cobra.Command {
	f := newUniqFlags()
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Print the URLs of a list or log that another one does not have",
		Long: `Print each URL of NEW whose canonical form is not in OLD: the first time it is seen, as it
was found, in order. It is short for "firstseen uniq --against OLD NEW".`,
		Example: `  firstseen diff monday.txt tuesday.txt`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return fmt.Errorf("cannot run diff; want two files, OLD and NEW; got %d", len(args))
		},
		RunE: running(func(cmd *cobra.Command, args []string) error {
			f.against = args[:1]
			return f.run(cmd.Context(), a, args[1:])
		}),
	}
	f.add(cmd.Flags())
	return cmd
}

func (f *uniqFlags) run(ctx context.Context, a *app, names []string) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	p, err := f.profile.open()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		names = []string{"-"}
	}
	var memory *uniq.Memory
	if f.db != "" {
		s, own, openErr := f.openMemory(ctx, a, p)
		if openErr != nil {
			return openErr
		}
		defer func() { err = worst(err, s.Close()) }()
		p = own
		crawl, err := crawlInto(ctx, s, f.crawl, store.IdentityOf(p), false)
		if err != nil {
			return fmt.Errorf("cannot use %s: %w", f.db, err)
		}
		memory = &uniq.Memory{Store: s, Crawl: crawl.Stored, Unicode: p.HasUnicodeHost}
		signal.Ignore(syscall.SIGPIPE) // so that printed URLs are recorded
	}
	opt := f.options(p)
	opt.Memory = memory
	if opt.Filters, err = f.filters.open(p, f.by != "exact"); err != nil {
		return err
	}
	if err := f.compare(ctx, a, p, &opt); err != nil {
		return err
	}
	done, err := f.openNotes(names)
	if err != nil {
		return err
	}
	defer func() { err = worst(err, done.Close()) }()
	defer f.bound()()
	files := &fileSet{stdin: a.in, log: f.logOptions()}
	r, err := uniq.Run(ctx, files.inputs(ctx, done.names), a.out, opt)
	noted := done.note(&r)
	err = withoutClosedPipe(err)
	return worst(err, noted, f.close(ctx, a, &r, done.before, err))
}

// withoutClosedPipe drops that the reader of the output ended, which has enough; other errors
// that came with it remain.
func withoutClosedPipe(err error) error {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		var rest []error
		for _, err := range list.Unwrap() {
			rest = append(rest, withoutClosedPipe(err))
		}
		return errors.Join(rest...)
	}
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// bound keeps the collector within --memory: the sets are large and hardly ever garbage, so
// room for as much again would be wasted.
func (f *uniqFlags) bound() (undo func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	limit, percent := debug.SetMemoryLimit(int64(f.memory)), debug.SetGCPercent(25)
	return func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	}
}

// close writes the closing line and returns the error that the exit status is made of.
// before is how many files were read before.
func (f *uniqFlags) close(ctx context.Context, a *app, r *uniq.Result, before int, err error) error {
	nothing := before == 0 && r.URLs+r.Unreadable == 0 && (err != nil || len(r.Errors) > 0)
	switch {
	case f.counts:
		f.tellCounts(a, r, before)
	case !f.quiet && !nothing:
		fmt.Fprintln(a.err, f.closingLine(r, before))
	}
	var errs []error
	for _, err := range r.Errors {
		switch {
		case errors.Is(err, logs.ErrFormat):
			fmt.Fprintf(a.err, "firstseen: %v\n", err)
			errs = append(errs, errRefused)
		case ctx.Err() == nil || !errors.Is(err, ctx.Err()):
			errs = append(errs, err)
		}
	}
	if ctx.Err() != nil {
		errs = append(errs, errors.New("interrupted: what was read until then is printed"))
	}
	for i := range r.Inputs {
		if in := &r.Inputs[i]; !f.quiet || in.Units.Lost() {
			tellUnits(a.err, in.Name, &in.Units)
		}
		if in := &r.Inputs[i]; in.URLs > 0 && in.URLs <= in.Refused-in.Units.Refused && f.invalid == "drop" {
			fmt.Fprintf(a.err, "firstseen: %s: none of %s URLs can be used, such as\n  %s\n", in.Name, grouped(in.URLs), strings.Join(in.Examples, "\n  "))
			errs = append(errs, errRefused)
		}
	}
	if f.strict && r.Refused+r.Unreadable > 0 {
		errs = append(errs, errRefused)
	}
	return worst(errs...)
}

// tellCounts writes what the closing line says for programs.
func (f *uniqFlags) tellCounts(a *app, r *uniq.Result, before int) {
	type input struct {
		Name  string      `json:"input"`
		Units logs.Counts `json:"units"`
	}
	counts := struct {
		Read       int64   `json:"read"`
		Printed    int64   `json:"printed"`
		Duplicates int64   `json:"duplicates"`
		Known      int64   `json:"left_out"`
		Refused    int64   `json:"refused"`
		Filtered   any     `json:"filtered,omitempty"` // by the flag
		Before     int     `json:"files_read_before,omitempty"`
		Inputs     []input `json:"inputs"`
	}{r.URLs + r.Unreadable, r.Printed, r.Duplicates, r.Known, r.Refused + r.Unreadable, nil, before, nil}
	if len(r.Filtered) > 0 {
		by := map[string]int64{}
		for i, n := range r.Filtered {
			by[f.filters.names()[i]] = n
		}
		counts.Filtered = by
	}
	for i := range r.Inputs {
		counts.Inputs = append(counts.Inputs, input{r.Inputs[i].Name, r.Inputs[i].Units})
	}
	text, _ := json.Marshal(counts) // of numbers and names
	fmt.Fprintf(a.err, "%s\n", text)
}

func (f *uniqFlags) closingLine(r *uniq.Result, before int) string {
	text := fmt.Sprintf("%s read: %s printed, %s duplicates, %s refused", grouped(r.URLs+r.Unreadable), grouped(r.Printed),
		grouped(r.Duplicates), grouped(r.Refused+r.Unreadable))
	if f.db != "" || len(f.against) > 0 {
		text += fmt.Sprintf(", %s left out by --against or --db", grouped(r.Known))
	}
	for i, n := range r.Filtered {
		text += fmt.Sprintf(", %s left out by %s", grouped(n), f.filters.names()[i])
	}
	if r.Kept > 0 {
		text += fmt.Sprintf(", %s of them printed as they are", grouped(r.Kept))
	}
	if before > 0 {
		text += fmt.Sprintf("; %s unchanged since an earlier run, and not read (--again reads them)", plural(before, "file"))
	}
	if r.Spilled {
		text += "; the rest of the keys went to a temporary store, as --memory was full"
	}
	return text
}

// plural writes a number of things.
func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return grouped(int64(n)) + " " + what
}
