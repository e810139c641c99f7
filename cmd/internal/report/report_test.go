package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/firstseen/firstseen/cmd/internal/replay"
	"github.com/firstseen/firstseen/cmd/internal/tools/browser"
)

// hostile is what an attacker would log.
const hostile = `http://a.example/"><script>alert(1)</script>`

// sample is a result with something in every part of the report.
func sample() *replay.Result {
	r := &replay.Result{
		Lines: 1300, URLs: 1200, Refused: 100, ExactUnique: 400, ExactDuplicates: 800, Unique: 300, CanonicalDuplicates: 100, Duplicates: 900, New: 200,
		Bytes: 5 << 20, DuplicateBytes: 3 << 20, Seconds: 1.25, Interrupted: true,
		Inputs:        []replay.InputStats{{Input: "a.cdx", Format: "cdx", Lines: 1300, URLs: 1200, Refused: 100, Unique: 300}},
		Errors:        []replay.InputError{{Input: "b.gz", Message: "cannot read b.gz"}},
		FirstRefusals: []replay.Refusal{{Input: "a.cdx", Line: 7, Text: hostile, Code: "url", Reason: "not a URL"}},
		Traps:         []replay.Trap{{Name: "path-depth", Unique: 3, Example: hostile}},
		Rules: &replay.Rules{Share: 0.5, Spellings: 400, Fixed: 390, Profile: 300, All: 280,
			Rules: []replay.RuleEffect{{Rule: "drop-fragment", Active: true, Alone: 90, Marginal: 90, One: hostile, Other: "http://a.example/"}}},
	}
	for i := range int64(40) {
		r.Hosts = append(r.Hosts, replay.HostStats{Host: fmt.Sprintf("h%d.example", i), URLs: 30, Unique: i, Exact: 5, DuplicateBytes: 1024 * i})
	}
	r.Hosts[3].Host = "x<b>.example"
	return r
}

func write(t *testing.T, r *replay.Result) string {
	t.Helper()
	var out bytes.Buffer
	d := Data{Result: r, Title: "Crawl of <November>", Profile: "qiita", Made: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), MostHosts: 30}
	if err := Write(&out, d); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWriteTellsEverything(t *testing.T) {
	text := write(t, sample())
	for _, want := range []string{"Crawl of &lt;November&gt;", "75.0 %", "66.7 %", "8.3 %", "3 MiB", "60.0 % of 5 MiB", "Interrupted", "cannot read b.gz",
		"10 more hosts", "x&lt;b&gt;.example", "drop-fragment", "path-depth", "a.cdx", "estimated from 50.0 %"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
}

// TestWriteStandsAlone looks for anything that would be fetched, and for text of the
// logs that became markup.
func TestWriteStandsAlone(t *testing.T) {
	doc, err := html.Parse(strings.NewReader(write(t, sample())))
	if err != nil {
		t.Fatal(err)
	}
	scripts, tables := 0, 0
	for n := range doc.Descendants() {
		switch n.Data {
		case "script":
			scripts++
		case "table":
			tables++
		case "link", "img", "iframe", "object", "base", "b":
			t.Errorf("got <%s>; want nothing from outside", n.Data)
		}
		for _, a := range n.Attr {
			if a.Key == "src" || a.Key == "href" || strings.HasPrefix(a.Key, "on") {
				t.Errorf("got %s=%q in <%s>", a.Key, a.Val, n.Data)
			}
		}
	}
	if scripts != 1 || tables != 5 {
		t.Errorf("got %d scripts and %d tables; want our one script and every table", scripts, tables)
	}
	if regexp.MustCompile(`url\(|@import|https?://[^"]*\.(js|css)`).MatchString(style + script) {
		t.Error("the style or the script loads something")
	}
}

func TestWriteNothing(t *testing.T) {
	text := write(t, &replay.Result{Inputs: []replay.InputStats{{Input: "empty"}}})
	if !strings.Contains(text, "There was no URL in the input") || strings.Contains(text, "NaN") {
		t.Errorf("got %.300s; want a word that there was nothing", text)
	}
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		Grouped(-1234567): "-1,234,567", Grouped(0): "0", bytesText(1023): "1023 B", bytesText(3 << 30): "3 GiB",
		percent(1, 0): "–", span(60): "one minute", span(7200): "2 hours", span(90): "1.5 minutes", span(5): "5 seconds",
	} {
		if got != want {
			t.Errorf("got %q; want %q", got, want)
		}
	}
}

// probe runs in the browser after the report's own script: it sorts the hosts by
// their last column but one, and writes its result to an attribute.
const probe = `<script>
var t=document.querySelector('table[data-name=hosts]'),b=t.tHead.querySelectorAll('button');
b[6].click();
var down=t.tBodies[0].rows[0].cells[6].textContent;
b[6].click();
document.body.dataset.probe=[b.length,down,t.tBodies[0].rows[0].cells[6].textContent,
 document.documentElement.scrollWidth<=innerWidth?'fits':'too wide',document.querySelectorAll('button.save').length].join(' ');
</script>`

// TestInBrowser opens the report in Chromium: the tables sort, and nothing but them is
// wider than the window.
func TestInBrowser(t *testing.T) {
	text := write(t, sample())
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(strings.Replace(text, "</body>", probe+"</body>", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	browse(t, file, fmt.Sprintf(`data-probe="8 29 0 fits %d"`, strings.Count(text, "<table")))
}

// browse wants what a probe found, at the width of a desktop and of a phone.
func browse(t *testing.T, file, want string) {
	t.Helper()
	for _, size := range []string{"1280,900", "390,800"} {
		if dom := browser.DOM(t, "file://"+file, "--window-size="+size); !strings.Contains(dom, want) {
			t.Errorf("at %s: got %s; want %s", size, regexp.MustCompile(`data-probe="[^"]*"`).FindString(dom), want)
		}
	}
}
