package audit

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ruleFile is what canon.WithRuleFile reads.
type ruleFile struct {
	Comment string       `json:"comment"`
	Sites   []*fileEntry `json:"sites,omitempty"`
	Params  []*fileEntry `json:"params"`
}

type fileEntry struct {
	Comment string   `json:"comment"`
	Source  string   `json:"source"`
	Host    string   `json:"host"`
	Path    string   `json:"path,omitempty"`
	Rules   []string `json:"rules,omitempty"`
	Drop    []string `json:"drop,omitempty"`
}

// WriteRuleFile writes the proposals as a rule file for canon, an entry a
// place, in the order they are in.
func (l *Learned) WriteRuleFile(w io.Writer) error {
	f := ruleFile{Comment: "Spellings and parameters that made URLs but not pages, learned from a crawl log.", Params: []*fileEntry{}}
	for _, p := range l.Proposals {
		if p.Rule != "" {
			e := entryAt(&f.Sites, p, strings.TrimSuffix(p.Path, "/"))
			e.Rules = append(e.Rules, "+"+string(p.Rule))
			continue
		}
		e := entryAt(&f.Params, p, p.Path)
		e.Drop = append(e.Drop, p.Param)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(f); err != nil {
		return fmt.Errorf("cannot write rule file: %w", err)
	}
	return nil
}

// entryAt returns the entry for a proposal's place, which may be new, with the
// evidence in its comment.
func entryAt(entries *[]*fileEntry, p Proposal, path string) *fileEntry {
	note := ""
	if p.Source != FromDeclarations {
		note = fmt.Sprintf("%s: %d of %d contents the same, validated on %d of %d; saves %d URLs",
			p.What(), p.Learned.Held, p.Learned.Pairs, p.Validated.Held, p.Validated.Pairs, p.Saves)
	} else {
		note = fmt.Sprintf("%s: declared by %d pages, validated on %d (%s); saves %d URLs",
			p.What(), p.Declared.Learned, p.Declared.Validated, strings.Join(p.Declared.By, ", "), p.Saves)
	}
	i := slices.IndexFunc(*entries, func(e *fileEntry) bool { return e.Host == p.Host && e.Path == path })
	if i >= 0 {
		(*entries)[i].Comment += "; " + note
		if source := &(*entries)[i].Source; !strings.Contains(*source, string(p.Source)) {
			*source += "; " + string(p.Source)
		}
		return (*entries)[i]
	}
	e := &fileEntry{Comment: note, Source: string(p.Source), Host: p.Host, Path: path}
	*entries = append(*entries, e)
	return e
}
