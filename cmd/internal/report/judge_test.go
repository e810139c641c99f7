package report

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/audit"
	"github.com/firstseen/firstseen/cmd/internal/replay"
	"github.com/firstseen/firstseen/cmd/internal/tools/browser"
)

// judgedSample has something in every part of the report.
func judgedSample() Judged {
	day := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	left := 7
	www := audit.Verdict{Name: "strip-www", Kind: audit.Optional, Merges: 1300, Naive: 0.4, Stable: 600, Held: 590, Explains: 12, LeftOut: &left, Gap: 86400,
		Verdict:  &audit.Estimate{Share: 0.98, Interval: audit.Interval{Low: 0.96, High: 0.99}, Trials: 600, Effective: 90},
		Examples: []audit.Example{{A: hostile, B: "http://www.a.example/", DigestA: "AAAA", DigestB: "BBBB", TimeA: day, TimeB: day.Add(time.Hour), Stable: true}},
		Lost:     []audit.HostLoss{{Host: "x<b>.example", Different: 3, Merges: 9}}}
	www.Outcomes[audit.Same], www.Outcomes[audit.Different] = 590, 10
	query := audit.Verdict{Name: "drop-query", Kind: audit.OnlyHere, Merges: 5, Why: "2 pairs with a stable control or a redirect; want 20"}
	r := &audit.Report{Captures: 12623, Digests: 12000, URLs: 4959, Recaptured: 900, Repeats: 237, Confidence: 0.95, Profile: "qiita:+strip-www",
		Forms:   []audit.Verdict{www, query, {Name: "fold-https", Kind: audit.Optional}},
		Against: &audit.Against{Profile: "whatwg", Joined: query, Split: www}}
	learned := &audit.Learned{
		Proposals: []audit.Proposal{
			{Host: "a.example", Path: "/", Rule: canon.StripWWW, Saves: 1300, Example: [2]string{hostile, "http://www.a.example/"},
				Learned:   audit.Evidence{Pairs: 300, Held: 299, Interval: audit.Interval{Low: 0.98, High: 1}},
				Validated: audit.Evidence{Pairs: 310, Held: 310, Interval: audit.Interval{Low: 0.99, High: 1}}},
			{Host: "a.example", Path: "/w/", Param: "</code></pre><script>alert(2)</script>", Saves: 40}},
		LeftOut: []audit.Candidate{{Host: "b.example", Path: "/", Param: "id", URLs: 900, Why: "untested: <its> pages change by themselves"}}, Omitted: 3}
	return Judged{Title: "Crawl of <November>", Made: day, Seconds: 2.5, Audit: r, Learned: learned}
}

func writeJudged(t *testing.T, d Judged) string {
	t.Helper()
	var out bytes.Buffer
	if err := WriteJudged(&out, d); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWriteJudgedTellsEverything(t *testing.T) {
	text := writeJudged(t, judgedSample())
	for _, want := range []string{"Crawl of &lt;November&gt;", "qiita:&#43;strip-www", "98.0 %", "96.0 % to 99.0 % of 600 contents", "no verdict: 2 pairs", "Merged nothing: fold-https",
		"5.1 %", "one day", "would join", "would split", "x&lt;b&gt;.example", "AAAA", "BBBB", "2026-03-01 13:00:00", "&#43;strip-www",
		"299 of 300", "310 of 310", "1,340 URLs", "untested: &lt;its&gt; pages", "3 more, which", "data-file=\"rules.json\""} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
}

// TestRuleFileIsThereToCopy: without a script, the text of the box is the rule file.
func TestRuleFileIsThereToCopy(t *testing.T) {
	d := judgedSample()
	doc, err := html.Parse(strings.NewReader(writeJudged(t, d)))
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := d.Learned.WriteRuleFile(&want); err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Data == "pre" {
			if got := n.FirstChild.FirstChild.Data; got != want.String() {
				t.Errorf("got the box %s; want %s", got, want.String())
			}
			return
		}
	}
	t.Error("got no box; want one with the rule file")
}

func TestWriteJudgedStandsAlone(t *testing.T) {
	doc, err := html.Parse(strings.NewReader(writeJudged(t, judgedSample())))
	if err != nil {
		t.Fatal(err)
	}
	scripts := 0
	for n := range doc.Descendants() {
		switch n.Data {
		case "script":
			scripts++
		case "link", "img", "iframe", "object", "base", "b":
			t.Errorf("got <%s>; want nothing from outside", n.Data)
		}
		for _, a := range n.Attr {
			if a.Key == "src" || a.Key == "href" && !strings.HasPrefix(a.Val, "#") || strings.HasPrefix(a.Key, "on") {
				t.Errorf("got %s=%q in <%s>", a.Key, a.Val, n.Data)
			}
		}
	}
	if scripts != 1 {
		t.Errorf("got %d scripts; want ours", scripts)
	}
}

func TestWriteJudgedNothing(t *testing.T) {
	text := writeJudged(t, Judged{Title: "empty", Audit: &audit.Report{Profile: "qiita", Confidence: 0.95}, Learned: &audit.Learned{}})
	for _, want := range []string{"No rule merged two URLs", "Nothing is proposed"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "<table") || strings.Contains(text, "<pre") {
		t.Errorf("got %s; want words alone", text)
	}
}

// judgeProbe copies where copying is refused, and sorts the rules by precision.
const judgeProbe = `<script>
var box=document.querySelector('[data-file]'),b=document.querySelectorAll('.buttons button'),t=document.querySelector('table[data-name=audit]');
Object.defineProperty(navigator,'clipboard',{value:undefined});
document.execCommand=function(){return false};
b[0].click();
t.tHead.querySelectorAll('button')[3].click();
document.body.dataset.probe=[b.length,document.querySelector('.buttons span').textContent.split(':')[0],
 getSelection().toString().trim()===box.textContent.trim()?'marked':'not marked',t.tBodies[0].rows[0].cells[0].textContent,
 document.documentElement.scrollWidth<=innerWidth?'fits':'too wide'].join(' ');
</script>`

func TestJudgedInBrowser(t *testing.T) {
	text := writeJudged(t, judgedSample())
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(strings.Replace(text, "</body>", judgeProbe+"</body>", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	browse(t, file, fmt.Sprintf(`data-probe="2 marked marked %s fits"`, "strip-www"))
}

// TestReportsAreAccessible looks at reports, with something in every part and empty, on a desk and on a phone, light
// and dark: nothing is wider than the page, the table of verdicts does not scroll sideways, and
// axe-core finds nothing.
func TestReportsAreAccessible(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	large := judgedSample()
	for i := range 9 {
		v := large.Audit.Forms[0]
		v.Name = fmt.Sprintf("drop-a-parameter-%d", i)
		v.Merges, v.Stable = 1_234_567, 1_000_000
		large.Audit.Forms = append(large.Audit.Forms, v)
	}
	for name, text := range map[string]string{
		"audit":       writeJudged(t, large),
		"empty audit": writeJudged(t, Judged{Title: "empty", Audit: &audit.Report{Profile: "qiita", Confidence: 0.95}}),
		"replay":      write(t, sample()), "empty replay": write(t, &replay.Result{Rules: &replay.Rules{Share: 1}}),
	} {
		page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, text) // the browser may have ended
		})
		for _, got := range browser.Audit(t, page, browser.Views()...) {
			if len(got.Wide)+len(got.Violations) > 0 {
				t.Errorf("%s, %v: got wider than the page:\n%s\nviolations:\n%s", name, got.View, strings.Join(got.Wide, "\n"), strings.Join(got.Violations, "\n"))
			}
			for _, box := range got.Scrolled {
				if strings.Contains(box, `"Rule`) && strings.Contains(box, "Precision") {
					t.Errorf("%s, %v: the verdicts scroll sideways: %s", name, got.View, box)
				}
			}
		}
	}
}
