package audit

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// ruleFile is what canon.WithRuleFile reads.
type ruleFile struct {
	Comment string       `json:"comment"`
	Params  []paramEntry `json:"params"`
}

type paramEntry struct {
	Comment string   `json:"comment"`
	Host    string   `json:"host"`
	Path    string   `json:"path"`
	Drop    []string `json:"drop"`
}

// WriteRuleFile writes the proposals as a rule file for canon, an entry a
// place, in the order they are in.
func (l *Learned) WriteRuleFile(w io.Writer) error {
	f := ruleFile{Comment: "Parameters that made URLs but not pages, learned from a crawl log.", Params: []paramEntry{}}
	for _, p := range l.Proposals {
		note := fmt.Sprintf("%s: %d of %d pairs the same, validated on %d of %d; saves %d URLs",
			p.Param, p.Learned.Held, p.Learned.Pairs, p.Validated.Held, p.Validated.Pairs, p.Saves)
		i := slices.IndexFunc(f.Params, func(e paramEntry) bool { return e.Host == p.Host && e.Path == p.Path })
		if i < 0 {
			f.Params = append(f.Params, paramEntry{Comment: note, Host: p.Host, Path: p.Path, Drop: []string{p.Param}})
			continue
		}
		f.Params[i].Drop = append(f.Params[i].Drop, p.Param)
		f.Params[i].Comment += "; " + note
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(f); err != nil {
		return fmt.Errorf("cannot write rule file: %w", err)
	}
	return nil
}
