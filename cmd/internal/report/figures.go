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

// The size of a chart in its own units, and its margins.
const (
	width, height            = 720.0, 260.0
	left, right, top, bottom = 52.0, 12.0, 12.0, 34.0
	plotWidth, plotHeight    = width - left - right, height - top - bottom
)

// A mark is one place on the x axis of a chart: its stacked parts, each from 0 to 1, and the text
// that is shown on hovering.
type mark struct {
	from, to float64 // 0 to 1
	parts    []float64
	tip      string
}

// tick is a label on the x axis.
type tick struct {
	at   float64
	text string
}

// stacked draws shares as steps, one colour a part.
func stacked(label string, marks []mark, ticks []tick, classes []string) template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, width, height, html.EscapeString(label))
	grid(&b)
	for part, class := range classes {
		fmt.Fprintf(&b, `<path class="%s" d="%s"/>`, class, steps(marks, part))
	}
	for _, t := range ticks {
		anchor := "middle"
		if t.at > 0.93 {
			anchor = "end"
		}
		fmt.Fprintf(&b, `<text class="tick" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, left+t.at*plotWidth, height-14, anchor, html.EscapeString(t.text))
	}
	hovers(&b, marks)
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) // made of numbers and escaped text only
}

// grid draws the y axis, 0 to 100 %.
func grid(b *strings.Builder) {
	for i := range 5 {
		y := top + plotHeight*float64(4-i)/4
		fmt.Fprintf(b, `<line class="grid" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/>`, left, width-right, y, y)
		fmt.Fprintf(b, `<text class="tick" x="%g" y="%.1f" text-anchor="end">%d %%</text>`, left-6, y+4, 25*i)
	}
}

// steps is the outline of one part, a shape for each run of marks without a gap: its
// top from left to right, its foot back.
func steps(marks []mark, part int) string {
	var path strings.Builder
	for len(marks) > 0 {
		n := 1
		for n < len(marks) && marks[n].from-marks[n-1].to < 1e-9 {
			n++
		}
		outline(&path, marks[:n], part)
		marks = marks[n:]
	}
	return path.String()
}

func outline(path *strings.Builder, marks []mark, part int) {
	foot := func(m mark) float64 {
		sum := 0.0
		for _, p := range m.parts[:part] {
			sum += p
		}
		return sum
	}
	op := "M"
	point := func(x, share float64) {
		fmt.Fprintf(path, "%s%.1f %.1f", op, left+x*plotWidth, top+plotHeight*(1-share))
		op = "L"
	}
	for _, m := range marks {
		point(m.from, foot(m)+m.parts[part])
		point(m.to, foot(m)+m.parts[part])
	}
	for i := len(marks) - 1; i >= 0; i-- {
		point(marks[i].to, foot(marks[i]))
		point(marks[i].from, foot(marks[i]))
	}
	path.WriteString("Z")
}

// hovers lays what can be pointed at over the plot, as wide as each mark.
func hovers(b *strings.Builder, marks []mark) {
	for _, m := range marks {
		fmt.Fprintf(b, `<rect class="hover" x="%.1f" y="%g" width="%.1f" height="%g" data-tip="%s"><title>%s</title></rect>`,
			left+m.from*plotWidth, top, math.Max((m.to-m.from)*plotWidth, 0.5), plotHeight, html.EscapeString(m.tip), html.EscapeString(m.tip))
	}
}

// shareBar shows of what the URLs are, as one bar with its parts named.
func shareBar(r *replay.Result) template.HTML {
	if r.URLs == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g 34" preserveAspectRatio="none" role="img" aria-label="%s exact duplicates, %s found by canonicalization, %s unique">`,
		width, percent(r.ExactDuplicates, r.URLs), percent(r.CanonicalDuplicates, r.URLs), percent(r.Unique, r.URLs))
	x := 0.0
	for _, part := range []struct {
		n           int64
		class, name string
	}{{r.ExactDuplicates, "exact", "exact duplicates"}, {r.CanonicalDuplicates, "canonical", "found by canonicalization"}, {r.Unique, "unique", "unique"}} {
		w := width * float64(part.n) / float64(r.URLs)
		tip := fmt.Sprintf("%s %s, %s", Grouped(part.n), part.name, percent(part.n, r.URLs))
		fmt.Fprintf(&b, `<rect class="%s" x="%.2f" y="0" width="%.2f" height="34" data-tip="%s"><title>%s</title></rect>`, part.class, x, math.Max(w-1, 0), tip, tip)
		x += w
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) // made of numbers and fixed text only
}
