package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
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

func newSXURLCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sxurl",
		Short: "Encode URLs as SXURLs: keys with a field for each part of the URL",
		Long: `Make, read and filter SXURLs: keys of 64 hexadecimal digits with a field for scheme, public
suffix, domain, subdomain, port, path, query and fragment. Use them to find URLs, not to decide
whether a URL was seen: the hashes of the fields are short, so different URLs can share a key.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSXURLEncodeCmd(a), newSXURLDecodeCmd(a), newSXURLMatchCmd(a), newSXURLFilterCmd(a))
	return cmd
}

// sxurlFlags select the layout of the keys.
type sxurlFlags struct {
	layout string
	strict bool
}

func (s *sxurlFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&s.layout, "layout", "0.2", "encoding of SXURLs: 0.2 or 1.1, the release of the Rust crate sxurl that has it")
}

func (s *sxurlFlags) addStrict(flags *pflag.FlagSet) {
	flags.BoolVar(&s.strict, "strict", false, "refuse keys with reserved bits, port 0, or a port although the port flag is not set")
}

func (s *sxurlFlags) codec() (sxurl.Codec, error) {
	c := sxurl.Codec{Strict: s.strict, Loose: true}
	switch s.layout {
	case "0.1", "0.2":
	case "1.1":
		c.Layout = sxurl.Release11
	default:
		return c, misusef("cannot use SXURL; got --layout %q; want 0.2 or 1.1", s.layout)
	}
	return c, nil
}

func newSXURLEncodeCmd(a *app) *cobra.Command {
	var urls urlFlags
	var keys sxurlFlags
	cmd := &cobra.Command{
		Use:     "encode [URL…]",
		Short:   "Make the SXURLs of URLs",
		Long:    "Make the SXURLs of URLs from the arguments or stdin: one line for each, empty if it is refused.",
		Example: "  firstseen sxurl encode https://docs.example.com/",
		RunE: running(func(cmd *cobra.Command, args []string) error {
			c, err := keys.codec()
			if err != nil {
				return err
			}
			encoder := sxurl.NewEncoder(c)
			return urls.each(cmd, a, args, func(raw string) (answer, error) {
				key, err := encoder.Encode(raw)
				return sxurlHashed{raw, key.Hex()}, err
			})
		}),
	}
	urls.add(cmd.Flags())
	keys.add(cmd.Flags())
	return cmd
}

// sxurlDecoded is the answer of decode: the slices in as many digits as they have.
type sxurlDecoded struct {
	Input     string   `json:"input"`
	Scheme    string   `json:"scheme"`
	Port      uint16   `json:"port"`
	TLD       string   `json:"tld"`
	Domain    string   `json:"domain"`
	Subdomain string   `json:"subdomain"`
	Path      string   `json:"path"`
	Query     string   `json:"query"`
	Fragment  string   `json:"fragment"`
	Present   []string `json:"present"`
}

func (d sxurlDecoded) text() string {
	return fmt.Sprintf("%s port=%d tld=%s domain=%s subdomain=%s path=%s query=%s fragment=%s", d.Scheme, d.Port, d.TLD, d.Domain, d.Subdomain, d.Path, d.Query, d.Fragment)
}

func newSXURLDecodeCmd(a *app) *cobra.Command {
	var urls urlFlags
	var keys sxurlFlags
	cmd := &cobra.Command{
		Use:   "decode [KEY…]",
		Short: "Take SXURLs apart",
		Long:  "Take SXURLs from the arguments or stdin apart: scheme and port in clear, the rest as slices of hashes.",
		RunE: running(func(cmd *cobra.Command, args []string) error {
			c, err := keys.codec()
			if err != nil {
				return err
			}
			return urls.each(cmd, a, args, func(raw string) (answer, error) { return decodeSXURL(c, raw) })
		}),
	}
	urls.add(cmd.Flags())
	keys.add(cmd.Flags())
	keys.addStrict(cmd.Flags())
	return cmd
}

func decodeSXURL(c sxurl.Codec, raw string) (answer, error) {
	key, err := sxurl.ParseKey(raw)
	if err != nil {
		return nil, err
	}
	f, err := c.Decode(key)
	if err != nil {
		return nil, err
	}
	hex := key.Hex()
	slice := func(component sxurl.Component) string {
		from, to, _ := c.Layout.Slice(component)
		return hex[from:to]
	}
	d := sxurlDecoded{
		Input: raw, Scheme: f.Scheme, Port: f.Port, TLD: slice(sxurl.TLD), Domain: slice(sxurl.Domain), Subdomain: slice(sxurl.Subdomain),
		Path: slice(sxurl.Path), Query: slice(sxurl.Query), Fragment: slice(sxurl.Fragment), Present: []string{},
	}
	for _, part := range []struct {
		name string
		is   bool
	}{{"subdomain", f.HasSubdomain}, {"port", f.HasPort}, {"path", f.HasPath}, {"query", f.HasQuery}, {"fragment", f.HasFragment}} {
		if part.is {
			d.Present = append(d.Present, part.name)
		}
	}
	return d, nil
}

// probeFlags are the questions to keys, one flag for each component.
type probeFlags struct{ values map[sxurl.Component]*string }

// probeComponents are the components that can be asked about, in the order of the help.
var probeComponents = []sxurl.Component{
	sxurl.TLD, sxurl.Domain, sxurl.Subdomain, sxurl.Host, sxurl.Path, sxurl.Query, sxurl.Fragment, sxurl.Port, sxurl.Scheme,
}

func (p *probeFlags) add(flags *pflag.FlagSet) {
	p.values = map[sxurl.Component]*string{}
	for _, c := range probeComponents {
		p.values[c] = flags.String(string(c), "", fmt.Sprintf("the %s to match; for subdomain, query and fragment \"\" means none", c))
	}
}

// probes returns the codec that the flags choose, and the questions that were asked.
func (p *probeFlags) probes(keys *sxurlFlags, flags *pflag.FlagSet) (c sxurl.Codec, probes []sxurl.Probe, err error) {
	if c, err = keys.codec(); err != nil {
		return c, nil, err
	}
	for _, component := range probeComponents {
		if !flags.Changed(string(component)) {
			continue
		}
		probe, err := c.Probe(component, *p.values[component])
		if err != nil {
			return c, nil, misuse{err}
		}
		probes = append(probes, probe)
	}
	if len(probes) == 0 {
		return c, nil, misusef("cannot match; got no component; want at least one, as --tld com")
	}
	return c, probes, nil
}

// matchAll reports whether a key can have all the given parts.
func matchAll(probes []sxurl.Probe, key sxurl.Key) (bool, error) {
	for i := range probes {
		if ok, err := probes[i].Match(key); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

type sxurlMatched struct {
	Input string `json:"input"`
	Match bool   `json:"match"`
}

func (m sxurlMatched) text() string { return strconv.FormatBool(m.Match) }

func newSXURLMatchCmd(a *app) *cobra.Command {
	var urls urlFlags
	var keys sxurlFlags
	var asked probeFlags
	cmd := &cobra.Command{
		Use:   "match --COMPONENT VALUE… [KEY…]",
		Short: "Report which SXURLs can have parts with these values",
		Long: `Print for each SXURL, from the arguments or stdin, whether its URL can have the given parts: true
or false. False is always right. True can be wrong, because two values can have the same hash.`,
		Example: "  firstseen sxurl match --domain example --tld com < keys.txt",
		RunE: running(func(cmd *cobra.Command, args []string) error {
			_, probes, err := asked.probes(&keys, cmd.Flags())
			if err != nil {
				return err
			}
			return urls.each(cmd, a, args, func(raw string) (answer, error) {
				key, err := sxurl.ParseKey(raw)
				if err != nil {
					return nil, err
				}
				ok, err := matchAll(probes, key)
				return sxurlMatched{raw, ok}, err
			})
		}),
	}
	urls.add(cmd.Flags())
	keys.add(cmd.Flags())
	keys.addStrict(cmd.Flags())
	asked.add(cmd.Flags())
	return cmd
}

func newSXURLFilterCmd(a *app) *cobra.Command {
	var keys sxurlFlags
	var asked probeFlags
	invert := false
	cmd := &cobra.Command{
		Use:   "filter --COMPONENT VALUE…",
		Short: "Keep the lines whose SXURL or URL has parts of these values",
		Long: `Copy the lines of stdin whose first word is an SXURL, or a URL, with the parts asked for.
A line with anything else at its start is dropped and reported on stderr, and the exit status is 1.`,
		Example: "  firstseen sxurl filter --tld com --domain example < keys-and-urls.txt",
		Args:    noArgs,
		RunE: running(func(cmd *cobra.Command, _ []string) error {
			c, probes, err := asked.probes(&keys, cmd.Flags())
			if err != nil {
				return err
			}
			return filterLines(a, sxurl.NewEncoder(c), probes, invert)
		}),
	}
	keys.add(cmd.Flags())
	keys.addStrict(cmd.Flags())
	asked.add(cmd.Flags())
	cmd.Flags().BoolVarP(&invert, "invert-match", "v", false, "keep the lines that don't match")
	return cmd
}

func filterLines(a *app, encoder *sxurl.Encoder, probes []sxurl.Probe, invert bool) error {
	out := newOutput(a.out)
	refused := int64(0)
	for line, err := range fromLines(a.in) {
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		ok, err := matchLine(encoder, probes, line)
		if err != nil {
			refused++
			fmt.Fprintf(a.err, "firstseen: %s: %v\n", shown(line), err)
		} else if ok != invert {
			out.line(line)
		}
	}
	return endOutput(out, refused)
}

func matchLine(encoder *sxurl.Encoder, probes []sxurl.Probe, line string) (bool, error) {
	word := line
	if i := strings.IndexAny(line, " \t"); i >= 0 {
		word = line[:i]
	}
	key, err := sxurl.ParseKey(word)
	if err != nil {
		key, err = encoder.Encode(word)
	}
	if err != nil {
		return false, err
	}
	return matchAll(probes, key)
}
