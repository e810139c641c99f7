package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/durable"
	"github.com/firstseen/firstseen/cmd/internal/replay"
	"github.com/firstseen/firstseen/cmd/internal/report"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// replayFlags are the flags of the replay command.
type replayFlags struct {
	profile   profileFlags
	db, crawl string
	also      []pebblestore.AlsoSeen
	json      bool
	hosts     int
	memory    int64 // bytes
	log       logFlags
	byRule    bool
	report    string // HTML file
	title     string
}

func newReplayCmd(a *app) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay FILE…",
		Short: "Measure the duplicates in crawl logs and lists of URLs",
		Long: `Read lists of URLs and crawl logs, plain, gzip or zstd, "-" for stdin, and print how
many of the URLs were exact duplicates, how many more are duplicates by their canonical form,
and how many are unique. --db keeps the seen-set for the next run; without it, the seen-set is
in a temporary directory that is removed at the end.

The format is detected: lists, tables with a column of URLs, CDX, CDXJ, Common Crawl indexes,
WARC, ARC, WACZ, Heritrix crawl.log, Nutch dumps, Scrapy feeds and logs, access logs of servers,
CloudFront and S3, logfmt, LTSV, wget logs, sitemaps, RSS, Atom, OPML, Parquet, dumps of URLFrontier
and StormCrawler.
Lines that cannot be read are counted, and the first 20 are shown. Lists of hosts need --scheme, logs
of paths --base, and what can be read in two ways --format or --url-field.

Ctrl-C stops reading and prints the results until then.`,
		Example: `  firstseen replay urls.txt.zst
  firstseen replay --db seen --json monday.txt.gz tuesday.txt.gz`,
		Args: someFiles,
		RunE: running(func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) }),
	}
	f.profile.add(cmd.Flags())
	cmd.Flags().StringVar(&f.db, "db", "", "directory of the seen-set that the URLs are added to; created if it does not exist; default: a temporary one, even if FIRSTSEEN_DB is set")
	typed(cmd.Flags(), "db")
	addAlsoSeen(cmd.Flags(), &f.also)
	cmd.Flags().StringVar(&f.crawl, "crawl", store.DefaultCrawl, "crawl in the seen-set that the URLs belong to")
	f.log.add(cmd.Flags())
	cmd.Flags().BoolVar(&f.byRule, "by-rule", false, "print how many URLs each optional rule merges, alone and when the others are on")
	cmd.Flags().StringVar(&f.report, "report", "", "write the result as one HTML file; includes --by-rule, where the profile has rules to switch")
	cmd.Flags().StringVar(&f.title, "title", "", "title of the report; default: the names of the inputs")
	cmd.Flags().BoolVar(&f.json, "json", false, "write one JSON object")
	number(cmd.Flags(), &f.hosts, "hosts", 10, 0, 0, "how many hosts to list, those with most duplicates first")
	sized(cmd.Flags(), &f.memory, "exact-memory", 1<<20, 512, 1, "memory to find exact duplicates, in MiB or as 1G; beyond it hashes go to temporary files")
	return cmd
}

func (f *replayFlags) run(ctx context.Context, a *app, names []string) (err error) {
	p, err := f.check()
	if err != nil {
		return err
	}
	page, err := durable.Create(f.report)
	if err != nil {
		return err
	}
	defer page.Drop()
	w, p, end, err := openSeenSet(ctx, f.db, p, f.also...)
	if err != nil {
		return err
	}
	defer func() {
		err = worst(err, unlessReported(end(), err))
	}()
	crawl, err := crawlInto(ctx, w, f.crawl, store.IdentityOf(p), false)
	if err != nil {
		return fmt.Errorf("cannot replay: %w", err)
	}
	f.crawl = crawl.Stored
	result, err := f.replay(ctx, a, names, p, w)
	if result == nil {
		return err
	}
	if f.title == "" {
		f.title = titleOf(names)
	}
	return worst(err, f.tell(a, result), f.write(page, result, p))
}

// check reads the flags that a mistake can be in, and makes the profile.
func (f *replayFlags) check() (*canon.Profile, error) {
	p, err := f.profile.open()
	if err != nil {
		return nil, err
	}
	if f.byRule && p.Name() != "qiita" {
		return nil, misusef("cannot compare rules; got --by-rule with profile %s; want qiita, whose rules can be switched", p)
	}
	f.byRule = f.byRule || f.report != "" && p.Name() == "qiita"
	return p, nil
}

func (f *replayFlags) replay(ctx context.Context, a *app, names []string, p *canon.Profile, s store.Store) (*replay.Result, error) {
	files := &fileSet{stdin: a.in, log: f.log.options()}
	counters := &replay.Counters{}
	shown := showProgress(a.err, func(passed time.Duration) string {
		read, total := files.read()
		return progressLine(counters, read, total, passed)
	})
	defer shown.stop()
	return replay.Run(ctx, files.inputs(ctx, names), replay.Options{
		Profile: p, Store: s, Crawl: f.crawl, ExactBudget: f.memory, ByRule: f.byRule, Counters: counters,
	})
}

// titleOf names a report after the inputs.
func titleOf(names []string) string {
	switch len(names) {
	case 0:
		return "firstseen"
	case 1:
		return filepath.Base(names[0])
	}
	return fmt.Sprintf("%s and %d more", filepath.Base(names[0]), len(names)-1)
}

func (f *replayFlags) write(page *durable.File, r *replay.Result, p *canon.Profile) error {
	return page.Write(func(w io.Writer) error {
		return report.Write(w, report.Data{Result: r, Title: f.title, Profile: p.String(), Made: time.Now()})
	})
}

// tell writes the result. Errors of inputs go to stderr and determine the exit status.
func (f *replayFlags) tell(a *app, r *replay.Result) error {
	out := newOutput(a.out)
	summary := newReplayReport(r, f.hosts)
	switch {
	case f.json:
		out.json(summary)
	case r.Lines > 0 || len(r.Errors) == 0: // nothing was read: the errors are all there is to write
		summary.write(out)
	}
	if err := endOutput(out, 0); err != nil {
		return err
	}
	for i := range r.Inputs {
		tellUnits(a.err, r.Inputs[i].Input, &r.Inputs[i].Units)
	}
	return inputErrors(a, r)
}

// inputErrors prints the input errors, and returns the error that determines the exit status: an
// input of the wrong kind was refused, any other error is a failure.
func inputErrors(a *app, r *replay.Result) error {
	var errs []error
	if r.Refused > 0 {
		errs = append(errs, errRefused)
	}
	for _, err := range r.Errors {
		errs = append(errs, refusal(a, err))
	}
	if r.Interrupted {
		errs = append(errs, errors.New("interrupted: the figures are of what was read until then"))
	}
	return worst(errs...)
}

// replayReport is a result as it is written: its JSON form is the object of --json.
type replayReport struct {
	*replay.Result
	Rate      float64            `json:"urls_per_second"`
	HostCount int                `json:"host_count"`
	Hosts     []replay.HostStats `json:"hosts"`
}

func newReplayReport(r *replay.Result, hosts int) replayReport {
	rate := 0.0
	if r.Seconds > 0 {
		rate = float64(r.URLs+r.Refused) / r.Seconds
	}
	return replayReport{Result: r, Rate: rate, HostCount: len(r.Hosts), Hosts: r.Hosts[:min(hosts, len(r.Hosts))]}
}

// write writes the summary for a person.
func (r replayReport) write(out *output) {
	count := func(n int64, what string) { out.line(fmt.Sprintf("%15s  %s", grouped(n), what)) }
	share := func(n int64, what string) {
		out.line(fmt.Sprintf("%15s  %s (%s of the URLs)", grouped(n), what, percent(n, r.URLs)))
	}
	count(r.Lines, "lines")
	if r.Blank > 0 {
		count(r.Blank, "blank")
	}
	if r.Skipped > 0 {
		count(r.Skipped, "records that are no fetch or link")
	}
	count(r.Refused, "refused"+r.reasons())
	count(r.URLs, "URLs")
	share(r.ExactDuplicates, "exact duplicates")
	share(r.CanonicalDuplicates, "more duplicates found by canonicalization")
	share(r.Unique, "unique")
	if r.New != r.Unique {
		count(r.New, "of them new: the seen-set knew the others")
	}
	r.writeHosts(out)
	r.writeInputs(out)
	r.writeRules(out)
	r.writeTraps(out)
	r.writeRefusals(out)
	out.line(fmt.Sprintf("\n%.2f s, %s URLs/s", r.Seconds, grouped(int64(r.Rate))))
}

// reasons is the refusals by code: " (scheme 3, url 1)".
func (r replayReport) reasons() string {
	var words []string
	for _, code := range slices.Sorted(maps.Keys(r.RefusedBy)) {
		words = append(words, fmt.Sprintf("%s %s", code, grouped(r.RefusedBy[code])))
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

func (r replayReport) writeHosts(out *output) {
	if len(r.Hosts) == 0 {
		return
	}
	out.line(fmt.Sprintf("\nhosts with most duplicates, of %s\n%15s %7s %15s  host", grouped(int64(r.HostCount)), "duplicates", "share", "unique"))
	for _, h := range r.Hosts {
		out.line(fmt.Sprintf("%15s %7s %15s  %s", grouped(h.Duplicates()), percent(h.Duplicates(), h.URLs), grouped(h.Unique), h.Host))
	}
}

func (r replayReport) writeRefusals(out *output) {
	if len(r.FirstRefusals) == 0 {
		return
	}
	out.line("\nfirst refused")
	for _, f := range r.FirstRefusals {
		out.line(fmt.Sprintf("  %s:%d: %s", f.Input, f.Line, f.Reason))
	}
}

// grouped writes a number as the report does.
func grouped(n int64) string { return report.Grouped(n) }

// plural writes a number of things.
func plural(n int64, what string) string { return report.Count(n, what) }

func percent(part, whole int64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

// writeInputs lists the inputs, when there are several or one is no list.
func (r replayReport) writeInputs(out *output) {
	if len(r.Inputs) == 1 && (r.Inputs[0].Format == "list" || r.Inputs[0].Format == "") {
		return
	}
	out.line(fmt.Sprintf("\n%-10s %12s %12s %12s %12s  input", "format", "lines", "URLs", "refused", "duplicates"))
	for _, i := range r.Inputs {
		out.line(fmt.Sprintf("%-10s %12s %12s %12s %12s  %s", i.Format, grouped(i.Lines), grouped(i.URLs), grouped(i.Refused), grouped(i.Duplicates()), i.Input))
	}
	out.line(fmt.Sprintf("fetches %s, of unchanged content %s, links %s", grouped(r.Kinds.Fetches), grouped(r.Kinds.Revisits), grouped(r.Kinds.Links)))
	if r.Bytes > 0 {
		out.line(fmt.Sprintf("bytes %s, for duplicates %s (%s)", grouped(r.Bytes), grouped(r.DuplicateBytes), percent(r.DuplicateBytes, r.Bytes)))
	}
}

func (r replayReport) writeRules(out *output) {
	if r.Rules == nil {
		return
	}
	out.line(fmt.Sprintf("\nunique: %s by letter, %s by the standards, %s by the profile, %s by every rule",
		grouped(r.Rules.Spellings), grouped(r.Rules.Fixed), grouped(r.Rules.Profile), grouped(r.Rules.All)))
	if r.Rules.Share < 1 {
		out.line(fmt.Sprintf("estimated from %.2g of the spellings", r.Rules.Share))
	}
	out.line(fmt.Sprintf("%-22s %3s %12s %12s  a pair that only this rule joins", "rule", "on", "alone", "beside all"))
	for _, e := range r.Rules.Rules {
		on := "no"
		if e.Active {
			on = "yes"
		}
		pair := ""
		if e.One != "" {
			pair = e.One + " = " + e.Other
		}
		out.line(strings.TrimRight(fmt.Sprintf("%-22s %3s %12s %12s  %s", e.Rule, on, grouped(e.Alone), grouped(e.Marginal), pair), " "))
	}
}

func (r replayReport) writeTraps(out *output) {
	if len(r.Traps) > 0 {
		out.line("\nunique URLs that a frontier refuses as traps")
	}
	for _, p := range r.Traps {
		out.line(fmt.Sprintf("%15s  %s: %s", grouped(p.Unique), p.Name, p.Example))
	}
}
