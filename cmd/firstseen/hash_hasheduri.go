package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/hashkey/hasheduri"
)

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
