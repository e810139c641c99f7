package canon

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestRulesPageIsCurrent holds RULES.md to the tables; `go test -run RulesPage -rewrite`
// writes it again.
func TestRulesPageIsCurrent(t *testing.T) {
	want := rulesPage()
	if f := flag.Lookup("rewrite"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile("RULES.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("RULES.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("RULES.md is not what the tables say; want it written again: go test -run RulesPage -rewrite")
	}
}

// rulesIntro is the page up to the first row of its first table.
const rulesIntro = "# The rules of the qiita profile\n\n" +
	"See which rules change a URL, and switch rules on and off:\n\n" +
	"    firstseen explain 'HTTP://Example.com:80/a/../b?y=2&x=1#top'\n" +
	"    firstseen explain --rules +strip-www,-collapse-slashes 'http://www.example.com//a'\n\n" +
	"All commands that make canonical forms take `--rules`. The rules run in the order of the table. You can switch the rules that have **on** or **off** in the\n" +
	"second column, which is their default; the other rules always run. `%s`, `%s`, `%s` and `%s` are other names\n" +
	"for switching off `%s`, `%s`, `%s` and `%s`.\n\n" +
	"Use the canonical form only to compare URLs. Fetch each URL as it was found: no rule promises that the canonical form leads to the same page.\n\n" +
	"| rule | default | effect | source | when it can merge two different pages |\n|---|---|---|---|---|\n"

// rulesFiles is the section on rule files.
const rulesFiles = "\n" +
	"## Rule files\n" +
	"\n" +
	"A rule file (`--rule-file`) with `sites` switches `scoped-rules` on, and one with `params` `scoped-params`. Its form is in the documentation of `WithRuleFile` (`go doc canon.WithRuleFile`). An entry of `params` has a\n" +
	"`path`, which holds for whole segments, or a `pattern` as in robots.txt (`/forum*/show.php`, `/search$`). Both are compared with the canonical path.\n" +
	"\n" +
	"An entry may have a `source`, which records the evidence for it. `explain` prints it after the place of the entry:\n" +
	"\n" +
	"| source | written by | based on |\n" +
	"|---|---|---|\n" +
	"| `content` | `firstseen learn` | digests and redirects of fetched pages |\n" +
	"| `declarations` | `firstseen learn` | what the pages of the site declare: canonical links, `No-Vary-Search`, `Clean-param` |\n" +
	"| `content and declarations` | `firstseen learn` | both |\n" +
	"| `No-Vary-Search`, `Clean-param` | `firstseen serve` | one declaration of a host that the rule file lists as `trust_declared` |\n" +
	"\n" +
	"A source has no effect on the canonical form.\n"

func rulesPage() string {
	var b strings.Builder
	fmt.Fprintf(&b, rulesIntro, KeepFragment, KeepDuplicateSlashes, KeepBareParams, KeepParamOrder,
		DropFragment, CollapseSlashes, CompleteParams, SortQuery)
	for id := range ruleCount {
		r := rules[id]
		state := ""
		if r.Optional {
			state = map[bool]string{true: "**on**", false: "**off**"}[r.Default]
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.Rule, state, cell(r.Does), cell(r.Source), cell(r.Risk))
	}
	b.WriteString(rulesFiles)
	writeParams(&b, "strip-tracking-params", trackingParams)
	writeParams(&b, "strip-session-ids", sessionParams)
	return b.String()
}

func writeParams(b *strings.Builder, rule string, list []Param) {
	fmt.Fprintf(b, "\n## The parameters that %s drops from a query\n\nUpper and lower case make no difference in names.\n\n| name | value | set by |\n|---|---|---|\n", rule)
	for _, p := range list {
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", p.Name, map[string]string{"": "any", "digits": "digits", "id32": "32 letters and digits"}[p.Value], p.Source)
	}
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
