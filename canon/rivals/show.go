package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"text/tabwriter"
)

// show prints the table: each rival's time, and how many times ours it is.
func show(out io.Writer, corpus string, n int, results []result) {
	base := 0.0
	for _, r := range results {
		if r.name == ours {
			base = median(r.nanos)
		}
	}
	fmt.Fprintf(out, "%s: %d URLs, CPU time, median of %d rounds\n\n", corpus, n, len(results[0].nanos))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "ns/URL\tratio\trefused\t\t")
	for _, r := range results {
		fmt.Fprintf(w, "%.0f\t%.2f\t%d\t\t%s\n", median(r.nanos), median(r.nanos)/base, r.refused, r.name)
	}
	w.Flush()
}

var benchLine = regexp.MustCompile(`BenchmarkHostile/([^/\s]+)/(\d+[kM]B)\S*\s.*?([\d.]+) ns/byte`)

// showHostile runs the package's own benchmark of hostile input and prints ns per byte
// by length. What does not grow along a row is linear.
func showHostile(out io.Writer) error {
	text, err := output("..", "go", "test", "-run", "^$", "-bench", "^BenchmarkHostile$", "-benchtime", "20ms", "-cpu", "1", ".")
	if err != nil {
		return err
	}
	rows := map[string]map[string]string{}
	for _, m := range benchLine.FindAllStringSubmatch(text, -1) {
		if rows[m[1]] == nil {
			rows[m[1]] = map[string]string{}
		}
		rows[m[1]][m[2]] = m[3]
	}
	var names []string
	for name := range rows {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Fprint(out, "\nhostile input, qiita, ns per byte\n\n")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "1 kB\t10 kB\t100 kB\t1 MB\t\t")
	for _, name := range names {
		r := rows[name]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t\t%s\n", r["1kB"], r["10kB"], r["100kB"], r["1MB"], name)
	}
	return w.Flush()
}
