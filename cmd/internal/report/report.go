// Package report writes the results of a replay, or of an audit, as one HTML file.
//
// The file is complete: it loads no script, font or picture, so it can be mailed and opens without a
// network. The charts are SVG. A script adds hovering, sorting and saving of tables; without it,
// everything can still be read. Each chart has a table of its figures beside it, for readers who
// cannot see the chart or need the exact numbers.
package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
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
	Stream    *figure
	OverTime  *figure
	Repeats   *figure
	RuleBars  *figure
	HostRows  []hostRow
	HostsMore int64
}

// A card is a key figure.
type card struct{ Value, Name, Note string }

// A figure is a chart with the figures it is drawn from.
type figure struct {
	Title, Note string
	SVG         template.HTML
	Columns     []string
	Rows        [][]string
}

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
	p := page{Data: d, Style: template.CSS(style), Script: template.JS(script), Cards: cards(d), Share: shareBar(d.Result)}
	p.Stream = streamFigure(d.Result)
	p.OverTime = timeFigure(d.Result)
	p.Repeats = repeatsFigure(d.Result)
	p.RuleBars = rulesFigure(d.Result)
	p.HostRows = hostRows(d.Result, d.MostHosts)
	p.HostsMore = int64(max(0, len(d.Hosts)-d.MostHosts))
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}

// parse makes the template of a page.
func parse(text string) (*template.Template, error) {
	t := template.New("page").Funcs(template.FuncMap{
		"n": Grouped, "count": func(n int) string { return Grouped(int64(n)) }, "bytes": bytesText, "percent": percent,
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

// short writes a number for an axis: 1.5M.
func short(n int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if n >= u.size {
			return fmt.Sprintf("%.3g%s", float64(n)/float64(u.size), u.name)
		}
	}
	return fmt.Sprint(n)
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

// clock writes a time as fine as its stretch is.
func clock(at, width int64) string {
	t := time.Unix(at, 0).UTC()
	if width >= 86400 {
		return t.Format("2006-01-02")
	}
	return t.Format("2006-01-02 15:04")
}
