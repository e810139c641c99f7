package main

import (
	"fmt"

	"github.com/firstseen/firstseen/canon"
)

// ruleJSON describes a rule in the output of explain --list.
type ruleJSON struct {
	Rule     string `json:"rule"`
	Does     string `json:"does"`
	Source   string `json:"source"`
	Risk     string `json:"risk,omitempty"`
	Optional bool   `json:"optional"`

	List []listed `json:"list,omitempty"`
}

// listed is an entry of a rule's list.
type listed struct {
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"`
	Path   bool   `json:"path,omitempty"`
	Source string `json:"source"`
	Since  int    `json:"since"`
	Date   string `json:"date"`
}

func listRules(a *app, p *canon.Profile, asJSON bool) error {
	out := newOutput(a.out)
	for _, r := range p.Rules() {
		if asJSON {
			entry := ruleJSON{string(r.Rule), r.Does, r.Source, r.Risk, r.Optional, nil}
			for _, e := range p.List(r.Rule) {
				entry.List = append(entry.List, listed(e))
			}
			out.json(entry)
			continue
		}
		out.line(fmt.Sprintf("%-22s %s (%s)", r.Rule, r.Does, r.Source))
		if r.Risk != "" {
			out.line(fmt.Sprintf("%-22s may merge: %s", "", r.Risk))
		}
		for _, e := range p.List(r.Rule) {
			name := e.Name
			if e.Value != "" {
				name += "=" + e.Value
			}
			out.line(fmt.Sprintf("%-22s   %-28s %s; lists %d, %s", "", name, e.Source, e.Since, e.Date))
		}
	}
	return out.Flush()
}
