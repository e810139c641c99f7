package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/audit"
	"github.com/firstseen/firstseen/cmd/internal/durable"
	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/cmd/internal/report"
	"github.com/firstseen/firstseen/internal/zerocopy"
)

// auditFlags are the flags of the audit command.
type auditFlags struct {
	judging
	profile profileFlags
	against string
}

func newAuditCmd(a *app) *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "audit [--db DIR] [FILE…]",
		Short: "Judge canonicalization rules by the content in crawl logs",
		Long: `Read crawl logs with digests of the fetched content (CDX, CDXJ, WARC, Heritrix crawl.log,
Common Crawl indexes and others; the format is detected) and judge each rule: of the pairs of
URLs that it merges, how many were the same page? A pair counts if fetching URLs of the same
place again mostly returned the same content, or if one URL redirects to the other. Each
content counts once for a host. With fewer than 20 such contents a rule has no verdict.

--report also writes an HTML page, with examples of different pages and with the rules that
"firstseen learn" would propose.`,
		Example: `  firstseen audit crawl.cdx.gz crawl.log
  firstseen audit --rules +strip-www --against whatwg --report audit.html crawl.cdx
  firstseen audit --db crawl.db`,
		RunE: running(func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) }),
	}
	f.profile.add(cmd.Flags())
	f.judging.add(cmd.Flags())
	cmd.Flags().StringVar(&f.against, "against", "", "another profile: report what a change to it would merge and separate")
	return cmd
}

// judging has the flags that audit and learn share: other sources of captures, and the HTML report.
type judging struct {
	base, db    string
	json        bool
	path, title string // of the report
	file        *durable.File
	began       time.Time
}

func (j *judging) add(flags *pflag.FlagSet) {
	flags.StringVar(&j.db, "db", "", "also read the fetches that serve kept in this store, even while serve runs; FIRSTSEEN_DB does not set it")
	typed(flags, "db")
	baseFlag(flags, &j.base, "", `scheme and host for access logs that have only paths, such as "http://example.com"`)
	flags.BoolVar(&j.json, "json", false, "write one JSON object")
	flags.StringVar(&j.path, "report", "", "HTML report to write")
	flags.StringVar(&j.title, "title", "", "of the report; default: the names of the inputs")
}

// read reads logs. It opens the report first, so that a bad path shows before the work is done.
func (j *judging) read(ctx context.Context, a *app, p *canon.Profile, names []string) (read *judged, err error) {
	j.began = time.Now()
	if j.title == "" {
		j.title = titleOf(names)
	}
	if j.file, err = durable.Create(j.path); err != nil {
		return nil, err
	}
	return a.loadCaptures(ctx, p, names, j.base, j.db)
}

func (j *judging) write(judged *audit.Report, learned *audit.Learned) error {
	return j.file.Write(func(w io.Writer) error {
		return report.WriteJudged(w, report.Judged{Title: j.title, Made: time.Now(), Seconds: time.Since(j.began).Seconds(), Audit: judged, Learned: learned})
	})
}

func (f *auditFlags) run(ctx context.Context, a *app, names []string) error {
	req := audit.Request{}
	var err error
	if req.Profile, err = f.profile.open(); err != nil {
		return err
	}
	if f.against != "" {
		if req.Against, err = canon.ParseProfile(f.against); err != nil {
			return misuse{err}
		}
	}
	defer func() { f.file.Drop() }()
	read, err := f.read(ctx, a, req.Profile, names)
	if err != nil {
		return err
	}
	found, err := audit.Run(ctx, read.log, req)
	if err != nil {
		return err
	}
	found.Unread = read.unread
	if f.file != nil { // with the rules that the log proposes
		learned, err := audit.Learn(ctx, read.log)
		if err != nil {
			return err
		}
		if err := f.write(found, learned); err != nil {
			return err
		}
	}
	out := newOutput(a.out)
	if f.json {
		out.json(struct {
			*audit.Report
			unused
		}{found, read.unused})
	} else {
		writeAudit(out, found, time.Since(f.began))
	}
	return worst(endOutput(out, read.unused.Refused), read.failed)
}

// judged is the result of reading for audit and learn.
type judged struct {
	log     *audit.Log
	profile *canon.Profile
	unused  unused
	records int64
	digests int64 // records that have one
	files   *fileSet
	// unread are the files that could not be read to their end, and failed says why.
	unread []audit.Unread
	failed error
}

// unused counts what was read and is no capture.
type unused struct {
	Refused int64            `json:"refused,omitempty"`      // as uniq counts them: lines that are no record, and URLs without a canonical form; the first are printed to stderr
	Left    map[string]int64 `json:"not_captured,omitempty"` // records by the reason
}

// loadCaptures reads logs. If a file cannot be read to its end, that is reported, and the records
// before count. If no file has a record, the errors of the files are returned.
func (a *app) loadCaptures(ctx context.Context, p *canon.Profile, names []string, base, db string) (*judged, error) {
	if len(names) == 0 && db == "" {
		return nil, misusef("no captures to judge by: pass a log file or --db DIR")
	}
	debug.SetGCPercent(25) // a log is one big heap that hardly changes: room for twice of it would be wasted
	j := &judged{log: audit.NewLog(), profile: p, files: &fileSet{stdin: a.in}}
	if db != "" {
		if err := loadSample(ctx, j.log, db); err != nil {
			return nil, err
		}
	}
	err := j.files.each(ctx, a.err, names, j.files.inputLine, func(name string) error {
		before := j.records
		err := a.loadFile(ctx, j, name, base)
		if end := (endsAll{}); err == nil || ctx.Err() != nil || errors.As(err, &end) {
			return err
		}
		read := j.records - before
		j.unread = append(j.unread, audit.Unread{File: name, Records: read, Error: err.Error()})
		if read > 0 {
			err = fmt.Errorf("%w; %s before that count", err, plural(read, "record"))
		}
		j.failed = worst(j.failed, refusal(a, err))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if j.records == 0 && db == "" && j.failed != nil {
		return nil, j.failed
	}
	if j.records > 0 && j.digests == 0 && db == "" {
		fmt.Fprintf(a.err, "firstseen: no digest of a content in %s, so no rule can be judged; want CDX, CDXJ, WARC, Heritrix logs, or tables, Parquet and JSON with a field such as digest\n", plural(j.records, "record"))
	}
	for _, why := range slices.Sorted(maps.Keys(j.unused.Left)) {
		fmt.Fprintf(a.err, "firstseen: not judged: %s %s\n", plural(j.unused.Left[why], "record"), why)
	}
	if n := j.unused.Refused; n > 0 {
		fmt.Fprintf(a.err, "firstseen: not judged: %s refused: no record, or no URL that can be used\n", plural(n, "line"))
	}
	return j, nil
}

// shownBad is how many unreadable lines are printed.
const shownBad = 20

func (a *app) loadFile(ctx context.Context, j *judged, name, base string) error {
	f, err := j.files.open(ctx, name)
	if err != nil {
		return err
	}
	defer j.files.done(f)
	var c logs.Counts
	var form []byte
	refuse := func(r logs.Refusal) {
		if j.unused.Refused++; j.unused.Refused <= shownBad {
			fmt.Fprintf(a.err, "firstseen: %s: %v\n", name, r)
		}
	}
	for b, err := range logs.Read(f, logs.Options{Base: base, Declared: true}) {
		if err == nil {
			err = ctx.Err()
		}
		if errors.Is(err, context.Canceled) {
			return fmt.Errorf("interrupted while reading %s: %w", name, err)
		}
		if err != nil {
			return err
		}
		for r := range b.All() {
			j.records++
			if r.Digest != "" {
				j.digests++
			}
			if r.Kind != logs.Other {
				if form, err = j.profile.AppendCanonical(form[:0], zerocopy.Bytes(r.URL)); err != nil {
					refuse(logs.Refusal{Line: r.Line, Offset: r.Offset, Text: r.URL, Err: err})
					continue
				}
			}
			if why := unjudged(&r); why != "" {
				logs.CountReason(&j.unused.Left, why, 1)
			}
			if err := addRecord(j.log, r); err != nil {
				return endsAll{fmt.Errorf("cannot judge any more: %w", err)}
			}
		}
		for _, refusal := range b.Refusals {
			refuse(refusal)
		}
		j.unused.Refused += b.Counts.Refused - int64(len(b.Refusals)) // which may be the first of them
		c.Add(&b.Counts)
		b.Release()
	}
	tellUnits(a.err, name, &c)
	return nil
}

// unjudged returns why a record is no capture, or "".
func unjudged(r *logs.Record) string {
	switch {
	case r.Captured():
		return ""
	case r.Kind == logs.Other:
		return "of other protocols than HTTP"
	}
	return "without a digest, or a status of a server"
}

// addRecord adds a record of a log, if it is a capture.
func addRecord(log *audit.Log, r logs.Record) error {
	if r.RedirectedFrom && r.Via != "" {
		if err := log.AddRedirect(r.Via, r.URL); err != nil {
			return err
		}
	}
	c := audit.Capture{URL: r.URL, Time: r.Time, Status: r.Status, Digest: r.Digest, Redirect: r.Redirect,
		Canonical: r.Canonical, NoVarySearch: r.NoVarySearch, CleanParam: r.CleanParam}
	switch {
	case r.Kind == logs.Revisit:
		c.Status = 0 // the first capture of the content has its status
	case !r.Captured():
		return nil
	}
	return log.Add(c)
}

// writeAudit writes an audit for a person.
func writeAudit(out *output, r *audit.Report, took time.Duration) {
	count := func(n int, what string) { out.line(fmt.Sprintf("%15s  %s", grouped(int64(n)), what)) }
	count(r.Captures, "captures")
	count(r.Digests, "of them with a content to compare")
	count(r.URLs, "distinct URLs")
	count(r.Recaptured, "of them captured more than once")
	count(r.Repeats, "of them repeat the content of another URL")
	out.line(fmt.Sprintf("\n%-24s %9s %9s %8s %9s %8s %8s %9s %8s %8s  precision, %g %% interval",
		"rule", "merges", "same", "redirect", "different", "volatile", "error", "no digest", "explains", "left out", 100*r.Confidence))
	for _, v := range r.Forms {
		if v.Merges > 0 {
			writeVerdict(out, v, r.Repeats)
		}
	}
	writeIdle(out, r.Forms)
	if r.Against != nil {
		out.line(fmt.Sprintf("\nfrom %s to %s", r.Profile, r.Against.Profile))
		writeVerdict(out, named(r.Against.Joined, "would join"), r.Repeats)
		writeVerdict(out, named(r.Against.Split, "would split"), r.Repeats)
	}
	writeExamples(out, r)
	out.line(fmt.Sprintf("\n%.2f s", took.Seconds()))
}

func named(v audit.Verdict, name string) audit.Verdict {
	v.Name = name
	return v
}

func writeVerdict(out *output, v audit.Verdict, repeats int) {
	left := "-"
	if v.LeftOut != nil {
		left = grouped(int64(*v.LeftOut))
	}
	name := v.Name
	if v.Kind == audit.OnlyHere {
		name += " (audit)"
	}
	out.line(fmt.Sprintf("%-24s %9s %9s %8s %9s %8s %8s %9s %8s %8s  %s", name, grouped(int64(v.Merges)),
		outcome(v, audit.Same), outcome(v, audit.Redirect), outcome(v, audit.Different), outcome(v, audit.Volatile),
		outcome(v, audit.Failed), outcome(v, audit.NoDigest), percent(int64(v.Explains), int64(repeats)), left, precision(v)))
}

func outcome(v audit.Verdict, o audit.Outcome) string { return grouped(int64(v.Outcomes[o])) }

func precision(v audit.Verdict) string {
	if v.Verdict == nil {
		return "no verdict: " + v.Why
	}
	e := v.Verdict
	return fmt.Sprintf("%.1f %% (%.1f to %.1f) of %s contents", 100*e.Share, 100*e.Interval.Low, 100*e.Interval.High, grouped(int64(e.Trials)))
}

// writeIdle names the rules that merged nothing.
func writeIdle(out *output, forms []audit.Verdict) {
	var names []string
	for _, v := range forms {
		if v.Merges == 0 {
			names = append(names, v.Name)
		}
	}
	if len(names) > 0 {
		out.line("merged nothing: " + strings.Join(names, ", "))
	}
}

// writeExamples shows pairs that a rule, or the profile as a whole, merges although they were different.
func writeExamples(out *output, r *audit.Report) {
	for _, v := range r.Forms {
		if len(v.Examples) == 0 || v.Kind == audit.RuleSet && v.Name != "profile "+r.Profile {
			continue
		}
		out.line("\n" + v.Name + " merges, although the contents differed")
		for _, e := range v.Examples[:min(3, len(v.Examples))] {
			stable := ""
			if !e.Stable {
				stable = "  (no stable control: it may have changed by itself)"
			}
			out.line(fmt.Sprintf("  %s  %s  %s%s", e.TimeA.Format(time.DateTime), e.DigestA, e.A, stable))
			out.line(fmt.Sprintf("  %s  %s  %s", e.TimeB.Format(time.DateTime), e.DigestB, e.B))
		}
	}
}
