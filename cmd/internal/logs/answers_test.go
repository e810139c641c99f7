package logs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// seenBy returns the URLs of a file that import would record as fetched: those without a failure.
func seenBy(t *testing.T, text string, opt Options) (seen []string, failed bool) {
	t.Helper()
	for line := range strings.Lines(wild(t, []byte(text), opt)) {
		f := strings.Fields(line)
		switch {
		case f[0] == "error":
			return nil, true
		case f[0] == "fetch" && len(f) == 3 && f[1] < "400", f[0] == "fetch" && len(f) == 2, f[0] == "listed":
			seen = append(seen, f[len(f)-1])
		}
	}
	return seen, false
}

// TestFailedFetchesAreNotSeen writes the outcomes of fetches in many forms: a column under names in many languages, at each place, with
// each separator, and with cells for no answer in few rows or most; fields of objects at any depth; tags of lists. No URL that failed may count
// as seen, and no other may be lost.
func TestFailedFetchesAreNotSeen(t *testing.T) {
	url := func(i int) string { return fmt.Sprintf("https://www.example.com/p/%d", i) }
	answers := []string{"200", "200", "301", "404", "200", "500", "200", "410"}
	var want []string
	for i, a := range answers {
		if a < "400" {
			want = append(want, url(i))
		}
	}
	check := func(what, text string, mayRefuse bool) {
		t.Helper()
		got, refused := seenBy(t, text, Options{Events: Auto})
		if refused && mayRefuse {
			return
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q seen; want %q; of\n%.300s", what, got, want, text)
		}
	}
	names := []string{"Status Code", "status", "http_status", "Code de réponse", "Código de estado", "Codice di risposta", "Kod odpowiedzi", "Код ответа", "ステータスコード", "状态码", "Result code",
		"Return Code", "Server response", "rc", "HTTP", "elb_status_code", "upstream_status", "crawl/httpStatusCode", "meta.status", "Status code (last crawl)", "Antwort", ""}
	noAnswers := []string{"404", "Timeout", "failed", "n/a", "-1", "999", "HTTP 404", `=404`, "Not Found (404)", "404 Not Found", "Fehler", "", "-", "4xx"}
	for _, name := range names {
		for n, none := range noAnswers {
			place, sep := (n+len(name))%3, []string{",", ";", "\t", "|"}[(n/3+len(name))%4]
			var b strings.Builder
			row := func(link, answer, title string) {
				fmt.Fprintln(&b, strings.Join(append(slices.Insert([]string{title, "7:30"}, place, link), answer), sep))
			}
			if name != "" {
				row("URL", name, "Title")
			}
			for i, a := range answers {
				if a >= "400" && i > 3 {
					a = none
				}
				row(url(i), a, "A b")
			}
			check(fmt.Sprintf("table, %q %q, place %d, %q", name, sep, place, none), b.String(), false)
		}
	}
	for _, form := range []string{
		`{"url":"U","status":S}`, `{"url":"U","http":{"status_code":S}}`, `{"url":"U","meta":{"status":S}}`, `{"request":{"url":"U","status":S}}`, `{"url":"U","crawl":{"a":{"statusCode":S}}}`,
		`{"url":"U","result":{"code":S}}`, `{"url":"U","headers":{":status":"S"}}`, `{"url":"U","attributes":{"http.status_code":S}}`, `{"url":"U","elb_status_code":S}`, `{"page":{"url":"U","status":S}}`,
		`{"links":["https://l.example/"],"metadata":{"sourceURL":"U","statusCode":S}}`, `{"webpage_url":"U","url":"https://cdn.example/v.mp4","status":S}`, `{"url":"U","status":"HTTP S"}`,
	} {
		var b strings.Builder
		for i, a := range answers {
			fmt.Fprintln(&b, strings.NewReplacer("sourceURL", "sourceURL", "U", url(i), "S", a).Replace(form))
		}
		check(form, b.String(), false)
	}
	words := map[bool][]string{true: {"OK", "✓", "+", "alive"}, false: {"ERROR", "✖", "-", "dead"}}
	for _, form := range []string{"§ U", "[§] U", "(§) U", "[code-§] - U", "Status: § U", "2025-01-04 10:00:00 § U", "[10:00:00] § -   1KB - U", "N § U", "U §", "U [§]", "U (§)", "U [HTTP §]", "U: §",
		"U (CODE:§|SIZE:12)", "U [§] [1256]", "U [§] [1256] [text/html] [105] [205]", "[W] U", "U [W]"} {
		for w := range words[true] {
			var b strings.Builder
			for i, a := range answers {
				fmt.Fprintln(&b, strings.NewReplacer("U", url(i), "§", a, "W", words[a < "400"][w], "N", fmt.Sprint(i+1)).Replace(form))
			}
			check(form+" "+words[false][w], b.String(), true)
		}
	}
	var rows []string
	for i, a := range answers {
		rows = append(rows, fmt.Sprintf("[%q, %s]", url(i), a))
	}
	check("rows without names", `{"columns":["url","status"],"data":[`+strings.Join(rows, ",")+"]}\n", false)
	for _, none := range noAnswers {
		for _, lines := range []bool{false, true} {
			rows = rows[:0]
			for i, a := range answers {
				if a >= "400" && i > 3 {
					a = fmt.Sprintf("%q", none)
				}
				rows = append(rows, fmt.Sprintf("[%q, %s]", url(i), a))
			}
			text := "[" + strings.Join(rows, ",") + "]\n"
			if lines {
				text = strings.Join(rows, "\n") + "\n"
			}
			check(fmt.Sprintf("rows without names, %q, lines %t", none, lines), text, false)
		}
	}
	for _, good := range []string{"checked", "crawled", "Visited", "captured_at", "scraped", "accessed", "retrieved", "fetched", "response", "success_map", "ok", "pages"} {
		for _, bad := range []string{"failed", "Errors", "broken_links", "error_map", "errormap", "errors", "dead", "notFound", "bad", "queue", "exception"} {
			lists := map[bool][]string{}
			for i, a := range answers {
				lists[a < "400"] = append(lists[a < "400"], fmt.Sprintf("{\"url\": %q}", url(i)))
			}
			for _, form := range []string{"{%q:[%s],%q:[%s]}\n", "{\n%q: [\n%s\n],\n%q: [\n%s\n]\n}\n", "{%q:{\"a.md\":[%s]},%q:{\"a.md\":[%s]}}\n", "{\n%q: {\"a.md\": [\n%s\n]},\n%q: {\"a.md\": [\n%s\n]}\n}\n"} {
				if strings.Contains(form, "a.md") != (good == "success_map") || strings.Contains(form, "a.md") && !strings.HasPrefix(bad, "error") {
					continue
				}
				check("lists by name", fmt.Sprintf(form, good, strings.Join(lists[true], ","), bad, strings.Join(lists[false], ",")), false)
				check("lists by name", fmt.Sprintf(form, bad, strings.Join(lists[false], ","), good, strings.Join(lists[true], ",")), false)
			}
		}
	}
	check("a bad entry", `{"results":[{"id":1}],"urls":[{"url":"`+strings.Join([]string{url(0), url(1), url(2), url(4), url(6)}, `"},{"url":"`)+"\"}]}\n", false)
	check("rows with names", `[["url","status"],`+strings.Join(rows, ",")+"]\n", false)
	for _, title := range []string{"Broken links\n", "COPY public.pages (id, url, status) FROM stdin;\n", "https://www.example.com/\n"} {
		var b strings.Builder
		b.WriteString(title)
		for i, a := range answers {
			fmt.Fprintf(&b, "\t%s\t%s\n", a, url(i))
		}
		check(title, b.String(), false)
	}
}

// TestLateColumns reads tables with a column that has nothing in the first rows: beside statuses its numbers are something else.
func TestLateColumns(t *testing.T) {
	const failed, listed = "https://www.example.com/gone,404,\n", "https://www.example.com/,\n"
	for text, want := range map[string]string{
		"url,status,ttfb\n" + strings.Repeat(failed, 60) + "https://www.example.com/a,200,503\nhttps://www.example.com/b,,204\n": "fetch 200 https://www.example.com/a\nlink https://www.example.com/b\n",
		"url,note,status\n" + strings.Repeat("https://www.example.com/gone,,404\n", 60) + "https://www.example.com/a,503,200\n":  "fetch 200 https://www.example.com/a\n",
		"url,stock\n" + strings.Repeat(listed, 60) + "https://www.example.com/a,200\n":                                           "listed https://www.example.com/a\n",
		"url,remark\n" + strings.Repeat(listed, 60) + "https://www.example.com/a,503\n":                                          "fetch 503 https://www.example.com/a\n",
	} {
		if got := wild(t, []byte(text), Options{Events: Auto}); !strings.HasSuffix(got, "\n"+want) {
			t.Errorf("%.20q: got an end of %q; want %q", text, got[max(0, len(got)-100):], want)
		}
	}
}

// TestURLsOfSomethingElse reads tables whose only URLs are named as those of something else, or may be targets: they are refused.
func TestURLsOfSomethingElse(t *testing.T) {
	for _, name := range []string{"Referrer", "Referer", "Canonical", "Image", "Logo", "Thumbnail", "Avatar", "Favicon", "Redirect URL", "image_url", "Screenshot", "Parent URL", "Via", "See Also", "came from"} {
		for _, sep := range []string{",", ";", "\t"} {
			for place := range 2 {
				var b strings.Builder
				for i := range 6 {
					cells := []string{"3", "4"}
					if i == 0 {
						cells = []string{"Sessions", "Views"}
					}
					cell := fmt.Sprintf("https://ref.example/%d", i)
					if i == 0 {
						cell = name
					}
					fmt.Fprintln(&b, strings.Join(slices.Insert(cells, place, cell), sep))
				}
				if got := wild(t, []byte(b.String()), Options{Events: Auto}); got != "error\n" {
					t.Errorf("%s %q: got\n%swant an error", name, sep, got)
				}
			}
		}
	}
	for _, text := range []string{
		"source,target,code\n/old,https://www.example.com/new,301\n/old2,https://www.example.com/new2,301\n",
		"Alte URL;Neue URL;Typ\n/old;https://www.example.com/new;301\n/old2;https://www.example.com/new2;301\n",
		"Origin,Target,Type\nold,https://www.example.com/new,301\nold2,https://www.example.com/new2,301\n",
		"www.example.com/0,https://www.example.com/n0,301\nwww.example.com/1,https://www.example.com/n1,301\n",
		"https://ref.example/0 -> /p/0\nhttps://ref.example/1 -> /p/1\n",
		"https://ref.example/0 /p/0\nhttps://ref.example/1 /p/1\n",
		"hostname,page,views\nwww.example.com,/p/1,3\nwww.example.com,/p/2,3\n",
	} {
		if got := wild(t, []byte(text), Options{Events: Auto}); got != "error\n" {
			t.Errorf("%s: got\n%swant an error", text, got)
		}
	}
	for _, before := range []string{"2025-01-04", "2025-01-04T10:00:00Z", "1735984800", "INFO:", "nginx:", "[nginx]", "default", "web-01", "3e57427f-aaaa-bbbb-cccc-0123456789ab"} {
		line := before + ` 192.0.2.1 - - [04/Jan/2025:10:00:00 +0000] "GET /a HTTP/1.1" 200 1 "-" "M"` + "\n"
		if got := wild(t, []byte(line), Options{Events: Auto, NeedHost: true}); got != "error\n" {
			t.Errorf("%s: got %s; want an error", line, got)
		}
		if got := wild(t, []byte(line), Options{Events: Auto, Base: "https://www.example.com"}); got != "fetch 200 https://www.example.com/a\n" {
			t.Errorf("%s, with a base: got %s; want its URL", line, got)
		}
	}
}
