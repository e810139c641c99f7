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
}

func listRules(a *app, p *canon.Profile, asJSON bool) error {
	out := newOutput(a.out)
	for _, r := range p.Rules() {
		if asJSON {
			out.json(ruleJSON{string(r.Rule), r.Does, r.Source, r.Risk, r.Optional})
			continue
		}
		out.line(fmt.Sprintf("%-22s %s (%s)", r.Rule, r.Does, r.Source))
		if r.Risk != "" {
			out.line(fmt.Sprintf("%-22s may merge: %s", "", r.Risk))
		}
	}
	return out.Flush()
}
