package main

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
)

// show prints the table: each rival's time, and how many times ours it is.
func show(out io.Writer, corpus string, n int, results []result) {
	base := 0.0
	for _, r := range results {
		if r.name == ours {
			base = median(r.nanos)
		}
	}
	fmt.Fprintf(out, "%s: %d URLs, CPU time, median of %d rounds\n\n", filepath.Base(corpus), n, len(results[0].nanos))
	fmt.Fprint(out, "| | ns/URL | to ours | refused |\n|---|--:|--:|--:|\n")
	for _, r := range results {
		fmt.Fprintf(out, "| %s | %.0f | %.2f | %d |\n", r.name, median(r.nanos), median(r.nanos)/base, r.refused)
	}
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
	fmt.Fprint(out, "\nHostile input, qiita, ns per byte:\n\n| of | 1 kB | 10 kB | 100 kB | 1 MB |\n|---|--:|--:|--:|--:|\n")
	for _, name := range names {
		r := rows[name]
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", name, r["1kB"], r["10kB"], r["100kB"], r["1MB"])
	}
	return nil
}
