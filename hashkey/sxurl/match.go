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
// To ask many keys the same, make a [Probe].
func (c Codec) Match(k Key, component Component, value string) (bool, error) {
	p, err := c.Probe(component, value)
	if err != nil {
		return false, err
	}
	return p.Match(k)
}

// MatchHex is [ParseKey] and [Codec.Match] in one.
func (c Codec) MatchHex(key string, component Component, value string) (bool, error) {
	p, err := c.Probe(component, value)
	if err != nil {
		return false, err
	}
	return p.MatchHex(key)
}

// MatchName is [Codec.Match] by the component's name, as [ParseComponent] reads it.
func (c Codec) MatchName(k Key, name, value string) (bool, error) {
	component, err := ParseComponent(name)
	if err != nil {
		return false, err
	}
	return c.Match(k, component, value)
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
		return p, p.putHost(t, value)
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

func (p *Probe) putHost(t *layout, host string) error {
	tld, domain, subdomain, err := SplitHost(host)
	if err != nil {
		p.never = true
		return nil
	}
	for _, part := range [...]struct {
		c     Component
		value string
	}{{TLD, tld}, {Domain, domain}, {Subdomain, subdomain}} {
		want, err := p.codec.Layout.Hash(part.c, part.value)
		if err != nil {
			return err
		}
		f, _ := t.field(part.c)
		p.put(f, want)
	}
	return nil
}

// Match reports whether a key can be that of a URL with the probe's value. It fails as
// [Codec.Decode] does.
func (p *Probe) Match(k Key) (bool, error) {
	b := k.bits()
	return p.match(&b)
}

func (p *Probe) match(b *bits) (bool, error) {
	if p.codec.Strict {
		if err := p.codec.decode(new(Fields), b); err != nil {
			return false, err
		}
	}
	code, err := p.codec.Layout.scheme(b.get(p.codec.Layout.table().head))
	if err != nil {
		return false, err
	}
	differ := (b[0]^p.want[0])&p.mask[0] | (b[1]^p.want[1])&p.mask[1] | (b[2]^p.want[2])&p.mask[2] | (b[3]^p.want[3])&p.mask[3]
	return differ == 0 && !p.never && p.header[code], nil
}

// MatchHex is [ParseKey] and [Probe.Match] in one.
func (p *Probe) MatchHex(key string) (bool, error) {
	var b bits
	if err := b.parse(key); err != nil {
		return false, err
	}
	return p.match(&b)
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
