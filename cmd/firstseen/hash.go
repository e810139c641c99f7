package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/hashkey/hasheduri"
	"github.com/firstseen/firstseen/hashkey/sxurl"
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

// urlHashed is the answer of the url-hash families. The hashes are in hexadecimal;
// display is the crate's own form, four decimal words.
type urlHashed struct {
	Input     string `json:"input"`
	Canonical string `json:"canonical"`
	Hash      string `json:"hash"`
	Short     string `json:"short"`
	VeryShort string `json:"very_short"`
	Display   string `json:"display"`
}

func (u urlHashed) text() string { return u.Hash }

// urlHashFamily is what the document of the url-hash crate says: SHA-256.
func urlHashFamily() family {
	return family{name: "url-hash", profile: "qiita", open: urlHashing(hashkey.Sum)}
}

// urlHashCrateFamily is what the released crate does: SHA-384, cut to 32 bytes.
func urlHashCrateFamily() family {
	return family{name: "url-hash-crate", profile: "whatwg", open: urlHashing(hashkey.UrlHashCrate)}
}

func urlHashing(sum func([]byte) hashkey.UrlHash) func(*canon.Profile) (func(string) (answer, error), error) {
	return func(p *canon.Profile) (func(string) (answer, error), error) {
		return func(raw string) (answer, error) {
			form, err := p.Canonicalize(raw)
			if err != nil {
				return nil, err
			}
			h := sum([]byte(form))
			return urlHashed{raw, form, h.Hex(), h.Short().Hex(), h.VeryShort().Hex(), h.Display()}, nil
		}, nil
	}
}

// sxurlHashed is the answer of the sxurl families.
type sxurlHashed struct {
	Input string `json:"input"`
	SXURL string `json:"sxurl"`
}

func (s sxurlHashed) text() string { return s.SXURL }

// sxurlFamilies are the two encodings; without --profile they do their own parsing.
func sxurlFamilies() []family {
	return []family{
		{name: "sxurl", profile: "whatwg", open: sxurlEncoding(sxurl.Release02)},
		{name: "sxurl-1.1", profile: "whatwg", open: sxurlEncoding(sxurl.Release11)},
	}
}

func sxurlEncoding(l sxurl.Layout) func(*canon.Profile) (func(string) (answer, error), error) {
	return func(p *canon.Profile) (func(string) (answer, error), error) {
		encoder := sxurl.NewEncoder(sxurl.Codec{Layout: l})
		return func(raw string) (answer, error) {
			form, err := raw, error(nil)
			if p.Name() != "whatwg" {
				form, err = p.Canonicalize(raw)
			}
			if err != nil {
				return nil, err
			}
			key, err := encoder.Encode(form)
			if err != nil {
				return nil, err
			}
			return sxurlHashed{raw, key.Hex()}, nil
		}, nil
	}
}

// hashedURIFlags are the flags of the hashed-uri family.
type hashedURIFlags struct {
	algorithm, variant, base, list string
	query, fragment, literal       bool
}

func (h *hashedURIFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&h.algorithm, "algorithm", "sha1", "hash of hashed-uri: md5, sha1 or x-sha256")
	flags.StringVar(&h.variant, "variant", "none", "canonical form of hashed-uri: none, N (safe by the standards) or P (also as usual servers do)")
	flags.BoolVar(&h.query, "keep-query", false, "make a hashed-uri cover the query (+query)")
	flags.BoolVar(&h.fragment, "keep-fragment", false, "make a hashed-uri cover the fragment (+frag)")
	flags.BoolVar(&h.literal, "literal", false, "leave escaped letters of a hashed-uri as they are")
	flags.StringVar(&h.base, "base", "", "absolute URI that relative references of hashed-uri start from")
	flags.StringVar(&h.list, "match", "", "file of hashed URIs, one a line: print for each URL the entry that excludes it, or \"-\"")
}

// hasher is what the flags say.
func (h *hashedURIFlags) hasher() (hasheduri.Hasher, error) {
	variant, err := hashedVariant(h.variant)
	if err != nil {
		return hasheduri.Hasher{}, err
	}
	return hasheduri.Hasher{
		Algorithm: h.algorithm, Variant: variant, KeepQuery: h.query, KeepFragment: h.fragment, Literal: h.literal,
	}, nil
}

// hashedVariant reads a variant as typed.
func hashedVariant(s string) (hasheduri.Variant, error) {
	switch s {
	case "none":
		return hasheduri.None, nil
	case "N", "n":
		return hasheduri.N, nil
	case "P", "p":
		return hasheduri.P, nil
	}
	return 0, misusef("cannot hash; got --variant %q; want none, N or P", s)
}

// openHashedList reads the file of hashed URIs that a flag names.
func openHashedList(name string, h hasheduri.Hasher) (*hasheduri.List, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, failure{fmt.Errorf("cannot open list of hashed URIs: %w", err)}
	}
	defer file.Close()
	list, err := hasheduri.ReadList(file, h)
	if err != nil {
		return nil, fmt.Errorf("cannot use %s: %w", name, err)
	}
	return list, nil
}

// hashedURI is the answer of the hashed-uri family.
type hashedURI struct {
	Input     string        `json:"input"`
	HashedURI hasheduri.URI `json:"hashed_uri"`
}

func (h hashedURI) text() string { return h.HashedURI.String() }

// hashedMatch is the answer of --match.
type hashedMatch struct {
	Input string         `json:"input"`
	Match bool           `json:"match"`
	Entry *hasheduri.URI `json:"entry,omitempty"`
}

func (h hashedMatch) text() string {
	if !h.Match {
		return "-"
	}
	return h.Entry.String()
}

// hashedURIFamily hashes the URL as it is, because the variant is the canonical form.
func hashedURIFamily() family {
	var flags hashedURIFlags
	return family{name: "hashed-uri", profile: "none", flags: flags.add, open: func(p *canon.Profile) (func(string) (answer, error), error) {
		h, err := flags.hasher()
		if err != nil {
			return nil, err
		}
		resolve, err := resolver(flags.base)
		if err != nil {
			return nil, err
		}
		f := func(form, raw string) (answer, error) {
			u, err := h.Sum(form)
			return hashedURI{raw, u}, err
		}
		if flags.list != "" {
			list, err := openHashedList(flags.list, h)
			if err != nil {
				return nil, err
			}
			f = matching(list)
		} else if _, err := h.Sum("x:"); err != nil {
			return nil, misuse{err}
		}
		return func(raw string) (answer, error) {
			form, err := p.Canonicalize(resolve(raw))
			if err != nil {
				return nil, err
			}
			return f(form, raw)
		}, nil
	}}
}

func matching(list *hasheduri.List) func(form, raw string) (answer, error) {
	return func(form, raw string) (answer, error) {
		entry, ok := list.Match(form)
		if !ok {
			return hashedMatch{Input: raw}, nil
		}
		return hashedMatch{raw, true, &entry}, nil
	}
}
