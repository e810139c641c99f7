package sxurl

import (
	"fmt"
	"strconv"
	"strings"
)

// Match reports whether a key can be that of a URL with this value of this component.
// "No" is certain; "yes" errs as often as two values share a slice: in Release02 one in 2^16 for
// a TLD, one in 2^60 for a domain. "" asks whether a subdomain, query or fragment is
// absent. Host asks about TLD, domain and subdomain together.
//
// It fails as [Codec.Decode] does, and with [ErrComponent] for a component that is not in a key.
// To ask many keys the same, make a [Probe]. [ParseComponent] reads the names of components.
func (c Codec) Match(k Key, component Component, value string) (bool, error) {
	p, err := c.Probe(component, value)
	if err != nil {
		return false, err
	}
	return p.Match(k)
}

// Probe is a question to keys: a component and a value, hashed once. It does not change,
// and any number of goroutines may ask with it at once.
type Probe struct {
	codec  Codec
	header [3]bool // the schemes that match; all of them, except for a probe of Scheme
	never  bool    // no key matches
	want   bits    // what the slices must be
	mask   bits    // where they are
}

// Probe makes the question of [Codec.Match]. It fails with [ErrComponent] for a component that is
// not in a key.
func (c Codec) Probe(component Component, value string) (Probe, error) {
	p := Probe{codec: c, header: [3]bool{true, true, true}}
	if c.Loose {
		value = normalizeProbe(component, value)
	}
	t := c.Layout.table()
	switch component {
	case Scheme:
		p.header = [3]bool{value == "https", value == "http", value == "ftp"}
		return p, nil
	case Port:
		n, err := strconv.ParseUint(strings.TrimPrefix(value, "+"), 10, 16)
		p.never = err != nil
		p.put(t.port, n)
		return p, nil
	case Host:
		tld, domain, subdomain, err := SplitHost(value)
		p.never = err != nil
		p.want = c.Layout.hostBits(Parts{TLD: tld, Domain: domain, Subdomain: subdomain}) // with a flag, which the mask leaves out
		for _, f := range [...]field{t.tld, t.domain, t.subdomain} {
			p.mask.put(f, 1<<f.width-1)
		}
		return p, nil
	}
	want, err := c.Layout.Hash(component, value)
	if err != nil {
		return Probe{}, fmt.Errorf("cannot match: %w", err)
	}
	f, _ := t.field(component)
	p.put(f, want)
	return p, nil
}

func (p *Probe) put(f field, v uint64) {
	p.want.put(f, v)
	p.mask.put(f, 1<<f.width-1)
}

// Match reports whether a key can be that of a URL with the probe's value. It fails as
// [Codec.Decode] does.
func (p *Probe) Match(k Key) (bool, error) {
	if p.codec.Strict {
		if _, err := p.codec.Decode(k); err != nil {
			return false, err
		}
	}
	b := k.bits()
	code, err := p.codec.Layout.scheme(b.get(p.codec.Layout.table().head))
	if err != nil {
		return false, err
	}
	differ := (b[0]^p.want[0])&p.mask[0] | (b[1]^p.want[1])&p.mask[1] | (b[2]^p.want[2])&p.mask[2] | (b[3]^p.want[3])&p.mask[3]
	return differ == 0 && !p.never && p.header[code], nil
}

// normalizeProbe writes a value as encoding does. What it cannot read it leaves.
func normalizeProbe(c Component, value string) string {
	switch c {
	case Scheme:
		return strings.TrimSuffix(strings.ToLower(value), "://")
	case Host, TLD, Domain, Subdomain:
		host, err := NormalizeHost(strings.Trim(value, "."))
		if err != nil {
			return value
		}
		return host
	case Path:
		value = "/" + strings.TrimPrefix(value, "/")
	case Query:
		value = "?" + strings.TrimPrefix(value, "?")
	case Fragment:
		value = "#" + strings.TrimPrefix(value, "#")
	default:
		return value
	}
	u, err := parse("http://h" + value)
	if err != nil || (u.Query != "") != (c == Query) || (u.Fragment != "") != (c == Fragment) {
		return value // no part of a URL, or it has a delimiter in it that would have ended it
	}
	return map[Component]string{Path: u.Path, Query: strings.TrimPrefix(u.Query, "?"), Fragment: strings.TrimPrefix(u.Fragment, "#")}[c]
}
