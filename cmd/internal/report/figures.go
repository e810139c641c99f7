package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"

	"github.com/firstseen/firstseen/cmd/internal/replay"
)

// streamFigure shows how the duplicates change along the stream.
func streamFigure(r *replay.Result) *figure {
	points := r.Stream.Points
	if len(points) < 2 {
		return nil
	}
	end := points[len(points)-1].At + points[len(points)-1].Events
	name := func(p replay.Point) string {
		return fmt.Sprintf("URLs %s to %s", Grouped(p.At+1), Grouped(p.At+p.Events))
	}
	var ticks []tick
	for i := range 5 {
		ticks = append(ticks, tick{float64(i) / 4, short(end * int64(i) / 4)})
	}
	return shares("Along the stream", "What the URLs were, in the order they came; each step is "+Grouped(r.Stream.Width)+" URLs.",
		points, ticks, name, func(at int64) float64 { return math.Min(float64(at)/float64(end), 1) }, r.Stream.Width)
}

// timeFigure shows the same over time, if the logs have times.
func timeFigure(r *replay.Result) *figure {
	points := r.OverTime.Points
	if len(points) < 2 {
		return nil
	}
	w := r.OverTime.Width
	begin, end := points[0].At, points[len(points)-1].At+w
	var ticks []tick
	for i := range 4 {
		ticks = append(ticks, tick{float64(i)/4 + 0.06, clock(begin+(end-begin)*int64(i)/4, w)})
	}
	name := func(p replay.Point) string { return clock(p.At, w) + " UTC, " + Grouped(p.Events) + " URLs" }
	return shares("Over time", "What the URLs were by the time in the log (UTC); each step is "+span(w)+". Where nothing is drawn, nothing was logged.",
		points, ticks, name, func(at int64) float64 { return float64(at-begin) / float64(end-begin) }, w)
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

// shares makes a chart of exact, canonical and unique shares.
func shares(title, note string, points []replay.Point, ticks []tick, name func(replay.Point) string, place func(int64) float64, width int64) *figure {
	f := &figure{Title: title, Note: note, Columns: []string{"stretch", "URLs", "exact duplicates", "found by canonicalization", "unique"}}
	var marks []mark
	for _, p := range points {
		if p.Events == 0 {
			continue
		}
		canonical := max(0, p.Events-p.Exact-p.Unique)
		share := func(n int64) float64 { return float64(n) / float64(p.Events) }
		marks = append(marks, mark{from: place(p.At), to: place(p.At + width), parts: []float64{share(p.Exact), share(canonical), share(p.Unique)},
			tip: fmt.Sprintf("%s: %s exact, %s by canonicalization, %s unique", name(p), percent(p.Exact, p.Events), percent(canonical, p.Events), percent(p.Unique, p.Events))})
		f.Rows = append(f.Rows, []string{name(p), Grouped(p.Events), Grouped(p.Exact), Grouped(canonical), Grouped(p.Unique)})
	}
	f.SVG = stacked(title+": shares of exact duplicates, duplicates found by canonicalization and unique URLs", marks, ticks, []string{"exact", "canonical", "unique"})
	return f
}

// repeatsFigure shows how many exact repeats a window of recent events would catch.
func repeatsFigure(r *replay.Result) *figure {
	within := r.Repeats.Within
	if len(within) < 2 {
		return nil
	}
	total := within[len(within)-1].Count
	f := &figure{Title: "How far apart repeats are", Columns: []string{"remembered URLs", "repeats caught", "share"},
		Note: "The share of the exact repeats that would be caught by remembering so many of the last URLs: how big a cache must be."}
	var marks []mark
	var ticks []tick
	for i, c := range within {
		from, to := float64(i)/float64(len(within)), float64(i+1)/float64(len(within))
		marks = append(marks, mark{from, to, []float64{float64(c.Count) / float64(total)},
			fmt.Sprintf("the last %s URLs: %s of the repeats", Grouped(c.Limit), percent(c.Count, total))})
		if every := len(within)/6 + 1; i%every == 0 {
			ticks = append(ticks, tick{(from + to) / 2, short(c.Limit)})
		}
		f.Rows = append(f.Rows, []string{Grouped(c.Limit), Grouped(c.Count), percent(c.Count, total)})
	}
	f.SVG = stacked("Share of exact repeats within a number of URLs", marks, ticks, []string{"exact"})
	return f
}

// rulesFigure shows what each rule takes away, alone.
func rulesFigure(r *replay.Result) *figure {
	if r.URLs == 0 || r.Rules == nil || len(r.Rules.Rules) == 0 {
		return nil
	}
	f := &figure{Title: "What each rule merges, alone", Note: "Unique URLs that a rule merges with another URL when no other optional rule is on. Rules that were off in this run are grey, and marked (off). The scale is logarithmic."}
	most := int64(1)
	for _, e := range r.Rules.Rules {
		most = max(most, e.Alone)
	}
	const rowHeight, nameWidth = 24.0, 230.0
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="Unique URLs that each rule merges">`, width, rowHeight*float64(len(r.Rules.Rules))+4)
	for i, e := range r.Rules.Rules {
		y := rowHeight * float64(i)
		w := (width - nameWidth - 90) * math.Log1p(float64(e.Alone)) / math.Log1p(float64(most))
		class, name := "unique", e.Rule+" (off)"
		if e.Active {
			class, name = "exact", e.Rule
		}
		tip := html.EscapeString(fmt.Sprintf("%s: %s alone, %s when the others are on", e.Rule, Grouped(e.Alone), Grouped(e.Marginal)))
		fmt.Fprintf(&b, `<text class="name" x="%g" y="%.1f" text-anchor="end">%s</text>`, nameWidth-8, y+16, html.EscapeString(name))
		fmt.Fprintf(&b, `<rect class="%s" x="%g" y="%.1f" width="%.1f" height="16" rx="2" data-tip="%s"><title>%s</title></rect>`, class, nameWidth, y+4, math.Max(w, 1), tip, tip)
		fmt.Fprintf(&b, `<text class="tick" x="%.1f" y="%.1f">%s</text>`, nameWidth+w+6, y+16, Grouped(e.Alone))
	}
	b.WriteString(`</svg>`)
	f.SVG = template.HTML(b.String()) // made of numbers and escaped text only
	return f
}
