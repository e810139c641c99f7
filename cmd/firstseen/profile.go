package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/canon"
)

// profileFlags are --profile, --rules and --rule-file, the same for every command.
type profileFlags struct{ profile, rules, file string }

func (p *profileFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&p.profile, "profile", "qiita",
		"canonical form: qiita, whatwg, hashed-n, hashed-p, c14n, purell:FLAG,…, scrapy, safebrowsing, surt or none")
	flags.StringVar(&p.rules, "rules", "", `rules to switch, as "+strip-www,-collapse-slashes"; only qiita has such rules`)
	flags.StringVar(&p.file, "rule-file", "", "JSON file of rules for hosts and paths")
}

func (p *profileFlags) open() (*canon.Profile, error) {
	profile, err := canon.ParseProfile(p.profile)
	if err == nil && p.rules != "" {
		profile, err = profile.WithRules(p.rules)
	}
	if err != nil {
		return nil, misuse{err}
	}
	if p.file != "" {
		return withRuleFile(profile, p.file)
	}
	return profile, nil
}

func withRuleFile(profile *canon.Profile, name string) (*canon.Profile, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("cannot open rule file: %w", err)
	}
	return withRules(profile, name, text)
}

// withRules returns the profile with the rules of a file, given its text.
func withRules(profile *canon.Profile, name string, text []byte) (*canon.Profile, error) {
	profile, err := profile.With(canon.WithRuleFile(bytes.NewReader(text)))
	if err != nil {
		return nil, misusef("cannot use rule file %s: %w", name, err)
	}
	return profile, nil
}
