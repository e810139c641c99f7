package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/net/publicsuffix"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/evidence"
	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/cmd/internal/transfer"
	"github.com/firstseen/firstseen/cmd/internal/uniq"
	"github.com/firstseen/firstseen/internal/async"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/crawlfile"
	"github.com/firstseen/firstseen/store/pebblestore"
)

func newUniqCmd(a *app) *cobra.Command {
	f := newUniqFlags()
	cmd := &cobra.Command{
		Use:   "uniq [FILE…]",
		Short: "Print each URL of a list or log the first time it is seen",
		Long: `Print each URL the first time its canonical form is seen: as it was found, in order, as
soon as it is read. Without a file, standard input is read. Lists of URLs and all logs and
archives that "firstseen replay" reads are recognised by their content, plain or compressed.

Files of several tools can be given in one call: the format of each is found for itself. --status,
--scope, --not-ext and --with-query leave URLs out, and each counts what it took.

--by compares something else than the canonical form: "exact" the text, "host" the host,
"domain" the registrable domain, "shape" the host, the path with numbers, dates, UUIDs,
hashes and slugs replaced, and the names of the parameters. --keep N prints the first N URLs
of each host, domain or shape; --show-shape prints what they are compared by before each.

With --keep last and --keep-by, the newest of several snapshots of a page wins, of those that one
run reads: with --db, a page that an earlier run printed is left out though a newer one came. To get
the newest of all, read all files without --db. --format jsonl, csv or parquet says where each URL was found.

With --db the URLs are remembered from run to run: each is printed once, and recorded after
it was printed, also on Ctrl-C. After kill -9 or on a full disk the next run may print a URL
again; none is lost if the output is a new file. Of a pipe, up to 64 KiB (on Linux) that its reader
did not read count as printed, and so does all that it read and did not finish. A second process on the same directory waits. Files that were read to their end are not read again,
unless they changed or --again is given. Use a directory of its own: a crawler or daemon
with the same store would never fetch the URLs that uniq recorded.

--against prints what is in none of its files, which may be lists, logs, archives and key
files of "firstseen export"; --common prints what is in one of them.

Lines that are no URL are dropped and counted. A closing line on standard error counts what
was read, printed, dropped as a duplicate and refused; with --counts-json it is one JSON object, with
what became of each line of each file (of a row over several lines, each line); refused is
units.refused and refused_urls, of lines that were read. Lists of hosts are refused unless --scheme https says
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
		Args:    takes(2, 2, "two files, OLD and NEW"),
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
		if isClosed(a.out) {
			return errors.New("cannot print: standard output is closed, or is /dev/null opened for reading and writing " +
				"(Python's subprocess.DEVNULL, Node's \"ignore\"), which looks the same; nothing is recorded; " +
				"to discard what is printed, open /dev/null for writing alone: >/dev/null, open(os.devnull, \"w\")")
		}
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
		if (f.keep == "last" || f.keepBy != "") && !f.quiet && !f.counts {
			fmt.Fprintf(a.err, "firstseen: --keep %s chooses among what this run reads; pages that earlier runs with --db printed are left out, also where this run has a better one (read all files without --db for that)\n", f.keep)
		}
		memory = &uniq.Memory{Store: s, Crawl: crawl.Stored, Unicode: p.HasUnicodeHost}
		signal.Ignore(syscall.SIGPIPE) // so that printed URLs are recorded
	}
	opt := f.options(p)
	opt.Memory = memory
	statuses, err := transfer.ParseStatuses(f.statuses)
	if err != nil {
		return misusef("--status: %w", err)
	}
	if f.statuses != "all" {
		opt.Status = statuses.Take
	}
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
	closeRefused := func() error { return nil }
	if f.refused != "" {
		file, createErr := createNew(f.refused)
		if createErr != nil {
			return createErr
		}
		buffer := bufio.NewWriter(file)
		opt.Refused = buffer
		closeRefused = func() error { return worst(buffer.Flush(), file.Close()) }
	}
	defer f.bound()()
	files := &fileSet{stdin: a.in, log: f.logOptions()}
	r, err := uniq.Run(ctx, files.inputs(ctx, done.names), a.out, opt)
	unwritten := closeRefused()
	if unwritten == nil { // else what was refused would never be read again
		unwritten = done.note(&r)
	}
	ended := errors.Is(err, syscall.EPIPE)
	err = withoutClosedPipe(err)
	return worst(err, unwritten, f.close(ctx, a, &r, done.before, ended, err))
}

// createNew creates a file for what is refused. One that exists may be an input by another name; a pipe or a device is
// opened, without waiting for who reads the pipe.
func createNew(name string) (*os.File, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil, misusef("--refused: %s exists; remove it, or name another file", name)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write what is refused: %w", err)
	}
	return file, nil
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
	limit, percent := debug.SetMemoryLimit(f.memory), debug.SetGCPercent(25)
	return func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	}
}

// close writes the closing line and returns the error that the exit status is made of.
// before is how many files were read before; ended means that the reader of the output ended.
func (f *uniqFlags) close(ctx context.Context, a *app, r *uniq.Result, before int, ended bool, err error) error {
	if f.counts {
		defer f.tellCounts(a, r, before, ended) // the last line, and all that is said of files that could be read
	} else if nothing := before == 0 && r.URLs+r.Unreadable == 0 && (err != nil || len(r.Errors) > 0); !f.quiet && !nothing {
		fmt.Fprintln(a.err, f.closingLine(r, before, ended))
	}
	if n := r.Unordered; n > 0 && err == nil && !f.quiet && !f.counts {
		fmt.Fprintf(a.err, "firstseen: %s of %s URLs have no value to compare for --keep-by %s, so the others win over them\n", grouped(n), grouped(r.URLs), f.keepBy)
	}
	var errs []error
	for _, err := range r.Errors {
		if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
			errs = append(errs, refusal(a, err))
		}
	}
	if ctx.Err() != nil {
		errs = append(errs, errors.New("interrupted: what was read until then is printed"))
	}
	for i := range r.Inputs {
		in := &r.Inputs[i]
		lost := 2*in.NoURLs > in.URLs && f.invalid == "drop"
		switch {
		case f.counts:
		case lost:
			fmt.Fprintf(a.err, "firstseen: %s: %s of %s URLs cannot be used (a file is read in one format), such as\n  %s\n", in.Name, grouped(in.NoURLs), grouped(in.URLs), strings.Join(in.Examples, "\n  "))
			in.Units.Examples = nil
		case !f.quiet && f.invalid == "drop" && len(in.Examples) > 0 && !in.Units.Lost():
			fmt.Fprintf(a.err, "firstseen: %s: %s refused, such as\n  %s\n", in.Name, grouped(in.Refused), in.Examples[0])
		}
		if !f.counts && (!f.quiet || in.Units.Lost()) {
			tellUnits(a.err, in.Name, &in.Units)
		}
		if lost && in.NoURLs == in.URLs {
			errs = append(errs, errRefused)
		}
	}
	if f.strict && r.Refused+r.Unreadable > 0 {
		errs = append(errs, errRefused)
	}
	return worst(errs...)
}

// tellCounts writes what the closing line says for programs.
func (f *uniqFlags) tellCounts(a *app, r *uniq.Result, before int, ended bool) {
	type input struct {
		Name    string           `json:"input"`
		Refused int64            `json:"refused"`               // those of Units, and URLs
		URLs    int64            `json:"refused_urls"`          // of units that were read
		Why     map[string]int64 `json:"refused_for,omitempty"` // each of them
		Units   logs.Counts      `json:"units"`
	}
	counts := struct {
		Read       int64            `json:"read"`
		Printed    int64            `json:"printed"`
		Duplicates int64            `json:"duplicates"`
		Known      int64            `json:"left_out"`
		Refused    int64            `json:"refused"`
		ByStatus   int64            `json:"left_out_by_status,omitempty"`
		Unordered  int64            `json:"without_keep_by,omitempty"`
		Unprinted  int64            `json:"not_printed,omitempty"`
		Filtered   map[string]int64 `json:"filtered,omitempty"` // by the flag
		Before     int              `json:"files_read_before,omitempty"`
		Ended      bool             `json:"reader_ended,omitempty"`
		Inputs     []input          `json:"inputs"`
	}{r.URLs + r.Unreadable, r.Printed, r.Duplicates, r.Known, r.Refused + r.Unreadable, r.ByStatus, r.Unordered, 0, map[string]int64{}, before, ended, nil}
	if !f.duplicates {
		counts.Unprinted = r.Unprinted()
	}
	for i, n := range r.Filtered {
		counts.Filtered[f.filters.names[i]] = n
	}
	for i := range r.Inputs {
		counts.Inputs = append(counts.Inputs, input{r.Inputs[i].Name, r.Inputs[i].Refused, r.Inputs[i].Refused - r.Inputs[i].Units.Refused, r.Inputs[i].Why, r.Inputs[i].Units})
	}
	text, _ := json.Marshal(counts) // of numbers and names
	fmt.Fprintf(a.err, "%s\n", text)
}

func (f *uniqFlags) closingLine(r *uniq.Result, before int, ended bool) string {
	text := fmt.Sprintf("%s read: %s printed, %s, %s refused", grouped(r.URLs+r.Unreadable), grouped(r.Printed),
		plural(r.Duplicates, "duplicate"), grouped(r.Refused+r.Unreadable))
	if f.db != "" || len(f.against) > 0 {
		text += fmt.Sprintf(", %s left out by --against or --db", grouped(r.Known))
	}
	if f.statuses != "all" {
		text += fmt.Sprintf(", %s left out by --status", grouped(r.ByStatus))
	}
	for i, n := range r.Filtered {
		text += fmt.Sprintf(", %s left out by %s", grouped(n), f.filters.names[i])
	}
	other := int64(0)
	for i := range r.Inputs {
		other += r.Inputs[i].Units.Other
	}
	if n := r.Unprinted(); n > 0 && !f.duplicates {
		text += fmt.Sprintf(", %s not printed", grouped(n))
	}
	if other > 0 {
		text += fmt.Sprintf("; %s more without a URL that counts", grouped(other))
	}
	if r.Kept > 0 {
		text += fmt.Sprintf(", %s of them printed as they are", grouped(r.Kept))
	}
	if before > 0 {
		text += fmt.Sprintf("; %s unchanged since an earlier run, and not read (--again reads them)", plural(int64(before), "file"))
	}
	if ended {
		text += "; the reader of the output ended, and what it left unread counts as printed"
	}
	if r.Spilled {
		text += "; the rest of the keys went to a temporary store, as --memory was full"
	}
	return text
}

// uniqFlags are the flags of uniq and diff.
type uniqFlags struct {
	profile           profileFlags
	log               logFlags
	filters           filterFlags
	invalid, format   string
	refused           string
	statuses          string
	strict, quiet     bool
	counts            bool
	zero              bool
	by                string
	keep              string // first or last, or "" for the first many
	many              int
	keepBy, sort      string
	showShape         bool
	duplicates, count bool
	memory            int64
	db, crawl         string
	noWait            bool
	against           []string
	common            bool
	again             bool
}

func newUniqFlags() *uniqFlags {
	return &uniqFlags{by: "canonical", many: 1, memory: defaultMemory(machineMemory())}
}

// defaultMemory is a quarter of a machine's, in whole MiB.
func defaultMemory(machine int64) int64 { return max(leastMemory, machine/4>>20<<20) }

// add adds the flags of uniq and diff.
func (f *uniqFlags) add(flags *pflag.FlagSet) {
	f.profile.add(flags)
	f.log.addKept(flags, "input-format")
	f.log.addEvents(flags)
	flags.StringVar(&f.statuses, "status", "all", "take only records of logs that have one of these statuses, such as 2xx,3xx,410; a list has none")
	typed(flags, "status") // the variable is import's
	f.filters.add(flags)
	oneOf(flags, &f.invalid, "invalid", "drop", []string{"drop", "keep"}, "what becomes of lines that are no URL: drop, or keep to print them as they are, each once")
	oneOf(flags, &f.format, "format", "text", formats, "form of the output: text, or jsonl, csv and parquet, which have fields for file, row, offset (of archive records), url, canonical form and key")
	hint(flags, "format", "the form of the input is --input-format")
	oneOf(flags, &f.sort, "sort", "", []string{"host"}, "print at the end, in order of: host; default: the order of the input")
	flags.StringVar(&f.refused, "refused", "", "new file for each refused line or record, as an object with file, row, offset (of archive records), text and reason")
	flags.BoolVar(&f.strict, "strict", false, "exit with status 1 if a line is no URL")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "write no closing line on standard error")
	flags.BoolVar(&f.counts, "counts-json", false, "write the closing line as one JSON object, with what became of each line of each file")
	flags.BoolVarP(&f.zero, "zero-terminated", "z", false, "end each printed URL with NUL instead of a line feed, and split lists that have NULs at these")
}

// addMemory adds the flags of uniq alone.
func (f *uniqFlags) addMemory(flags *pflag.FlagSet) {
	oneOf(flags, &f.by, "by", "canonical", bys, "what is compared: "+strings.Join(bys, ", "))
	flags.Var(&value{"string", f.setKeep, func() string { return cmp.Or(f.keep, strconv.Itoa(f.many)) }}, "keep", "which URLs of equal ones to print: first, or last when the input has ended; with --by host, domain or shape also how many of each")
	flags.StringVar(&f.keepBy, "keep-by", "", "with --keep first or last: a column or field by which one is first or last, such as timestamp, which is also the time of a record whose format names no fields (CDX, WARC); numbers and times are compared as such; default: the order of the input")
	flags.BoolVar(&f.showShape, "show-shape", false, "with --by host, domain or shape: print what is compared and a tab before each URL")
	flags.BoolVarP(&f.duplicates, "duplicates", "d", false, "print only the duplicates, each with the first URL and the rules that merged them")
	flags.BoolVarP(&f.count, "count", "c", false, "print each URL with how often it came, at the end")
	// The default depends on the machine, so the help must not show it.
	sized(flags, &f.memory, "memory", 1, defaultMemory(machineMemory()), leastMemory, "memory to use, as 512M or 2G; by default a quarter of the machine's")
	flags.Lookup("memory").DefValue = ""
	flags.StringArrayVar(&f.against, "against", nil, "print only URLs that are in none of these files; give it once for each")
	flags.BoolVar(&f.common, "common", false, "with --against: print only URLs that are in one of the files")
	flags.StringVar(&f.db, "db", "", "directory of a seen-set that remembers the URLs from run to run; made if it does not exist")
	typed(flags, "db")
	flags.StringVar(&f.crawl, "crawl", store.DefaultCrawl, "crawl in the seen-set that the URLs belong to")
	flags.BoolVar(&f.again, "again", false, "with --db: read files again that were read to their end before")
	flags.BoolVar(&f.noWait, "no-wait", false, "fail if another process has the directory of --db open, instead of waiting")
}

var bys = []string{"canonical", "exact", "host", "domain", "shape"}

// leastMemory is what --memory must be at least: buffers and the temporary store take about
// half of it.
const leastMemory = 256 << 20

// setKeep reads --keep.
func (f *uniqFlags) setKeep(text string) error {
	if text == "first" || text == "last" {
		f.keep, f.many = text, 1
		return nil
	}
	many, err := strconv.Atoi(text)
	if err != nil || many < 1 {
		return fmt.Errorf("got %q; want first, last, or a number from 1", text)
	}
	f.keep, f.many = "", many
	return nil
}

// check refuses flags that don't fit together.
func (f *uniqFlags) check() error {
	grouped := f.by != "canonical" && f.by != "exact"
	ledger := f.duplicates || f.count
	table := f.format == "csv" || f.format == "parquet"
	return refuse("run uniq", []mistake{
		{ledger && table, "--format " + f.format + " with -c or -d", "text or jsonl"},
		{f.invalid == "keep" && table, "--invalid keep with --format " + f.format, "text or jsonl"},
		{f.showShape && table, "--show-shape with --format " + f.format, "text or jsonl"},
		{ledger && f.sort != "", "--sort with -c or -d", "it without them"},
		{f.common && len(f.against) == 0, "--common alone", "--against with it"},
		{f.many > 1 && !grouped, fmt.Sprintf("--keep %d with --by %s", f.many, f.by), "--by host, domain or shape with it"},
		{f.keepBy != "" && f.keep == "", "--keep-by without --keep first or last", "one of them with it"},
		{ledger && f.keep != "", "--keep " + f.keep + " with -c or -d", "it without them"},
		{f.showShape && !grouped, "--show-shape with --by " + f.by, "--by host, domain or shape with it"},
		{f.duplicates && f.count, "-c and -d", "one of them"},
		{ledger && f.many > 1, "--keep with -c or -d", "it without them"},
		{ledger && f.db != "", "--db with -c or -d", "it without them: a seen-set keeps no first URLs"},
		{ledger && f.invalid == "keep", "--invalid keep with -c or -d", "it without them"},
		{f.db != "" && f.by != "canonical", "--db with --by " + f.by, "--by canonical, or --profile none for the exact text: a seen-set remembers canonical forms"},
	}...)
}

func (f *uniqFlags) logOptions() logs.Options {
	opt := f.log.options()
	opt.OnlyURLs = f.statuses == "all"
	opt.Refused = f.refused != ""
	if opt.Zero = f.zero; f.keepBy != "" {
		opt.Fields = []string{f.keepBy}
		opt.Must = opt.Fields
	}
	return opt
}

var formats = []string{"text", "jsonl", "csv", "parquet"} // in the order of uniq.Form

func (f *uniqFlags) options(p *canon.Profile) uniq.Options {
	opt := uniq.Options{
		ChooseBy: f.keepBy,
		Identify: p.AppendCanonical, Group: groupBy[f.by], Keep: f.many,
		KeepInvalid: f.invalid == "keep", Common: f.common, MemoryBytes: (f.memory - leastMemory/2) * 2 / 3,
		Output: uniq.Output{
			End: '\n', Form: uniq.Form(slices.Index(formats, f.format)), Canonical: p.AppendCanonical, Duplicates: f.duplicates, Count: f.count, ShowGroup: f.showShape,
			Why: func(first, other []byte) []string { return whyMerged(p, f.by, string(first), string(other)) },
		},
	}
	if f.by == "exact" {
		opt.Identify = func(dst, raw []byte) ([]byte, error) { return exact(p, dst, raw) }
	}
	if f.zero {
		opt.End = 0
	}
	switch {
	case f.keep == "last":
		opt.Choose = uniq.Last
	case f.keepBy != "":
		opt.Choose = uniq.First
	}
	if f.sort == "host" {
		opt.Sort = groupBy["host"]
	}
	return opt
}

// exact appends the text of a URL as it is.
func exact(p *canon.Profile, dst, raw []byte) ([]byte, error) {
	if dst, err := p.AppendCanonical(dst, raw); err != nil {
		return dst, err
	}
	return append(dst, raw...), nil
}

// groupBy has what --by compares of canonical forms.
var groupBy = map[string]func(dst, form []byte) []byte{
	"host": func(dst, form []byte) []byte {
		if host := canon.Host(form); host != nil {
			return append(dst, host...)
		}
		return append(dst, form...)
	},
	"domain": appendDomain,
	"shape":  func(dst, form []byte) []byte { return evidence.AppendShape(dst, form, canon.Host(form)) },
}

// appendDomain appends the registrable domain of a URL: the host where it has none.
func appendDomain(dst, form []byte) []byte {
	host := canon.Host(form)
	if host == nil {
		return append(dst, form...)
	}
	name := string(host)
	if i := strings.LastIndexByte(name, ':'); i >= 0 && !strings.HasSuffix(name, "]") {
		name = name[:i]
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(strings.TrimSuffix(name, "."))
	if err != nil {
		domain = name // an address, or a public suffix itself
	}
	return append(dst, domain...)
}

// whyMerged returns the rules that made two URLs one, or "same" and what --by compares.
func whyMerged(p *canon.Profile, by, first, other string) []string {
	var rules []string
	if c, err := p.Compare(first, other); err == nil && c.Same {
		for _, r := range c.Rules {
			rules = append(rules, string(r))
		}
	}
	if len(rules) == 0 {
		return []string{"same " + by}
	}
	return rules
}

// compare opens the files of --against.
func (f *uniqFlags) compare(ctx context.Context, a *app, p *canon.Profile, opt *uniq.Options) error {
	var lists []string
	for _, name := range f.against {
		keys, err := keysOf(ctx, name, p)
		switch {
		case err != nil:
			return err
		case keys == nil:
			lists = append(lists, name)
		case f.by != "canonical":
			return misusef("cannot compare with %s; got a key file and --by %s; want --by canonical: its keys are of canonical forms", name, f.by)
		default:
			opt.AgainstKeys = append(opt.AgainstKeys, keys)
		}
	}
	opt.Against = (&fileSet{stdin: a.in, log: f.logOptions()}).inputs(ctx, lists)
	return nil
}

// keysOf returns the keys of a key file that are made as p makes them, and nil for any
// other file.
func keysOf(ctx context.Context, name string, p *canon.Profile) (iter.Seq2[store.Key, error], error) {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil, nil // the reader of lists reports the error
	}
	file, err := logs.Open(ctx, name, nil)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(file.Peek(len(crawlfile.KeysMagic)), []byte(crawlfile.KeysMagic)) {
		return nil, file.Close()
	}
	r, err := crawlfile.NewKeyReader(file.Reader())
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

// openMemory opens the seen-set of --db, and returns the profile with its lists. While another process has it,
// it waits.
func (f *uniqFlags) openMemory(ctx context.Context, a *app, p *canon.Profile) (*pebblestore.Store, *canon.Profile, error) {
	told := false
	for {
		s, own, err := openPebble(ctx, f.db, p, pebblestore.Options{})
		if err == nil || !errors.Is(err, store.ErrLocked) || f.noWait {
			return s, own, err
		}
		if !told && !f.quiet {
			fmt.Fprintf(a.err, "firstseen: another process has %s open: waiting for it to end\n", f.db)
			told = true
		}
		if async.Sleep(ctx, 100*time.Millisecond) != nil {
			return nil, nil, errors.New("interrupted while waiting for " + f.db)
		}
	}
}

// notes are on the files of a run with --db that were read to their end: they are not read again.
type notes struct {
	*transfer.Journal
	names  []string // still to be read
	before int      // files that are not
	parts  []*transfer.Part
}

// openNotes takes those files out that were read in the same way before.
func (f *uniqFlags) openNotes(names []string) (*notes, error) {
	journal, err := transfer.OpenJournal(f.db)
	if err != nil || f.db == "" {
		return &notes{Journal: journal, names: names}, err
	}
	n := &notes{Journal: journal}
	how := fmt.Sprintf("uniq %s keep %q keep-by %q against %q common %v log %q status %s %s", f.by, cmp.Or(f.keep, strconv.Itoa(f.many)), f.keepBy, f.against, f.common, f.log, f.statuses, f.filters.how())
	for _, name := range names {
		part, _, whole := journal.Begin(name, f.crawl, how, f.again)
		if whole {
			n.before++
			continue
		}
		n.names, n.parts = append(n.names, name), append(n.parts, part)
	}
	return n, nil
}

// note notes the files that were read to their end.
func (n *notes) note(r *uniq.Result) (err error) {
	for i, part := range n.parts {
		if r.Inputs[i].Whole {
			err = errors.Join(err, part.End(true))
		}
	}
	return err
}
