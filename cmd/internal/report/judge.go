package report

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/audit"
)

// Judged is what a report on rules is made of.
type Judged struct {
	Title   string
	Made    time.Time
	Seconds float64
	Audit   *audit.Report  // nil: no page on the rules there are
	Learned *audit.Learned // nil: no page on rules to be had
}

// judgePage is what the template sees.
type judgePage struct {
	Judged
	Style    template.CSS
	Script   template.JS
	Cards    []card
	Rules    []verdictRow
	Idle     []string
	Losses   []lossRow
	Examples []audit.Verdict
	Against  []verdictRow
	Saves    int
	RuleFile string
}

// verdictRow is a line of the table of rules.
type verdictRow struct {
	verdict
	Repeats int // in the log, of which the rule explains some
}

// verdict has another name, since a Verdict holds one.
type verdict = audit.Verdict

// lossRow is a host whose pages a rule would lose.
type lossRow struct {
	Rule string
	audit.HostLoss
}

// WriteJudged writes a report on rules: those that were judged, and those proposed, with
// the rule file to copy.
func WriteJudged(w io.Writer, d Judged) error {
	t, err := parse(judgeText)
	if err != nil {
		return err
	}
	p := judgePage{Judged: d, Style: template.CSS(style), Script: template.JS(script)}
	if d.Audit != nil {
		p.addAudit(d.Audit)
	}
	if d.Learned != nil {
		if err := p.addLearned(d.Learned); err != nil {
			return err
		}
	}
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}

func (p *judgePage) addAudit(r *audit.Report) {
	count := func(n int) string { return Grouped(int64(n)) }
	p.Cards = []card{
		{count(r.Captures), "captures", count(r.Digests) + " with a content to compare"},
		{count(r.URLs), "distinct URLs", count(r.Recaptured) + " captured more than once"},
		{count(r.Repeats), "repeats", "URLs whose content another URL had before"},
	}
	for _, v := range r.Forms {
		if v.Merges == 0 {
			p.Idle = append(p.Idle, v.Name)
			continue
		}
		p.Rules = append(p.Rules, verdictRow{v, r.Repeats})
		if len(v.Examples) > 0 && v.Kind != audit.RuleSet {
			p.Examples = append(p.Examples, v)
		}
		for _, l := range v.Lost {
			p.Losses = append(p.Losses, lossRow{v.Name, l})
		}
	}
	slices.SortStableFunc(p.Losses, func(a, b lossRow) int { return cmp.Compare(b.Different, a.Different) })
	if r.Against != nil {
		joined, split := r.Against.Joined, r.Against.Split
		joined.Name, split.Name = "would join", "would split"
		p.Against = []verdictRow{{joined, r.Repeats}, {split, r.Repeats}}
	}
}

func (p *judgePage) addLearned(l *audit.Learned) error {
	for _, proposal := range l.Proposals {
		p.Saves += proposal.Saves
	}
	var file bytes.Buffer
	if err := l.WriteRuleFile(&file); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	p.RuleFile = file.String()
	return nil
}

// Explained is the share of the log's repeats that the rule explains.
func (v verdictRow) Explained() string { return percent(int64(v.Explains), int64(v.Repeats)) }

// Count is how many pairs had an outcome, by its name.
func (v verdictRow) Count(outcome string) (int, error) {
	for o, n := range v.Outcomes {
		if audit.Outcome(o).String() == outcome {
			return n, nil
		}
	}
	return 0, fmt.Errorf("got outcome %q; want one that there is", outcome)
}

// GapText is the median time between the captures that were compared.
func (v verdictRow) GapText() string {
	if v.Outcomes[audit.Same]+v.Outcomes[audit.Different]+v.Outcomes[audit.Volatile] == 0 {
		return "–"
	}
	return span(int64(v.Gap))
}
