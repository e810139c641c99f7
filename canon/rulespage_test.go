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
		t.Error("RULES.md is not what the tables say; want it written anew: go test -run RulesPage -rewrite")
	}
}

func rulesPage() string {
	var b strings.Builder
	b.WriteString("# The rules of the qiita profile\n\nIn the order they run. **on** and **off** can be switched (`--rules +strip-www,-collapse-slashes`), " +
		"the others are part of the form. `" + string(KeepFragment) + "`, `" + string(KeepDuplicateSlashes) + "`, `" + string(KeepBareParams) + "` and `" +
		string(KeepParamOrder) + "` are other names for switching a rule off.\nNot one rule makes a URL to fetch: fetch it as found, and compare by its canonical form.\n\n" +
		"| rule | | does | source | can merge wrongly |\n|---|---|---|---|---|\n")
	for id := range ruleCount {
		r := rules[id]
		state := ""
		if r.Optional {
			state = map[bool]string{true: "**on**", false: "**off**"}[r.Default]
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.Rule, state, cell(r.Does), cell(r.Source), cell(r.Risk))
	}
	writeParams(&b, "strip-tracking-params", trackingParams)
	writeParams(&b, "strip-session-ids", sessionParams)
	return b.String()
}

func writeParams(b *strings.Builder, rule string, list []Param) {
	fmt.Fprintf(b, "\n## What %s drops from a query\n\nNames are compared without case.\n\n| name | value | set by |\n|---|---|---|\n", rule)
	for _, p := range list {
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", p.Name, map[string]string{"": "any", "digits": "digits", "id32": "32 letters and digits"}[p.Value], p.Source)
	}
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
