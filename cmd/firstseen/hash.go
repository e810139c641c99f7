package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/hashkey/hasheduri"
	"github.com/firstseen/firstseen/hashkey/sxurl"
)

// hashFlags are the flags of hash: those of hashed-uri are for that family alone.
type hashFlags struct {
	urls    urlFlags
	profile profileFlags
	family  string
	hasher  hasheduri.Hasher
	base    string
	list    string // a file of hashed URIs
}

// families are the kinds of hash, in the order of the help: the canonical form that each hashes when --profile isn't given, and what
// makes the function that answers for one URL. url-hash is what the document of the url-hash crate says, SHA-256; url-hash-crate what
// the released crate does, SHA-384 cut to 32 bytes.
var families = []struct {
	name, profile string
	open          func(*hashFlags, *canon.Profile) (func(raw string) (answer, error), error)
}{
	{"url-hash", "qiita", urlHashing(hashkey.Sum)},
	{"url-hash-crate", "whatwg", urlHashing(hashkey.UrlHashCrate)},
	{"sxurl", "whatwg", sxurlEncoding(sxurl.Release02)},
	{"sxurl-1.1", "whatwg", sxurlEncoding(sxurl.Release11)},
	{"hashed-uri", "none", (*hashFlags).hashedURIs},
}

func newHashCmd(a *app) *cobra.Command {
	var f hashFlags
	cmd := &cobra.Command{
		Use:   "hash [URL…]",
		Short: "Hash URLs by SHA-256, SXURL or hashed URI",
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
			if f.list != "" && !cmd.Flags().Changed("family") {
				f.family = "hashed-uri"
			}
			family := families[slices.Index(familyNames(), f.family)]
			if !cmd.Flags().Changed("profile") {
				f.profile.profile = family.profile
			}
			p, err := f.profile.open()
			if err != nil {
				return err
			}
			answer, err := family.open(&f, p)
			if err != nil {
				return misuse{err}
			}
			return f.urls.each(cmd, a, args, answer)
		}),
	}
	fs := cmd.Flags()
	f.urls.add(fs)
	f.profile.add(fs)
	oneOf(fs, &f.family, "family", families[0].name, familyNames(), "kind of hash: "+strings.Join(familyNames(), ", "))
	fs.StringVar(&f.hasher.Algorithm, "algorithm", "sha1", "hash of hashed-uri: md5, sha1 or x-sha256")
	addVariant(fs, &f.hasher.Variant, "none", "canonical form of hashed-uri: none, N (safe by the standards) or P (also as usual servers do)")
	fs.BoolVar(&f.hasher.KeepQuery, "keep-query", false, "make a hashed-uri cover the query (+query)")
	fs.BoolVar(&f.hasher.KeepFragment, "keep-fragment", false, "make a hashed-uri cover the fragment (+frag)")
	fs.BoolVar(&f.hasher.Literal, "literal", false, "leave escaped letters of a hashed-uri as they are")
	fs.StringVar(&f.base, "base", "", "absolute URI that relative references of hashed-uri start from")
	fs.StringVar(&f.list, "match", "", "file of hashed URIs, one a line: print for each URL the entry that excludes it, or \"-\"")
	return cmd
}

func familyNames() (names []string) {
	for _, f := range families {
		names = append(names, f.name)
	}
	return names
}

// urlHashing answers with hashes in hexadecimal; display is the crate's own form, four decimal words.
func urlHashing(sum func([]byte) hashkey.UrlHash) func(*hashFlags, *canon.Profile) (func(string) (answer, error), error) {
	return func(_ *hashFlags, p *canon.Profile) (func(string) (answer, error), error) {
		return func(raw string) (answer, error) {
			form, err := p.Canonicalize(raw)
			if err != nil {
				return nil, err
			}
			h := sum([]byte(form))
			return object{h.Hex(), []member{{"input", raw}, {"canonical", form}, {"hash", h.Hex()}, {"short", h.Short().Hex()},
				{"very_short", h.VeryShort().Hex()}, {"display", h.Display()}}}, nil
		}, nil
	}
}

// sxurlEncoding answers with SXURLs; without --profile they do their own parsing.
func sxurlEncoding(l sxurl.Layout) func(*hashFlags, *canon.Profile) (func(string) (answer, error), error) {
	return func(_ *hashFlags, p *canon.Profile) (func(string) (answer, error), error) {
		encoder := sxurl.NewEncoder(sxurl.Codec{Layout: l})
		return func(raw string) (answer, error) {
			form, err := raw, error(nil)
			if p.Name() != "whatwg" {
				form, err = p.Canonicalize(raw)
			}
			if err != nil {
				return nil, err
			}
			return encoded(encoder, raw, form)
		}, nil
	}
}

func encoded(encoder *sxurl.Encoder, raw, form string) (answer, error) {
	key, err := encoder.Encode(form)
	return object{key.Hex(), []member{{"input", raw}, {"sxurl", key.Hex()}}}, err
}

// variants are the canonical forms of hashed URIs.
var variants = map[string]hasheduri.Variant{"none": hasheduri.None, "N": hasheduri.N, "n": hasheduri.N, "P": hasheduri.P, "p": hasheduri.P}

func addVariant(fs *pflag.FlagSet, to *hasheduri.Variant, name, usage string) {
	*to = variants[name]
	fs.Var(&value{"string", func(text string) error {
		v, ok := variants[text]
		if !ok {
			return fmt.Errorf("got %q; want none, N or P", text)
		}
		*to, name = v, text
		return nil
	}, func() string { return name }}, "variant", usage)
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

// hashedURIs answers with hashed URIs, or with --match with the entry that excludes a URL. It hashes the URL as it is, because the
// variant is the canonical form.
func (f *hashFlags) hashedURIs(p *canon.Profile) (func(raw string) (answer, error), error) {
	resolve, err := resolver(f.base)
	if err != nil {
		return nil, err
	}
	var list *hasheduri.List
	if f.list != "" {
		list, err = openHashedList(f.list, f.hasher)
	} else {
		_, err = f.hasher.Sum("x:") // whether there is such a hash
	}
	if err != nil {
		return nil, err
	}
	return func(raw string) (answer, error) {
		form, err := p.Canonicalize(resolve(raw))
		if err != nil {
			return nil, err
		}
		if list == nil {
			u, err := f.hasher.Sum(form)
			return object{u.String(), []member{{"input", raw}, {"hashed_uri", u}}}, err
		}
		entry, ok := list.Match(form)
		if !ok {
			return object{"-", []member{{"input", raw}, {"match", false}}}, nil
		}
		return object{entry.String(), []member{{"input", raw}, {"match", true}, {"entry", entry}}}, nil
	}, nil
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

// sxurlFlags select the layout of the keys, and ask about their components.
type sxurlFlags struct {
	layout string
	strict bool
	asked  map[sxurl.Component]*string
}

func (s *sxurlFlags) add(flags *pflag.FlagSet) {
	oneOf(flags, &s.layout, "layout", "0.2", []string{"0.2", "1.1", "0.1"}, "encoding of SXURLs: 0.2 or 1.1, the release of the Rust crate sxurl that has it")
}

func (s *sxurlFlags) addStrict(flags *pflag.FlagSet) {
	flags.BoolVar(&s.strict, "strict", false, "refuse keys with reserved bits, port 0, or a port although the port flag is not set")
}

func (s *sxurlFlags) codec() sxurl.Codec {
	c := sxurl.Codec{Strict: s.strict, Loose: true}
	if s.layout == "1.1" {
		c.Layout = sxurl.Release11
	}
	return c
}

// probeComponents are the components that can be asked about, in the order of the help.
var probeComponents = []sxurl.Component{
	sxurl.TLD, sxurl.Domain, sxurl.Subdomain, sxurl.Host, sxurl.Path, sxurl.Query, sxurl.Fragment, sxurl.Port, sxurl.Scheme,
}

func (s *sxurlFlags) addProbes(flags *pflag.FlagSet) {
	s.asked = map[sxurl.Component]*string{}
	for _, c := range probeComponents {
		s.asked[c] = flags.String(string(c), "", fmt.Sprintf("the %s to match; for subdomain, query and fragment \"\" means none", c))
	}
}

// matcher returns what reports whether a key can have all the parts that were asked for.
func (s *sxurlFlags) matcher(flags *pflag.FlagSet) (func(sxurl.Key) (bool, error), error) {
	var probes []sxurl.Probe
	for _, component := range probeComponents {
		if !flags.Changed(string(component)) {
			continue
		}
		probe, err := s.codec().Probe(component, *s.asked[component])
		if err != nil {
			return nil, misuse{err}
		}
		probes = append(probes, probe)
	}
	if len(probes) == 0 {
		return nil, misusef("cannot match; got no component; want at least one, as --tld com")
	}
	return func(key sxurl.Key) (bool, error) {
		for i := range probes {
			if ok, err := probes[i].Match(key); !ok || err != nil {
				return false, err
			}
		}
		return true, nil
	}, nil
}

// answering makes cmd a command that answers for each of its inputs.
func (s *sxurlFlags) answering(a *app, cmd *cobra.Command, open func(sxurl.Codec) (func(raw string) (answer, error), error)) *cobra.Command {
	var urls urlFlags
	cmd.RunE = running(func(cmd *cobra.Command, args []string) error {
		answer, err := open(s.codec())
		if err != nil {
			return err
		}
		return urls.each(cmd, a, args, answer)
	})
	urls.add(cmd.Flags())
	s.add(cmd.Flags())
	return cmd
}

func newSXURLEncodeCmd(a *app) *cobra.Command {
	var keys sxurlFlags
	return keys.answering(a, &cobra.Command{
		Use:     "encode [URL…]",
		Short:   "Make the SXURLs of URLs",
		Long:    "Make the SXURLs of URLs from the arguments or stdin: one line for each, empty if it is refused.",
		Example: "  firstseen sxurl encode https://docs.example.com/",
	}, func(c sxurl.Codec) (func(string) (answer, error), error) {
		encoder := sxurl.NewEncoder(c)
		return func(raw string) (answer, error) { return encoded(encoder, raw, raw) }, nil
	})
}

func newSXURLDecodeCmd(a *app) *cobra.Command {
	var keys sxurlFlags
	cmd := keys.answering(a, &cobra.Command{
		Use:   "decode [KEY…]",
		Short: "Take SXURLs apart",
		Long:  "Take SXURLs from the arguments or stdin apart: scheme and port in clear, the rest as slices of hashes.",
	}, func(c sxurl.Codec) (func(string) (answer, error), error) {
		return func(raw string) (answer, error) { return decodeSXURL(c, raw) }, nil
	})
	keys.addStrict(cmd.Flags())
	return cmd
}

// decodeSXURL answers with the parts of a key: the slices in as many digits as they have.
func decodeSXURL(c sxurl.Codec, raw string) (answer, error) {
	key, err := sxurl.ParseKey(raw)
	if err != nil {
		return nil, err
	}
	f, err := c.Decode(key)
	if err != nil {
		return nil, err
	}
	d := object{fmt.Sprintf("%s port=%d", f.Scheme, f.Port), []member{{"input", raw}, {"scheme", f.Scheme}, {"port", f.Port}}}
	for _, component := range []sxurl.Component{sxurl.TLD, sxurl.Domain, sxurl.Subdomain, sxurl.Path, sxurl.Query, sxurl.Fragment} {
		from, to, _ := c.Layout.Slice(component)
		slice := key.Hex()[from:to]
		d.line += fmt.Sprintf(" %s=%s", component, slice)
		d.members = append(d.members, member{string(component), slice})
	}
	present := []string{}
	for _, part := range []struct {
		name string
		is   bool
	}{{"subdomain", f.HasSubdomain}, {"port", f.HasPort}, {"path", f.HasPath}, {"query", f.HasQuery}, {"fragment", f.HasFragment}} {
		if part.is {
			present = append(present, part.name)
		}
	}
	d.members = append(d.members, member{"present", present})
	return d, nil
}

func newSXURLMatchCmd(a *app) *cobra.Command {
	var keys sxurlFlags
	cmd := &cobra.Command{
		Use:   "match --COMPONENT VALUE… [KEY…]",
		Short: "Report which SXURLs can have parts with these values",
		Long: `Print for each SXURL, from the arguments or stdin, whether its URL can have the given parts: true
or false. False is always right. True can be wrong, because two values can have the same hash.`,
		Example: "  firstseen sxurl match --domain example --tld com < keys.txt",
	}
	keys.answering(a, cmd, func(sxurl.Codec) (func(string) (answer, error), error) {
		match, err := keys.matcher(cmd.Flags())
		return func(raw string) (answer, error) {
			key, err := sxurl.ParseKey(raw)
			if err != nil {
				return nil, err
			}
			ok, err := match(key)
			return object{strconv.FormatBool(ok), []member{{"input", raw}, {"match", ok}}}, err
		}, err
	})
	keys.addStrict(cmd.Flags())
	keys.addProbes(cmd.Flags())
	return cmd
}

func newSXURLFilterCmd(a *app) *cobra.Command {
	var keys sxurlFlags
	invert := false
	cmd := &cobra.Command{
		Use:   "filter --COMPONENT VALUE…",
		Short: "Keep the lines whose SXURL or URL has parts of these values",
		Long: `Copy the lines of stdin whose first word is an SXURL, or a URL, with the parts asked for.
A line with anything else at its start is dropped and reported on stderr, and the exit status is 1.`,
		Example: "  firstseen sxurl filter --tld com --domain example < keys-and-urls.txt",
		Args:    noArgs,
		RunE: running(func(cmd *cobra.Command, _ []string) error {
			match, err := keys.matcher(cmd.Flags())
			if err != nil {
				return err
			}
			return filterLines(a, sxurl.NewEncoder(keys.codec()), match, invert)
		}),
	}
	keys.add(cmd.Flags())
	keys.addStrict(cmd.Flags())
	keys.addProbes(cmd.Flags())
	cmd.Flags().BoolVarP(&invert, "invert-match", "v", false, "keep the lines that don't match")
	return cmd
}

func filterLines(a *app, encoder *sxurl.Encoder, match func(sxurl.Key) (bool, error), invert bool) error {
	out := newOutput(a.out)
	refused := int64(0)
	for line, err := range fromLines(a.in) {
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		word := line
		if i := strings.IndexAny(line, " \t"); i >= 0 {
			word = line[:i]
		}
		ok, key, err := false, sxurl.Key{}, error(nil)
		if key, err = sxurl.ParseKey(word); err != nil {
			key, err = encoder.Encode(word)
		}
		if err == nil {
			ok, err = match(key)
		}
		if err != nil {
			refused++
			fmt.Fprintf(a.err, "firstseen: %s: %v\n", shown(line), err)
		} else if ok != invert {
			out.line(line)
		}
	}
	return endOutput(out, refused)
}
