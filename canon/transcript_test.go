package canon

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestTranscripts runs testdata/transcripts; `go test -run Transcripts -rewrite` writes
// them again. Commands, all of which take rules=(+a,-b):
//
//	canon     each line of input to its canonical form, or its error's code
//	explain   one URL, the steps
//	compare   two URLs, whether they merge, and by which rules
//	rulefile  reads a rule file for the commands that follow
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		base := Qiita()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var words []string
			for _, arg := range d.CmdArgs {
				words = append(words, arg.Vals...)
			}
			p, err := base.WithRules(strings.Join(words, ","))
			if err != nil {
				return err.Error() + "\n"
			}
			return transcribe(p, &base, d)
		})
	})
}

func transcribe(p *Profile, base **Profile, d *datadriven.TestData) string {
	urls := strings.Split(d.Input, "\n")
	switch d.Cmd {
	case "canon":
		var out strings.Builder
		for _, raw := range urls {
			canonical, err := p.Canonicalize(unquote(raw))
			fmt.Fprintln(&out, canonical+Code(err))
		}
		return out.String()
	case "explain":
		e, err := p.Explain(unquote(urls[0]))
		if err != nil {
			return fmt.Sprintf("%s%v\n", steps(e), err)
		}
		return steps(e) + e.Canonical + "\n"
	case "compare":
		c, err := p.Compare(unquote(urls[0]), unquote(urls[1]))
		if err != nil {
			return err.Error() + "\n"
		}
		return fmt.Sprintf("same %t by %v, missing %v\n", c.Same, c.Rules, c.Missing)
	case "rulefile":
		derived, err := Qiita().With(WithRuleFile(strings.NewReader(d.Input)))
		if err != nil {
			return err.Error() + "\n"
		}
		*base = derived
		return derived.String() + "\n"
	}
	return "no such command\n"
}

// unquote reads \t, \n, \r and \x20, which a transcript can't show.
func unquote(s string) string {
	return strings.NewReplacer(`\t`, "\t", `\n`, "\n", `\r`, "\r", `\x20`, " ").Replace(s)
}

func at(scope string) string {
	if scope == "" {
		return ""
	}
	return " at " + scope
}

func steps(e Explanation) string {
	var out strings.Builder
	for _, s := range e.Steps {
		fmt.Fprintf(&out, "%-22s %q%s\n", s.Rule, s.After, at(s.Scope))
	}
	for _, s := range e.Sites {
		fmt.Fprintf(&out, "site %s\n", s)
	}
	return out.String()
}
