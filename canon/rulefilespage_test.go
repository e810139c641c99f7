package canon

import (
	"os"
	"strings"
	"testing"
)

// TestRuleFilesPage runs the examples of docs/RULES.md: a rule file, then URLs with their forms, or what is
// wrong with the file.
func TestRuleFilesPage(t *testing.T) {
	page, err := os.ReadFile("../docs/RULES.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := strings.Split(string(page), "```json\n")[1:]
	for _, example := range examples {
		file, rest, _ := strings.Cut(example, "```\n")
		text, ok := strings.CutPrefix(rest, "```text\n")
		if !ok {
			t.Errorf("got no answers below %s; want some", file)
			continue
		}
		text, _, _ = strings.Cut(text, "```")
		p, err := Qiita().With(WithRuleFile(strings.NewReader(file)))
		for line := range strings.Lines(text) {
			url, want, _ := strings.Cut(strings.TrimSpace(line), "-> ")
			got := ""
			switch url = strings.TrimSpace(url); {
			case url == "" && err != nil && strings.Contains(err.Error(), want):
				continue
			case err != nil:
				t.Fatalf("%s: %v", file, err)
			default:
				got, _ = p.Canonicalize(url)
			}
			if got != want {
				t.Errorf("%s: got %s; want %s", url, got, want)
			}
		}
	}
	t.Logf("%d rule files", len(examples))
}
