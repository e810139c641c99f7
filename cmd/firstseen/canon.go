package main

import (
	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/canon"
)

func newCanonCmd(a *app) *cobra.Command {
	var urls urlFlags
	var profile profileFlags
	cmd := &cobra.Command{
		Use:   "canon [URL…]",
		Short: "Write URLs in their canonical form",
		Long: `Write URLs, from the arguments or from stdin, in their canonical form: one line of
output for each input, empty if it is refused, with the reason on stderr. With
--json one object for each, with the key and what each rule changed.`,
		Example: `  firstseen canon 'HTTP://Example.com:80/a//b/../c?b=2&a=1#top'
  firstseen canon --rules +strip-www,+fold-https < urls.txt`,
		Args: cobra.ArbitraryArgs,
		RunE: running(func(_ *cobra.Command, args []string) error {
			p, err := profile.open()
			if err != nil {
				return err
			}
			return urls.each(a, args, func(raw string) (answer, error) {
				if urls.json {
					return explain(p, raw)
				}
				form, err := p.Canonicalize(raw)
				return plain(form), err
			})
		}),
	}
	urls.add(cmd.Flags())
	profile.add(cmd.Flags())
	return cmd
}

type plain string

func (p plain) text() string { return string(p) }

// explained is the answer of canon --json and of explain.
type explained struct {
	Input     string   `json:"input"`
	Canonical string   `json:"canonical"`
	Key       string   `json:"key"`
	Changes   []change `json:"changes"`
	Sites     []string `json:"sites,omitempty"` // entries of a rule file that hold here
}

type change struct {
	Rule   string `json:"rule"`
	Before string `json:"before"`
	After  string `json:"after"`
	Scope  string `json:"scope,omitempty"` // the entry of a rule file by which the rule holds here
}

func explain(p *canon.Profile, raw string) (explained, error) {
	e, err := p.Explain(raw)
	if err != nil {
		return explained{}, err
	}
	changes := make([]change, 0, len(e.Steps))
	for _, s := range e.Steps {
		changes = append(changes, change{string(s.Rule), s.Before, s.After, s.Scope})
	}
	return explained{Input: raw, Canonical: e.Canonical, Key: key(e.Canonical), Changes: changes, Sites: e.Sites}, nil
}
