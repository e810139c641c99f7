package logs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestSeparatorsInURLs reads lists whose URLs go on behind a separator of tables as rows do. Each URL is printed whole, or the list is refused:
// nothing says where the first one ends. A header, or cells that no URL has, make a table of the same lines.
func TestSeparatorsInURLs(t *testing.T) {
	tails := []string{"0", "%d", "%d.html", "a%d", "x,%d", "12345%d", "%d;x", "0;%d", "a=%d", "0,%d,x", "x%d/", "news-%d", "%d-a", "a.b%d"}
	for _, sep := range []string{",", ";", "|"} {
		for _, tail := range tails {
			for _, n := range []int{2, 5, 60} {
				var whole, cut []string
				for i := range n {
					cut = append(cut, fmt.Sprintf("https://s.example/p%d", i%3))
					whole = append(whole, cut[i]+sep+strings.ReplaceAll(tail, "%d", fmt.Sprint(i)))
				}
				if got, failed := seenBy(t, strings.Join(whole, "\n")+"\n", Options{Events: Auto}); !failed && !slices.Equal(got, whole) {
					t.Errorf("%q %q, %d lines: got %q; want whole lines, or none", sep, tail, n, got)
				}
				if strings.Contains(tail, ",") || strings.Contains(tail, ";") {
					continue
				}
				for i := range whole {
					whole[i] += sep + "2026-01-02"
				}
				if got, failed := seenBy(t, strings.Join(whole, "\n")+"\n", Options{Events: Auto}); !failed && !slices.Equal(got, cut) && n > 2 {
					t.Errorf("%q %q, %d rows with a date: got %q; want %q", sep, tail, n, got, cut)
				}
			}
		}
	}
}

// TestTwoDialects joins two tables that part their cells by other characters: the rows of the second are read, or refused.
func TestTwoDialects(t *testing.T) {
	seps := []string{",", ";", "\t", "|"}
	for _, first := range seps {
		for _, second := range seps {
			for _, header := range []bool{true, false} {
				var b strings.Builder
				row := func(sep string, cells ...string) { fmt.Fprintln(&b, strings.Join(cells, sep)) }
				row(first, "url", "status")
				row(first, "https://s.example/a", "200")
				row(first, "https://s.example/b", "200")
				if header {
					row(second, "url", "status")
				}
				row(second, "https://s.example/c", "404")
				want := []string{"https://s.example/a", "https://s.example/b"}
				if got, failed := seenBy(t, b.String(), Options{Events: Auto}); !failed && !slices.Equal(got, want) {
					t.Errorf("%q, then %q, header %t: got %q; want %q", first, second, header, got, want)
				}
			}
		}
	}
}

// TestOneColumn: a table of a single column, as DuckDB writes it, has URLs with commas and quotes in quotes.
func TestOneColumn(t *testing.T) {
	for text, want := range map[string]string{
		"url\nhttp://a.example/1\n\"http://a.example/b,c\"\n":                             "http://a.example/1 http://a.example/b,c",
		"\"url\"\n\"http://a.example/1\"\n\"http://a.example/?q=\"\"x\"\"\"\n":            "http://a.example/1 http://a.example/?q=\"x\"",
		"Page URL\r\n\"http://a.example/1;2\"\r\n\"http://a.example/?a=\"\"1,2\"\"\"\r\n": "http://a.example/1;2 http://a.example/?a=\"1,2\"",
	} {
		for _, format := range []Format{"", Table} {
			var got []string
			for line := range strings.Lines(transcript(t, open(t, "", text), Options{Format: format})) {
				if _, url, ok := strings.Cut(line, "listed "); ok {
					url, err := strconv.Unquote(strings.TrimSpace(url))
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, url)
				}
			}
			if s := strings.Join(got, " "); s != want {
				t.Errorf("%q as %q: got %q; want %q", text, format, s, want)
			}
		}
	}
}
