package main

import (
	"fmt"
	"strings"

	"github.com/firstseen/firstseen/cmd/internal/replay"
)

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

// writeRepeats prints how many URLs a filter must remember.
func (r replayReport) writeRepeats(out *output) {
	var words []string
	for _, w := range r.Repeats.Window {
		if w.Share == 0.5 || w.Share == 0.9 || w.Share == 0.99 {
			words = append(words, fmt.Sprintf("%.0f %% of the last %s", 100*w.Share, grouped(w.Limit)))
		}
	}
	if len(words) > 0 {
		out.line("\nexact repeats within the events before: " + strings.Join(words, ", "))
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

// writeFindings lists traps, patterns and redirects, where there are any.
func (r replayReport) writeFindings(out *output) {
	writePatterns(out, "unique URLs that a frontier refuses as traps", r.Traps)
	writePatterns(out, "unique URLs with a pattern of endless sites", r.Patterns)
	if len(r.Redirects) > 0 {
		out.line("\nredirects")
	}
	for _, x := range r.Redirects {
		out.line(fmt.Sprintf("%15s  %s: %s", grouped(x.Count), x.Kind, x.From))
	}
}

func writePatterns(out *output, title string, list []replay.Pattern) {
	if len(list) > 0 {
		out.line("\n" + title)
	}
	for _, p := range list {
		out.line(fmt.Sprintf("%15s  %s: %s", grouped(p.Unique), p.Name, p.Example))
	}
}

func (r replayReport) writeFilters(out *output) {
	if r.Filters == nil {
		return
	}
	out.line(fmt.Sprintf("\nof %s keys a HyperLogLog estimates %s", grouped(r.Filters.Keys), grouped(r.Filters.Estimate)))
	for _, f := range r.Filters.Bloom {
		out.line(fmt.Sprintf("%15s  new URLs dropped by a Bloom filter of %g %%, %s bytes", grouped(f.Dropped), 100*f.Rate, grouped(f.Bytes)))
	}
}
