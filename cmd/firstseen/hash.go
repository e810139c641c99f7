package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/canon"
)

// A family is a kind of hash. Its flags, if any, are added to those of the command.
type family struct {
	name string
	// profile is the canonical form it hashes when --profile isn't given.
	profile string
	flags   func(*pflag.FlagSet)
	// open makes the function that answers for one URL.
	open func(p *canon.Profile) (func(raw string) (answer, error), error)
}

// families lists the families, in the order of the help.
func families() []family {
	return append(append([]family{urlHashFamily(), urlHashCrateFamily()}, sxurlFamilies()...), hashedURIFamily())
}

func newHashCmd(a *app) *cobra.Command {
	var urls urlFlags
	var profile profileFlags
	var name string
	known := families()
	cmd := &cobra.Command{
		Use:   "hash [URL…]",
		Short: "Hash URLs to their keys",
		Long: `Hash URLs, from the arguments or from stdin: one line of output for each input, empty
if it is refused. --family selects the hash. The URL is hashed in the canonical form that
--profile selects; the default is whatwg for url-hash-crate, sxurl and sxurl-1.1, and qiita for
url-hash. A hashed-uri has a canonical form of its own, which --variant selects. --match looks
the URL up in a list of hashed URIs, and prints the entry that matches, or "-".`,
		Example: `  firstseen hash --json http://example.com/
  firstseen hash --family hashed-uri --variant N --keep-query 'http://example.com/?q'
  firstseen hash --match not-to-fetch.txt --variant N < urls.txt`,
		Args: cobra.ArbitraryArgs,
		RunE: running(func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("match") && !cmd.Flags().Changed("family") {
				name = "hashed-uri"
			}
			f, err := findFamily(known, name)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("profile") {
				profile.profile = f.profile
			}
			p, err := profile.open()
			if err != nil {
				return err
			}
			answer, err := f.open(p)
			if err != nil {
				return misuse{err}
			}
			return urls.each(cmd, a, args, answer)
		}),
	}
	urls.add(cmd.Flags())
	profile.add(cmd.Flags())
	cmd.Flags().StringVar(&name, "family", known[0].name, "kind of hash: "+strings.Join(familyNames(known), ", "))
	for _, f := range known {
		if f.flags != nil {
			f.flags(cmd.Flags())
		}
	}
	return cmd
}

func findFamily(known []family, name string) (family, error) {
	for _, f := range known {
		if f.name == name {
			return f, nil
		}
	}
	return family{}, misusef("cannot hash; got --family %q; want %s", name, strings.Join(familyNames(known), ", "))
}

func familyNames(known []family) (names []string) {
	for _, f := range known {
		names = append(names, f.name)
	}
	return names
}
