package logs

import (
	"fmt"
	"math/rand/v2"
	"regexp"
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

// TestTablesOfHosts makes tables whose cells name pages in other ways than by URLs, with and without a header, beside words that headers have, too.
// No row of data may be counted as anything but read or refused. What a refusal names must read all of them when it is followed.
func TestTablesOfHosts(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	word := func(words ...string) string { return words[random.IntN(len(words))] }
	cells := map[string]func(row int) string{
		"url":     func(row int) string { return fmt.Sprintf("https://s%d.example/a%d", row%7, row) },
		"host":    func(row int) string { return word("www", "_dmarc", "a-b") + fmt.Sprintf("%d.example.com", row) },
		"place":   func(row int) string { return fmt.Sprintf("s%d.example/p/%d", row%5, row) },
		"path":    func(row int) string { return fmt.Sprintf("/p/%d", row) },
		"address": func(row int) string { return fmt.Sprintf("192.0.2.%d", row%250) },
		"number":  func(row int) string { return fmt.Sprint(700 + row%900) },
		"words":   func(int) string { return word("crtsh", "page", "link", "url", "domain", "n/a", "two words") },
	}
	forms := [][]string{{"host", "words"}, {"host", "address"}, {"host", "number"}, {"host", "address", "words"}, {"words", "host"}, {"number", "host", "words"}, {"place", "words", "words"},
		{"words", "place"}, {"place", "number"}, {"path", "host"}, {"host", "path"}, {"words", "path", "number", "host"}, {"path", "words"}, {"url", "words"}, {"words", "url", "address"}, {"url", "host"}}
	for _, form := range forms {
		for _, sep := range []string{",", ";", "\t", "|"} {
			for _, header := range []string{"", "host", "site"} {
				for _, n := range []int{1 + random.IntN(2), 3 + random.IntN(60), map[string]int{",": 1000}[sep]} {
					var want, lines []string
					if header != "" {
						names := slices.Clone(form)
						for i, kind := range form {
							names[i] = map[string]string{"url": "url", "path": "path", "host": header, "place": header}[kind]
							if names[i] == "" {
								names[i] = kind + " note"
							}
						}
						lines = append(lines, strings.Join(names, sep))
					}
					for row := range n {
						var line []string
						at := map[string]string{}
						for _, kind := range form {
							at[kind] = cells[kind](row)
							line = append(line, at[kind])
						}
						switch {
						case at["url"] != "":
							want = append(want, at["url"])
						case at["host"] == "" && at["path"] != "":
							want = append(want, "https://example.org"+at["path"])
						default:
							want = append(want, "https://"+at["host"]+at["place"]+at["path"])
						}
						lines = append(lines, strings.Join(line, sep))
					}
					name := fmt.Sprintf("%s, %q, header %q, %d rows", form, sep, header, n)
					if got, steps := follow(t, name, strings.Join(lines, "\n")+"\n"); !slices.Equal(got, want) {
						t.Errorf("%s: got %d URLs, as %q; want %d, as %q; after %q", name, len(got), got[:min(2, len(got))], len(want), want[0], steps)
					}
				}
			}
		}
	}
}

// follow reads a table with the flags and the header that its refusals name, and returns its URLs.
func follow(t *testing.T, name, text string) (got, steps []string) {
	t.Helper()
	opt := Options{Events: Auto, NeedHost: true}
	for range 5 {
		var counts Counts
		var failure error
		got = nil
		for r, err := range records(open(t, "", text), opt, &counts) {
			if _, refused := err.(Refusal); err != nil && !refused {
				failure = err
			} else if err == nil {
				got = append(got, r.URL)
			}
		}
		if counts.Units != counts.sum() || failure == nil && int(counts.Read+counts.Refused) < strings.Count(text, "\n")-1 {
			t.Errorf("%s: got %+v; want each row read or refused", name, counts)
		}
		if failure == nil && counts.Refused == 0 {
			return got, steps
		}
		said := fmt.Sprint(failure, counts.Examples)
		if steps = append(steps, said); slices.Contains(steps[:len(steps)-1], said) {
			break // it helped nothing
		}
		if m := regexp.MustCompile(`printf '(.*)\\n'`).FindStringSubmatch(said); m != nil {
			text = strings.ReplaceAll(m[1], `\t`, "\t") + "\n" + text
		}
		if m := regexp.MustCompile(`--url-field (\d+)`).FindStringSubmatch(said); m != nil {
			opt.URLField = m[1]
		}
		if strings.Contains(said, "--scheme https") {
			opt.Scheme = "https"
		}
		if strings.Contains(said, "--base") {
			opt.Base = "https://example.org"
		}
		if strings.Contains(said, "--format table") {
			opt.Format = Table
		}
	}
	return got, steps
}
