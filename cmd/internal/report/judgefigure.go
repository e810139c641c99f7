package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
)

// The size of the figure of precisions: slim, so that it needs no scrolling on a phone.
// Each rule has its name in one line and its marks below it.
const (
	slimWidth, rowHeight = 420.0, 34.0
	axisLeft             = 18.0
	axisWidth            = slimWidth - 2*axisLeft
)

// precisionFigure draws the precision of each rule, with its interval, and beside it what
// comparing contents without a control would have said.
func precisionFigure(rows []verdictRow, confidence float64) *figure {
	if len(rows) == 0 {
		return nil
	}
	f := &figure{Title: "Precision of each rule", Note: fmt.Sprintf("Dot: precision, with its interval at %g %% as a line. "+
		"Upright bar: the share of equal contents, without a control for pages that change. Rules without a dot got no verdict.", 100*confidence)}
	var b strings.Builder
	foot := rowHeight * float64(len(rows))
	fmt.Fprintf(&b, `<svg class="slim" viewBox="0 0 %g %g" role="img" aria-label="Precision of each rule, with its interval; the figures are in the table below">`, slimWidth, foot+24)
	for i := range 5 {
		x, anchor, at := axisAt(float64(i)/4), "middle", axisAt(float64(i)/4)
		if i == 4 {
			anchor, at = "end", slimWidth
		}
		fmt.Fprintf(&b, `<line class="grid" x1="%.1f" x2="%.1f" y1="0" y2="%.1f"/><text class="tick" x="%.1f" y="%.1f" text-anchor="%s">%d %%</text>`, x, x, foot, at, foot+18, anchor, 25*i)
	}
	for i, v := range rows {
		v.draw(&b, rowHeight*float64(i))
	}
	b.WriteString(`</svg>`)
	f.SVG = template.HTML(b.String()) // made of numbers and escaped text only
	return f
}

func axisAt(share float64) float64 { return axisLeft + axisWidth*share }

// draw draws a rule's row, whose upper edge is at top.
func (v verdictRow) draw(b *strings.Builder, top float64) {
	y := top + 25
	name, at := shorten(v.Name)+", no verdict", v.Naive
	if v.Verdict != nil {
		name, at = fmt.Sprintf("%s %.1f %%", shorten(v.Name), 100*v.Verdict.Share), v.Verdict.Share
	}
	x, anchor := labelAt(axisAt(at), name)
	fmt.Fprintf(b, `<text class="name" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, top+14, anchor, html.EscapeString(name))
	fmt.Fprintf(b, `<rect class="canonical" x="%.1f" y="%.1f" width="3" height="12"/>`, axisAt(v.Naive)-1.5, y-6)
	tip := fmt.Sprintf("%s: no verdict, %s", v.Name, v.Why)
	if e := v.Verdict; e != nil {
		low, high := axisAt(e.Interval.Low), axisAt(e.Interval.High)
		fmt.Fprintf(b, `<rect class="exact" x="%.1f" y="%.1f" width="%.1f" height="4" fill-opacity=".45" rx="2"/><circle class="exact" cx="%.1f" cy="%.1f" r="4"/>`,
			low, y-2, math.Max(high-low, 1), axisAt(e.Share), y)
		tip = fmt.Sprintf("%s: %.1f %% (%.1f to %.1f) of %s contents; without a control %.1f %%", v.Name,
			100*e.Share, 100*e.Interval.Low, 100*e.Interval.High, Grouped(int64(e.Trials)), 100*v.Naive)
	}
	fmt.Fprintf(b, `<rect class="hover" x="0" y="%.1f" width="%g" height="%g" data-tip="%s"><title>%s</title></rect>`,
		top, slimWidth, rowHeight, html.EscapeString(tip), html.EscapeString(tip))
}

// labelAt places a label above a mark, within the figure: it ends just right of a mark in the right
// half, and otherwise begins just left of it.
func labelAt(x float64, label string) (at float64, anchor string) {
	const letter, beside = 8.6, 24 // the mean width of a letter on a phone, where they are largest
	if x > slimWidth/2 {
		return math.Min(x+beside, slimWidth), "end"
	}
	return math.Max(0, math.Min(x-beside, slimWidth-letter*float64(len([]rune(label))))), "start"
}

// shorten cuts the name of a set of rules to what fits.
func shorten(name string) string {
	if r := []rune(name); len(r) > 44 {
		return string(r[:43]) + "…"
	}
	return name
}
