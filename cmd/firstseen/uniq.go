package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/input"
	"github.com/firstseen/firstseen/cmd/internal/uniq"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/keyfile"
)

// uniqFlags are the flags of uniq.
type uniqFlags struct {
	profile       profileFlags
	log           logFlags
	invalid       string
	strict, quiet bool
	zero          bool
	db, crawl     string
	noWait        bool
	against       []string
	common        bool
}

func newUniqCmd(a *app) *cobra.Command {
	var f uniqFlags
	cmd := &cobra.Command{
		Use:   "uniq [FILE…]",
		Short: "Print each URL of a list or log the first time it is seen",
		Long: `Print each URL the first time its canonical form is seen: as it was found, in order, as
soon as it is read. Without a file, standard input is read. Lists of URLs and all logs and
archives that "firstseen replay" reads are recognised by their content, plain or compressed.

With --db the URLs are remembered from run to run: each is printed once, and recorded after
it was printed, also on Ctrl-C and when the reader of the output ends. After kill -9 or on a
full disk a URL may be printed again by the next run; none is swallowed. A second process
on the same directory waits.

--against prints what is in none of its files, which may be lists, logs, archives and key
files of "firstseen export"; --common prints what is in one of them.

Lines that are no URL are dropped and counted. A closing line on standard error counts what
was read, printed, dropped as a duplicate and refused.`,
		Example: `  firstseen uniq urls.txt
  gau example.com | firstseen uniq
  tail -f found.log | firstseen uniq --rules +strip-www
  katana -u example.com | firstseen uniq --db seen
  firstseen uniq --against fetched.cdxj.gz outlinks.txt`,
		Args: cobra.ArbitraryArgs,
		RunE: running(func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) }),
	}
	flags := cmd.Flags()
	f.add(flags)
	flags.StringArrayVar(&f.against, "against", nil, "print only URLs that are in none of these files; give it once for each")
	flags.BoolVar(&f.common, "common", false, "with --against: print only URLs that are in one of the files")
	flags.StringVar(&f.db, "db", "", "directory of a seen-set that remembers the URLs from run to run; made if it does not exist")
	typed(flags, "db")
	flags.StringVar(&f.crawl, "crawl", store.DefaultCrawl, "crawl in the seen-set that the URLs belong to")
	flags.BoolVar(&f.noWait, "no-wait", false, "fail if another process has the directory of --db open, instead of waiting")
	return cmd
}

func newDiffCmd(a *app) *cobra.Command {
	var f uniqFlags
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
			return fmt.Errorf("cannot run diff; got %d files; want two, OLD and NEW", len(args))
		},
		RunE: running(func(cmd *cobra.Command, args []string) error {
			f.against = args[:1]
			return f.run(cmd.Context(), a, args[1:])
		}),
	}
	f.add(cmd.Flags())
	return cmd
}

// add adds the flags of uniq and diff.
func (f *uniqFlags) add(flags *pflag.FlagSet) {
	f.profile.add(flags)
	f.log.addFormatAs(flags, "input-format")
	f.log.addEvents(flags)
	flags.StringVar(&f.invalid, "invalid", "drop", "what becomes of lines that are no URL: drop, or keep to print them as they are")
	flags.BoolVar(&f.strict, "strict", false, "exit with status 1 if a line is no URL")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "write no closing line on standard error")
	flags.BoolVarP(&f.zero, "zero-terminated", "z", false, "end each printed URL with NUL instead of a line feed")
}

func (f *uniqFlags) run(ctx context.Context, a *app, names []string) (err error) {
	opt, p, err := f.options()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		names = []string{"-"}
	}
	if err := f.compare(ctx, a, p, &opt); err != nil {
		return err
	}
	if f.db != "" {
		s, openErr := f.openMemory(ctx, a, p, &opt)
		if openErr != nil {
			return openErr
		}
		defer func() { err = worst(err, s.Close()) }()
		signal.Ignore(syscall.SIGPIPE) // so that what was printed is recorded
	}
	files := &fileSet{stdin: a.in, log: f.log.options()}
	r, err := uniq.Run(ctx, files.inputs(ctx, names), a.out, opt)
	if errors.Is(err, syscall.EPIPE) {
		err = nil // the reader of the output has enough
	}
	return worst(err, f.close(ctx, a, &r))
}

func (f *uniqFlags) options() (opt uniq.Options, p *canon.Profile, err error) {
	if f.invalid != "drop" && f.invalid != "keep" {
		return opt, nil, misusef("cannot run uniq; got --invalid %q; want drop or keep", f.invalid)
	}
	if f.common && len(f.against) == 0 {
		return opt, nil, misusef("cannot run uniq; got --common alone; want --against with it")
	}
	if err = f.log.check(); err != nil {
		return opt, nil, err
	}
	if p, err = f.profile.open(); err != nil {
		return opt, nil, err
	}
	opt.Identify, opt.KeepInvalid, opt.End, opt.Common = p.AppendCanonical, f.invalid == "keep", '\n', f.common
	if f.zero {
		opt.End = 0
	}
	return opt, p, nil
}

// compare opens the files of --against.
func (f *uniqFlags) compare(ctx context.Context, a *app, p *canon.Profile, opt *uniq.Options) error {
	var lists []string
	for _, name := range f.against {
		keys, err := keysOf(ctx, name, p)
		if err != nil {
			return err
		}
		if keys == nil {
			lists = append(lists, name)
		} else {
			opt.AgainstKeys = append(opt.AgainstKeys, keys)
		}
	}
	opt.Against = (&fileSet{stdin: a.in, log: f.log.options()}).inputs(ctx, lists)
	return nil
}

// keysOf returns the keys of a key file that are made as p makes them, and nil for any
// other file.
func keysOf(ctx context.Context, name string, p *canon.Profile) (iter.Seq2[store.Key, error], error) {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil, nil // the reader of lists reports what is wrong
	}
	file, err := input.Open(ctx, name, nil)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(file.Peek(len(keyFileMagic)), []byte(keyFileMagic)) {
		return nil, file.Close()
	}
	r, err := keyfile.NewReader(file.Reader())
	if err == nil {
		_, err = r.Header().Identity.Adopt(store.IdentityOf(p), true, r.Header().UnicodeHosts)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot compare with %s: %w", name, err), file.Close())
	}
	return func(yield func(store.Key, error) bool) {
		defer file.Close()
		r.Keys()(yield)
	}, nil
}

// openMemory opens the seen-set of --db. While another process has it, it waits.
func (f *uniqFlags) openMemory(ctx context.Context, a *app, p *canon.Profile, opt *uniq.Options) (*workspace, error) {
	told := false
	for {
		w, err := openWorkspace(f.db, p)
		if err == nil {
			crawl, err := crawlInto(ctx, w, f.crawl, store.IdentityOf(p), false)
			if err != nil {
				return nil, errors.Join(fmt.Errorf("cannot use %s: %w", f.db, err), w.Close())
			}
			opt.Memory = &uniq.Memory{Store: w, Crawl: crawl.Stored, Unicode: p.HasUnicodeHost}
			return w, nil
		}
		if !errors.Is(err, store.ErrLocked) || f.noWait {
			return nil, err
		}
		if !told && !f.quiet {
			fmt.Fprintf(a.err, "firstseen: another process has %s open: waiting for it to end\n", f.db)
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, errors.New("interrupted while waiting for " + f.db)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// close writes the closing line and returns the error that the exit status is made of.
func (f *uniqFlags) close(ctx context.Context, a *app, r *uniq.Result) error {
	if !f.quiet {
		fmt.Fprintln(a.err, closingLine(r, f.db != "" || len(f.against) > 0))
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

func closingLine(r *uniq.Result, known bool) string {
	text := fmt.Sprintf("%s read: %s printed, %s duplicates, %s refused", grouped(r.URLs+r.Unreadable), grouped(r.Printed),
		grouped(r.Duplicates), grouped(r.Refused+r.Unreadable))
	if known {
		text += fmt.Sprintf(", %s left out by --against or --db", grouped(r.Known))
	}
	if r.Kept > 0 {
		text += fmt.Sprintf(", %s of them printed as they are", grouped(r.Kept))
	}
	return text
}
