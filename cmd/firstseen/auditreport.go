package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/audit"
)

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
	if len(r.Attributed) > 0 {
		out.line("\nmerges of " + r.Profile + ", by the smallest set of rules that makes them")
		for _, s := range r.Attributed[:min(10, len(r.Attributed))] {
			out.line(fmt.Sprintf("%15s  %s", grouped(int64(s.Merges)), strings.Join(s.Rules, " + ")))
		}
	}
	if r.Against != nil {
		out.line(fmt.Sprintf("\nfrom %s to %s", r.Profile, r.Against.Profile))
		writeVerdict(out, named(r.Against.Joined, "would join"), r.Repeats)
		writeVerdict(out, named(r.Against.Split, "would split"), r.Repeats)
	}
	writeSaid(out, r.Forms)
	writeExamples(out, r.Forms)
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

// writeSaid compares what the sites declare of a rule's pairs with what their contents say.
func writeSaid(out *output, forms []audit.Verdict) {
	header := fmt.Sprintf("\n%-24s %30s   %30s\n%-24s %9s %9s %10s   %9s %9s %10s", "declared, content says", "one page", "two pages",
		"rule", "same", "different", "unknown", "same", "different", "unknown")
	for _, v := range forms {
		if v.Said == nil {
			continue
		}
		if header != "" {
			out.line(header)
			header = ""
		}
		one, two := v.Said.OnePage, v.Said.TwoPages
		out.line(fmt.Sprintf("%-24s %9s %9s %10s   %9s %9s %10s", v.Name, grouped(int64(one.Same)), grouped(int64(one.Different)), grouped(int64(one.Unknown)),
			grouped(int64(two.Same)), grouped(int64(two.Different)), grouped(int64(two.Unknown))))
	}
	for _, v := range forms {
		if v.Said == nil || v.Kind == audit.RuleSet {
			continue
		}
		for _, c := range v.Said.Against[:min(3, len(v.Said.Against))] {
			out.line(fmt.Sprintf("  %s: declared %s, content %s\n    %s\n    %s", v.Name, c.Declared, c.Content, c.A, c.B))
		}
	}
}

// writeExamples shows pairs that a rule merges although they were different.
func writeExamples(out *output, forms []audit.Verdict) {
	for _, v := range forms {
		if len(v.Examples) == 0 || v.Kind == audit.RuleSet {
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
