package sxurl

import (
	"fmt"
	"strconv"
	"strings"
)

// Match tells whether a key can be that of a URL with this value of this component.
// "No" is certain; "yes" errs as often as two values share a slice: in V0 one in 2^16 for
// a TLD, one in 2^60 for a domain. "" asks whether a subdomain, query or fragment is
// absent. Host asks about TLD, domain and subdomain together.
//
// It fails as [Codec.Decode] does, and with [ErrComponent] for a component that is not in a key.
// With Crate, Host is such a component.
func (c Codec) Match(k Key, component Component, value string) (bool, error) {
	f, err := c.Decode(k)
	if err != nil {
		return false, err
	}
	return c.MatchFields(&f, component, value)
}

// MatchFields is [Codec.Match] of a key that is decoded already.
func (c Codec) MatchFields(f *Fields, component Component, value string) (bool, error) {
	if c.Loose {
		value = normalizeProbe(component, value)
	}
	switch component {
	case Scheme:
		return f.Scheme == value, nil
	case Port:
		n, err := strconv.ParseUint(strings.TrimPrefix(value, "+"), 10, 16)
		return err == nil && f.Port == uint16(n), nil
	case Host:
		if !c.Crate {
			return c.matchHost(f, value)
		}
	}
	want, err := c.Layout.Hash(component, value)
	if err != nil {
		return false, fmt.Errorf("cannot match: %w", err)
	}
	return f.slice(component) == want, nil
}

// MatchName is [Codec.Match] by the component's name, as [ParseComponent] reads it. With
// Crate it knows tld, domain, sub, path, params and frag, and nothing else.
func (c Codec) MatchName(k Key, name, value string) (bool, error) {
	component, err := ParseComponent(name)
	if c.Crate && err == nil {
		_, _, err = c.Layout.Slice(component)
		if name == string(Port) || name != V0.table().label(component) {
			err = fmt.Errorf("cannot match; got component %q; want tld, domain, sub, path, params or frag: %w", name, ErrComponent)
		}
	}
	if err != nil {
		return false, err
	}
	return c.Match(k, component, value)
}

// label is also the name by which the crate knows a component, in every release.
func (t *layout) label(c Component) string {
	f, _ := t.field(c)
	return f.label
}

func (c Codec) matchHost(f *Fields, host string) (bool, error) {
	tld, domain, subdomain, err := SplitHost(host)
	if err != nil {
		return false, nil
	}
	for _, part := range [...]struct {
		c     Component
		value string
	}{{TLD, tld}, {Domain, domain}, {Subdomain, subdomain}} {
		want, err := c.Layout.Hash(part.c, part.value)
		if err != nil || f.slice(part.c) != want {
			return false, err
		}
	}
	return true, nil
}

func (f *Fields) slice(c Component) uint64 {
	switch c {
	case TLD:
		return f.TLD
	case Domain:
		return f.Domain
	case Subdomain:
		return f.Subdomain
	case Path:
		return f.Path
	case Query:
		return f.Query
	}
	return f.Fragment
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
	canonical, err := whatwg.Canonicalize("http://h" + value)
	if err != nil {
		return value
	}
	s := split(canonical)
	if s.hasQuery != (c == Query) || s.hasFragment != (c == Fragment) {
		return value // it has a delimiter in it that would have ended it
	}
	return map[Component]string{Path: s.path, Query: s.query, Fragment: s.fragment}[c]
}
