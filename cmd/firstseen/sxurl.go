package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/hashkey/sxurl"
)

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
