package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/evidence"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/whatwg"
	"github.com/firstseen/firstseen/internal/wire"
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
		e.Input, e.InputBytes = raw, wire.BytesOf(raw)
		return e, err
	}
	form, err := p.Canonicalize(absolute)
	if err != nil || fields == nil {
		return plain(form), err
	}
	return fieldsOf(raw, form, fields), nil
}

type plain string

func (p plain) text() string { return whatwg.Line(string(p)) }

// explained is the answer of canon --json and of explain.
type explained struct {
	Input     string   `json:"input"`
	Canonical string   `json:"canonical"`
	Key       string   `json:"key"`
	Changes   []change `json:"changes"`
	Sites     []string `json:"sites,omitempty"` // entries of a rule file that hold here
	// As it is, where it is not UTF-8.
	InputBytes     []byte `json:"input_bytes,omitempty"`
	CanonicalBytes []byte `json:"canonical_bytes,omitempty"`
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
	return explained{Input: raw, Canonical: e.Canonical, Key: key(e.Canonical), Changes: changes, Sites: e.Sites, InputBytes: wire.BytesOf(raw),
		CanonicalBytes: wire.BytesOf(e.Canonical)}, nil
}

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

// fieldNames are the fields of --fields, in the order of the help.
var fieldNames = []string{"input", "canonical", "key", "scheme", "user", "host", "port", "domain", "path", "query", "fragment", "shape"}

// parseFields reads the value of --fields.
func parseFields(text string) ([]string, error) {
	names := strings.Split(text, ",")
	for _, name := range names {
		if !slices.Contains(fieldNames, name) {
			return nil, misusef("cannot print field %q; want some of %s", name, strings.Join(fieldNames, ", "))
		}
	}
	return names, nil
}

// fieldsOf returns the fields of a canonical URL: values between tabs, or an object. Of a form that is no URL only the first three
// and the shape are not empty.
func fieldsOf(input, form string, names []string) (o object) {
	values := map[string]string{"input": input, "canonical": form, "key": key(form)}
	host := canon.Host([]byte(form))
	values["shape"] = string(evidence.AppendShape(nil, []byte(form), host))
	if host != nil {
		splitForm(form, string(host), values)
	}
	var list []string
	for _, name := range names {
		text := values[name]
		list = append(list, visible(text))
		o.members = append(o.members, member{name, text})
		if raw := wire.BytesOf(text); raw != nil {
			o.members = append(o.members, member{name + "_bytes", raw})
		}
	}
	o.line = strings.Join(list, "\t")
	return o
}

// splitForm sets the parts of a URL.
func splitForm(form, host string, values map[string]string) {
	values["domain"] = string(appendDomain(nil, []byte(form)))
	scheme, rest, _ := strings.Cut(form, "://")
	authority, rest := whatwg.CutBefore(rest, "/?#")
	values["scheme"] = scheme
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		values["user"] = authority[:i]
	}
	values["host"] = host
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		values["host"], values["port"] = host[:i], host[i+1:]
	}
	rest, values["fragment"], _ = strings.Cut(rest, "#")
	values["path"], values["query"], _ = strings.Cut(rest, "?")
}

// profileFlags are --profile, --rules and --rule-file, the same for every command.
type profileFlags struct{ profile, rules, file string }

func (p *profileFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&p.profile, "profile", "qiita",
		"canonical form: qiita, whatwg, hashed-n, hashed-p, c14n, purell:FLAG,…, scrapy, safebrowsing, surt or none")
	flags.StringVar(&p.rules, "rules", "", `rules to switch, as "+strip-www,-collapse-slashes"; only qiita has such rules`)
	flags.StringVar(&p.file, "rule-file", "", "JSON file of rules for hosts and paths")
}

func (p *profileFlags) open() (*canon.Profile, error) {
	_, with, _, err := p.both()
	return with, err
}

// both returns the profile without the rule file, and with it, and the text of the file, which is read once: it may be a pipe.
func (p *profileFlags) both() (base, with *canon.Profile, rules []byte, err error) {
	base, err = canon.ParseProfile(p.profile)
	if err == nil && p.rules != "" {
		base, err = base.WithRules(p.rules)
	}
	if err != nil {
		return nil, nil, nil, misuse{err}
	}
	if p.file == "" {
		return base, base, nil, nil
	}
	if rules, err = os.ReadFile(p.file); err != nil {
		return nil, nil, nil, fmt.Errorf("cannot open rule file: %w", err)
	}
	with, err = withRules(base, p.file, rules)
	return base, with, rules, err
}

// withRules returns the profile with the rules of a file, given its text.
func withRules(profile *canon.Profile, name string, text []byte) (*canon.Profile, error) {
	profile, err := profile.With(canon.WithRuleFile(bytes.NewReader(text)))
	if err != nil {
		return nil, misusef("cannot use rule file %s: %w", name, err)
	}
	return profile, nil
}
