// Package report writes the results of a replay, or of an audit, as one HTML file.
//
// The file is complete: it loads no script, font or picture, so it can be mailed and opens without a
// network. A script adds hovering, sorting and saving of tables; without it, everything can still be
// read.
package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/replay"
)

// Data is what a report is made of.
type Data struct {
	*replay.Result
	Title   string
	Profile string
	Made    time.Time
	// MostHosts bounds the table of hosts. The default is 250.
	MostHosts int
}

var (
	//go:embed page.html
	pageText string
	//go:embed judge.html
	judgeText string
	//go:embed frame.html
	frameText string
	//go:embed style.css
	style string
	//go:embed script.js
	script string
)

// page is what the template sees beside the data.
type page struct {
	Data
	Style     template.CSS
	Script    template.JS
	Cards     []card
	Share     template.HTML // of the URLs, as one bar
	HostRows  []hostRow
	HostsMore int64
}

// A card is a key figure.
type card struct{ Value, Name, Note string }

// hostRow is a line of the table of hosts. Cumulative is the share of all duplicates
// that this host and those above it have.
type hostRow struct {
	replay.HostStats
	Share, Cumulative float64
}

// Write writes the report.
func Write(w io.Writer, d Data) error {
	if d.MostHosts <= 0 {
		d.MostHosts = 250
	}
	t, err := parse(pageText)
	if err != nil {
		return err
	}
	p := page{Data: d, Style: template.CSS(style), Script: template.JS(script), Cards: cards(d), Share: shareBar(d.Result),
		HostRows: hostRows(d.Result, d.MostHosts), HostsMore: int64(max(0, len(d.Hosts)-d.MostHosts))}
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}

// parse makes the template of a page.
func parse(text string) (*template.Template, error) {
	t := template.New("page").Funcs(template.FuncMap{
		"n": Grouped, "count": func(n int) string { return Grouped(int64(n)) }, "bytes": bytesText,
		"pct":  func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) },
		"time": func(t time.Time) string { return t.Format(time.DateTime) },
	})
	for _, s := range []string{frameText, text} {
		if _, err := t.Parse(s); err != nil {
			return nil, fmt.Errorf("cannot make the report: %w", err)
		}
	}
	return t, nil
}

func cards(d Data) []card {
	list := []card{
		{Grouped(d.URLs), "URLs", fmt.Sprintf("in %s lines, inputs: %d", Grouped(d.Lines), len(d.Inputs))},
		{percent(d.Duplicates, d.URLs), "duplicates", Grouped(d.Duplicates) + " URLs were seen before"},
		{percent(d.ExactDuplicates, d.URLs), "exact duplicates", Grouped(d.ExactDuplicates) + ", byte by byte"},
		{percent(d.CanonicalDuplicates, d.URLs), "found by canonicalization", Grouped(d.CanonicalDuplicates) + " more, one URL spelled in another way"},
		{Grouped(d.Unique), "unique", "on " + Grouped(int64(len(d.Hosts))) + " hosts"},
	}
	if d.New != d.Unique {
		list = append(list, card{Grouped(d.New), "new", "the seen-set knew the other unique ones from earlier runs"})
	}
	if d.DuplicateBytes > 0 {
		list = append(list, card{bytesText(d.DuplicateBytes), "fetched for duplicates", percent(d.DuplicateBytes, d.Bytes) + " of " + bytesText(d.Bytes)})
	}
	if d.Refused > 0 {
		list = append(list, card{Grouped(d.Refused), "refused", "lines that are no URL, or can't be read"})
	}
	return list
}

func hostRows(r *replay.Result, most int) []hostRow {
	rows := []hostRow{}
	sum := int64(0)
	for _, h := range r.Hosts[:min(most, len(r.Hosts))] {
		sum += h.Duplicates()
		row := hostRow{HostStats: h}
		if h.URLs > 0 {
			row.Share = float64(h.Duplicates()) / float64(h.URLs)
		}
		if r.Duplicates > 0 {
			row.Cumulative = float64(sum) / float64(r.Duplicates)
		}
		rows = append(rows, row)
	}
	return rows
}

// Grouped writes a number with commas between thousands.
func Grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count writes a number of things: 1 page, 2 pages, 1,000 fetches.
func Count(n int64, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "ch"):
		what += "es"
	default:
		what += "s"
	}
	return Grouped(n) + " " + what
}

func percent(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

func bytesText(n int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.size {
			return fmt.Sprintf("%.3g %s", float64(n)/float64(u.size), u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

func span(seconds int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{86400, "day"}, {3600, "hour"}, {60, "minute"}} {
		switch n := float64(seconds) / float64(u.size); {
		case n == 1:
			return "one " + u.name
		case n > 1:
			return fmt.Sprintf("%.3g %ss", n, u.name)
		}
	}
	return fmt.Sprintf("%d seconds", seconds)
}

// barWidth is the width of the bar in its own units.
const barWidth = 720.0

// shareBar shows of what the URLs are, as one bar with its parts named.
func shareBar(r *replay.Result) template.HTML {
	if r.URLs == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g 34" preserveAspectRatio="none" role="img" aria-label="%s exact duplicates, %s found by canonicalization, %s unique">`,
		barWidth, percent(r.ExactDuplicates, r.URLs), percent(r.CanonicalDuplicates, r.URLs), percent(r.Unique, r.URLs))
	x := 0.0
	for _, part := range []struct {
		n           int64
		class, name string
	}{{r.ExactDuplicates, "exact", "exact duplicates"}, {r.CanonicalDuplicates, "canonical", "found by canonicalization"}, {r.Unique, "unique", "unique"}} {
		w := barWidth * float64(part.n) / float64(r.URLs)
		tip := fmt.Sprintf("%s %s, %s", Grouped(part.n), part.name, percent(part.n, r.URLs))
		fmt.Fprintf(&b, `<rect class="%s" x="%.2f" y="0" width="%.2f" height="34" data-tip="%s"><title>%s</title></rect>`, part.class, x, math.Max(w-1, 0), tip, tip)
		x += w
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) // made of numbers and fixed text only
}
