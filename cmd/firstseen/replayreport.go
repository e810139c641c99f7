package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/firstseen/firstseen/cmd/internal/replay"
	"github.com/firstseen/firstseen/cmd/internal/report"
)

// replayReport is a result as it is written: its JSON form is the object of --json.
type replayReport struct {
	*replay.Result
	Rate       float64            `json:"urls_per_second"`
	HostCount  int                `json:"host_count"`
	Hosts      []replay.HostStats `json:"hosts"`
	KeysSHA256 string             `json:"keys_sha256,omitempty"`
}

func newReplayReport(r *replay.Result, hosts int, sum string) replayReport {
	rate := 0.0
	if r.Seconds > 0 {
		rate = float64(r.URLs+r.Refused) / r.Seconds
	}
	return replayReport{Result: r, Rate: rate, HostCount: len(r.Hosts), Hosts: r.Hosts[:min(hosts, len(r.Hosts))], KeysSHA256: sum}
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
	r.writeRepeats(out)
	r.writeRules(out)
	r.writeFindings(out)
	r.writeFilters(out)
	r.writeRefusals(out)
	out.line(fmt.Sprintf("\n%.2f s, %s URLs/s", r.Seconds, grouped(int64(r.Rate))))
	if r.KeysSHA256 != "" {
		out.line("SHA-256 of the sorted keys: " + r.KeysSHA256)
	}
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

func percent(part, whole int64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}
