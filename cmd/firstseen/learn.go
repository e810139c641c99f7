package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/audit"
)

// learnFlags are the flags of the learn command.
type learnFlags struct {
	judging
	output string
}

func newLearnCmd(a *app) *cobra.Command {
	var f learnFlags
	cmd := &cobra.Command{
		Use:   "learn [--db DIR] [FILE…]",
		Short: "Find variants and parameters that lead to the same page",
		Long: `Read crawl logs with digests and find, for each host and directory, which folds hold (with
and without www, http and https, index file, final slash), and which parameters can be
dropped. The pages are divided into two halves: a rule is proposed only if both halves support
it. Each content counts once, so that a server that answers most URLs with one page (a soft
404, a login page) proves nothing. Rules that could not be tested, and rules that could cause a
redirect loop, are not proposed; they are listed with the reason.

Declarations of sites are also evidence: canonical links and No-Vary-Search in WARC files and in
the fetches that serve kept, and Clean-param of robots.txt. Without enough contents, a rule is
proposed only if at least 10 pages in each half and 35 in all declare it, none declares the
contrary, and at least 90 % of the contents are equal.

--output writes the proposals as a rule file, for --rule-file of all commands.`,
		Example: `  firstseen learn --output rules.json crawl.cdx.gz
  firstseen replay --rule-file rules.json crawl.cdx.gz`,
		RunE: running(func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) }),
	}
	f.judging.add(cmd.Flags())
	cmd.Flags().StringVarP(&f.output, "output", "o", "", `rule file to write, in the place of an earlier one; "-" writes it to stdout instead of the list`)
	return cmd
}

func (f *learnFlags) run(ctx context.Context, a *app, names []string) error {
	defer func() { f.file.Drop() }()
	read, err := f.read(ctx, a, canon.Qiita(), names)
	if err != nil {
		return err
	}
	learned, err := audit.Learn(ctx, read.log)
	if err != nil {
		return err
	}
	learned.Unread = read.unread
	if err := f.writeRules(a, learned); err != nil {
		return err
	}
	if err := f.write(nil, learned); err != nil {
		return err
	}
	out := newOutput(a.out)
	switch {
	case f.output == "-":
	case f.json:
		out.json(struct {
			*audit.Learned
			unused
		}{learned, read.unused})
	default:
		writeLearned(out, learned)
	}
	return worst(endOutput(out, read.unused.Refused), read.failed)
}

// writeRules writes the rule file, having made sure that it can be read.
func (f *learnFlags) writeRules(a *app, learned *audit.Learned) (err error) {
	if f.output == "" {
		return nil
	}
	var rules bytes.Buffer
	if err := learned.WriteRuleFile(&rules); err != nil {
		return err
	}
	if _, err := canon.Qiita().With(canon.WithRuleFile(bytes.NewReader(rules.Bytes()))); err != nil {
		return fmt.Errorf("cannot use the rules that were learned: %w", err)
	}
	if _, err = a.writeOut(f.output, func(w io.Writer) (int64, error) { return rules.WriteTo(w) }); err != nil {
		return fmt.Errorf("cannot write rule file: %w", err)
	}
	return nil
}

func writeLearned(out *output, l *audit.Learned) {
	out.line(plural(int64(len(l.Proposals)), "rule") + " proposed")
	for _, p := range l.Proposals {
		if d := p.Declared; p.Source == audit.FromDeclarations {
			out.line(fmt.Sprintf("%9s URLs  %s%s  %s: declared by %s, validated on %d (%s)", grouped(int64(p.Saves)),
				p.Host, p.Path, does(p.Param, p.Rule), plural(int64(d.Learned), "page"), d.Validated, strings.Join(d.By, ", ")))
			continue
		}
		out.line(fmt.Sprintf("%9s URLs  %s%s  %s: %d of %s the same, validated on %d of %d (%.1f to %.1f %%)", grouped(int64(p.Saves)),
			p.Host, p.Path, does(p.Param, p.Rule), p.Learned.Held, plural(int64(p.Learned.Pairs), "content"), p.Validated.Held, p.Validated.Pairs,
			100*p.Validated.Interval.Low, 100*p.Validated.Interval.High))
	}
	if len(l.LeftOut) == 0 {
		return
	}
	out.line(fmt.Sprintf("\nnot proposed, and why (%d of %d)", len(l.LeftOut), len(l.LeftOut)+l.Omitted))
	for _, c := range l.LeftOut {
		out.line(fmt.Sprintf("%9s URLs  %s%s  %s: %s", grouped(int64(c.URLs)), c.Host, c.Path, does(c.Param, c.Rule), c.Why))
	}
}

// does describes a proposal or a rule that was left out.
func does(param string, rule canon.Rule) string {
	if rule != "" {
		return string(rule)
	}
	return "drop " + param
}
