package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/net/publicsuffix"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/cmd/internal/shape"
	"github.com/firstseen/firstseen/cmd/internal/uniq"
	"github.com/firstseen/firstseen/store"
)

// uniqFlags are the flags of uniq and diff.
type uniqFlags struct {
	profile           profileFlags
	log               logFlags
	filters           filterFlags
	invalid, format   string
	strict, quiet     bool
	counts            bool
	zero              bool
	by                string
	keep              string
	keepBy, sort      string
	showShape         bool
	duplicates, count bool
	memory            size
	db, crawl         string
	noWait            bool
	against           []string
	common            bool
	again             bool
}

func newUniqFlags() *uniqFlags {
	return &uniqFlags{by: "canonical", keep: "1", memory: defaultMemory(machineMemory())}
}

// defaultMemory is a quarter of a machine's, in whole MiB.
func defaultMemory(machine int64) size { return max(leastMemory, size(machine/4>>20<<20)) }

// add adds the flags of uniq and diff.
func (f *uniqFlags) add(flags *pflag.FlagSet) {
	f.profile.add(flags)
	f.log.addKept(flags, "input-format")
	f.log.addEvents(flags)
	f.filters.add(flags)
	flags.StringVar(&f.invalid, "invalid", "drop", "what becomes of lines that are no URL: drop, or keep to print them as they are, each once")
	flags.StringVar(&f.format, "format", "text", "form of the output: text, or jsonl, csv and parquet, which have fields for file, row, offset (of archive records), url, canonical form and key")
	flags.StringVar(&f.sort, "sort", "", "print at the end, in order of: host; default: the order of the input")
	flags.BoolVar(&f.strict, "strict", false, "exit with status 1 if a line is no URL")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "write no closing line on standard error")
	flags.BoolVar(&f.counts, "counts-json", false, "write the closing line as one JSON object, with what became of each line of each file")
	flags.BoolVarP(&f.zero, "zero-terminated", "z", false, "end each printed URL with NUL instead of a line feed, and split lists that have NULs at these")
}

// addMemory adds the flags of uniq alone.
func (f *uniqFlags) addMemory(flags *pflag.FlagSet) {
	flags.StringVar(&f.by, "by", f.by, "what is compared: "+strings.Join(bys, ", "))
	flags.StringVar(&f.keep, "keep", f.keep, "which URLs of equal ones to print: first, or last when the input has ended; with --by host, domain or shape also how many of each")
	flags.StringVar(&f.keepBy, "keep-by", "", "with --keep first or last: a column or field by which one is first or last, such as timestamp; numbers and times are compared as such; default: the order of the input")
	flags.BoolVar(&f.showShape, "show-shape", false, "with --by host, domain or shape: print what is compared and a tab before each URL")
	flags.BoolVarP(&f.duplicates, "duplicates", "d", false, "print only the duplicates, each with the first URL and the rules that merged them")
	flags.BoolVarP(&f.count, "count", "c", false, "print each URL with how often it came, at the end")
	// The default depends on the machine, so the help must not show it.
	flags.Var(&f.memory, "memory", "memory to use, as 512M or 2G; by default a quarter of the machine's")
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

func (f *uniqFlags) check() error {
	grouped := f.by != "canonical" && f.by != "exact"
	ledger := f.duplicates || f.count
	many, err := strconv.Atoi(f.keep)
	chooses := f.keep == "first" || f.keep == "last"
	if err := refuse("run uniq", []mistake{
		{!slices.Contains(bys, f.by), "--by " + f.by, strings.Join(bys, ", ")},
		{f.invalid != "drop" && f.invalid != "keep", `--invalid "` + f.invalid + `"`, "drop or keep"},
		{!slices.Contains(formats, f.format), "--format " + f.format, "text, jsonl, csv or parquet; the form of the input is --input-format"},
		{ledger && f.format != "text" && f.format != "jsonl", "--format " + f.format + " with -c or -d", "text or jsonl"},
		{f.invalid == "keep" && f.format != "text" && f.format != "jsonl", "--invalid keep with --format " + f.format, "text or jsonl"},
		{f.showShape && f.format != "text" && f.format != "jsonl", "--show-shape with --format " + f.format, "text or jsonl"},
		{f.sort != "" && f.sort != "host", "--sort " + f.sort, "host"},
		{ledger && f.sort != "", "--sort with -c or -d", "it without them"},
		{f.common && len(f.against) == 0, "--common alone", "--against with it"},
		{err != nil && !chooses || err == nil && many < 1, "--keep " + f.keep, "first, last, or a number from 1"},
		{many > 1 && !grouped, "--keep " + f.keep + " with --by " + f.by, "--by host, domain or shape with it"},
		{f.keepBy != "" && !chooses, "--keep-by without --keep first or last", "one of them with it"},
		{ledger && chooses, "--keep " + f.keep + " with -c or -d", "it without them"},
		{f.showShape && !grouped, "--show-shape with --by " + f.by, "--by host, domain or shape with it"},
		{f.duplicates && f.count, "-c and -d", "one of them"},
		{ledger && many > 1, "--keep with -c or -d", "it without them"},
		{(f.duplicates || f.count) && f.db != "", "--db with -c or -d", "it without them: a seen-set keeps no first URLs"},
		{(f.duplicates || f.count) && f.invalid == "keep", "--invalid keep with -c or -d", "it without them"},
		{f.db != "" && f.by != "canonical", "--db with --by " + f.by, "--by canonical, or --profile none for the exact text: a seen-set remembers canonical forms"},
		{f.memory < leastMemory, "--memory " + f.memory.String(), "256M or more"},
	}...); err != nil {
		return err
	}
	return f.log.check()
}

func (f *uniqFlags) logOptions() logs.Options {
	opt := f.log.options()
	if opt.Zero = f.zero; f.keepBy != "" {
		opt.Fields = []string{f.keepBy}
	}
	return opt
}

var formats = []string{"text", "jsonl", "csv", "parquet"} // in the order of uniq.Form

func (f *uniqFlags) options(p *canon.Profile) uniq.Options {
	many, _ := strconv.Atoi(f.keep)
	opt := uniq.Options{
		ChooseBy: f.keepBy,
		Identify: p.AppendCanonical, Group: groupBy[f.by], Keep: max(many, 1),
		KeepInvalid: f.invalid == "keep", Common: f.common, MemoryBytes: int64(f.memory-leastMemory/2) * 2 / 3,
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
	"shape":  func(dst, form []byte) []byte { return shape.Append(dst, form, canon.Host(form)) },
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
	c, err := p.Compare(first, other)
	if err != nil || !c.Same {
		return []string{"same " + by}
	}
	var rules []string
	for _, r := range c.Rules {
		rules = append(rules, string(r))
	}
	if len(rules) == 0 {
		return []string{"same " + by}
	}
	return rules
}
