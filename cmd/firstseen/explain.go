package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func newExplainCmd(a *app) *cobra.Command {
	var urls urlFlags
	var profile profileFlags
	var rules bool
	cmd := &cobra.Command{
		Use:   "explain [URL…]",
		Short: "Print which rules change a URL, and how",
		Long: `Print for each URL, from the arguments or from stdin, which rules changed it on the way to
its canonical form, and what a rule that can be switched off may merge. With --list print the
rules of the profile instead, with the lists of names that they look for.`,
		Example: `  firstseen explain 'http://example.com/%7Euser/?b=2&a=1'`,
		Args:    cobra.ArbitraryArgs,
		RunE: running(func(cmd *cobra.Command, args []string) error {
			p, err := profile.open()
			if err != nil {
				return err
			}
			if rules {
				return listRules(a, p, urls.json)
			}
			return urls.each(cmd, a, args, func(raw string) (answer, error) { return explain(p, raw) })
		}),
	}
	urls.add(cmd.Flags())
	profile.add(cmd.Flags())
	cmd.Flags().BoolVar(&rules, "list", false, "list the rules of the profile, in order")
	return cmd
}

// text shows an explanation to a person.
func (e explained) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", visible(e.Input))
	for _, c := range e.Changes {
		fmt.Fprintf(&b, "  %-22s %s\n", c.Rule, visible(c.After))
		if c.risk != "" && c.Scope == "" {
			fmt.Fprintf(&b, "  %-22s may merge: %s\n", "", c.risk)
		}
		if c.Scope != "" {
			fmt.Fprintf(&b, "  %-22s by the rule file's entry for %s\n", "", visible(c.Scope))
		}
	}
	for _, s := range e.Sites {
		fmt.Fprintf(&b, "  %-22s %s\n", "entry for a site", visible(s))
	}
	if len(e.Changes) == 0 {
		b.WriteString("  is canonical already\n")
	}
	fmt.Fprintf(&b, "  = %s\n  key %s", visible(e.Canonical), e.Key)
	return b.String()
}
