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
	"second column, which is their default; the other rules always run. `%s`, `%s`, `%s`, `%s` and `%s` are other names\n" +
	"for switching off `%s`, `%s`, `%s`, `%s` and `%s`.\n\n" +
	"Use the canonical form only to compare URLs. Fetch each URL as it was found: no rule promises that the canonical form leads to the same page.\n\n" +
	"A rule file (`--rule-file`) switches rules for a host and path, and drops or keeps parameters there: [RULEFILES.md](RULEFILES.md). One with `sites` switches `scoped-rules` on, and one with `params` `scoped-params`.\n\n" +
	"| rule | default | effect | source | when it can merge two different pages |\n|---|---|---|---|---|\n"

// rulesLists introduces the lists.
const rulesLists = "\n" +
	"## Lists\n" +
	"\n" +
	"Three rules have a list. The lists grow with the vendors, so they have versions: 1 of 21 November 2026, and 2 of 26 November 2026, the day on which its sources were read. A version never changes.\n" +
	"A new store gets the newest version, and records it in its profile (`qiita:+strip-index,lists=2`; a profile without a version has version 1). Later programs open the store with that version, whatever is the\n" +
	"newest. To choose one, write `--rules +strip-index,lists=1`. To give a store newer lists, migrate it: `firstseen migrate --db OLD --to NEW --profile qiita --rules +strip-index`. A rule file has version 1, unless it\n" +
	"names another (`\"lists\": 2`), or the profile uses lists already. `firstseen explain --list` prints the lists, too.\n" +
	"\n" +
	"The column \"lists\" has the first version with the entry. Upper and lower case make no difference in names; `*` stands for any ending.\n"

func rulesPage() string {
	var b strings.Builder
	fmt.Fprintf(&b, rulesIntro, KeepFragment, KeepDuplicateSlashes, KeepBareParams, KeepParamOrder, KeepValueOrder,
		DropFragment, CollapseSlashes, CompleteParams, SortQuery, SortValues)
	for id := range ruleCount {
		r := rules[id]
		state := ""
		if r.Optional {
			state = map[bool]string{true: "**on**", false: "**off**"}[r.Default]
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.Rule, state, cell(r.Does), cell(r.Source), cell(r.Risk))
	}
	b.WriteString(rulesLists)
	for _, r := range []Rule{StripTrackingParams, StripSessionIDs, StripIndex} {
		writeList(&b, r)
	}
	b.WriteString("\n## What strip-tracking-params leaves alone\n\nNames that others collect, but that are not in the list. Drop them by host, in a rule file.\n\n| names | why |\n|---|---|\n")
	for _, e := range leftOut {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(e.names, " ", "`, `"), e.source)
	}
	return b.String()
}

// writeList writes a row for the names of each source.
func writeList(b *strings.Builder, rule Rule) {
	fmt.Fprintf(b, "\n## The list of %s\n\n| names | set by, or source | lists |\n|---|---|---|\n", rule)
	values := map[string]string{"digits": " (digits)", "id32": " (32 letters and digits)", "id16": " (16 or more letters and digits)"}
	list := Qiita().List(rule)
	for n := 0; len(list) > 0; list = list[n:] {
		var names []string
		for n = 0; n < len(list) && list[n].Source == list[0].Source && list[n].Since == list[0].Since; n++ {
			names = append(names, "`"+list[n].Name+"`"+values[list[n].Value])
		}
		where := ""
		if list[0].Path {
			where = "in a path: "
		}
		fmt.Fprintf(b, "| %s%s | %s | %d |\n", where, strings.Join(names, ", "), list[0].Source, list[0].Since)
	}
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
