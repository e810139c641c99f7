package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/fault"
)

func newCanonCmd(a *app) *cobra.Command {
	var f canonFlags
	cmd := &cobra.Command{
		Use:   "canon [URL…]",
		Short: "Write URLs in their canonical form",
		Long: `Write URLs, from the arguments or from stdin, in their canonical form: one line of
output for each input, empty if it is refused, with the reason on stderr. With
--json one object for each, with the key and what each rule changed.

--base makes relative references absolute first. --fields prints parts of the canonical
form instead, separated by tabs, or with --json in an object.`,
		Example: `  firstseen canon 'HTTP://Example.com:80/a//b/../c?b=2&a=1#top'
  firstseen canon --rules +strip-www,+fold-https < urls.txt
  firstseen canon --base http://example.com/a/ ../b '?page=2'
  firstseen canon --fields host,path,query < urls.txt`,
		Args: cobra.ArbitraryArgs,
		RunE: running(func(cmd *cobra.Command, args []string) error { return f.run(cmd, a, args) }),
	}
	f.urls.add(cmd.Flags())
	f.profile.add(cmd.Flags())
	cmd.Flags().StringVar(&f.base, "base", "", "URL that relative references are relative to")
	cmd.Flags().StringVar(&f.fields, "fields", "", "parts to print, such as host,path,query; all: "+strings.Join(fieldNames, ","))
	typed(cmd.Flags(), "base", "fields")
	return cmd
}

// canonFlags are the flags of canon.
type canonFlags struct {
	urls         urlFlags
	profile      profileFlags
	base, fields string
}

func (f *canonFlags) run(cmd *cobra.Command, a *app, args []string) error {
	p, err := f.profile.open()
	if err != nil {
		return err
	}
	var fields []string
	if f.fields != "" {
		if fields, err = parseFields(f.fields); err != nil {
			return err
		}
	}
	resolve, err := resolver(f.base)
	if err != nil {
		return err
	}
	return f.urls.each(cmd, a, args, func(raw string) (answer, error) { return f.answer(p, raw, resolve(raw), fields) })
}

// resolver returns what makes references absolute; without a base, they stay as they are.
func resolver(base string) (func(raw string) string, error) {
	if base == "" {
		return func(raw string) string { return raw }, nil
	}
	b, err := canon.ParseBase(base)
	if err == nil && b.Opaque() {
		err = fault.As(canon.ErrScheme, "nothing is relative to it; want a URL with a path that begins with \"/\"")
	}
	if err != nil {
		return nil, misuse{fmt.Errorf("cannot use --base %s: %w", shown(base), err)}
	}
	return b.Resolve, nil
}

// answer answers for an input that was made absolute.
func (f *canonFlags) answer(p *canon.Profile, raw, absolute string, fields []string) (answer, error) {
	if fields == nil && f.urls.json {
		e, err := explain(p, absolute)
		e.Input = raw
		return e, err
	}
	form, err := p.Canonicalize(absolute)
	if err != nil || fields == nil {
		return plain(form), err
	}
	return fieldsOf(raw, form, fields), nil
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
	risk   string // of a rule that can be switched, for people
}

func explain(p *canon.Profile, raw string) (explained, error) {
	e, err := p.Explain(raw)
	if err != nil {
		return explained{}, err
	}
	risks := map[canon.Rule]string{}
	for _, r := range p.Rules() {
		if r.Optional {
			risks[r.Rule] = r.Risk
		}
	}
	changes := make([]change, 0, len(e.Steps))
	for _, s := range e.Steps {
		changes = append(changes, change{string(s.Rule), s.Before, s.After, s.Scope, risks[s.Rule]})
	}
	return explained{Input: raw, Canonical: e.Canonical, Key: key(e.Canonical), Changes: changes, Sites: e.Sites}, nil
}
