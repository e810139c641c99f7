package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"

	"github.com/firstseen/firstseen/cmd/internal/replay"
)

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
