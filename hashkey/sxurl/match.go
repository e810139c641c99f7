package sxurl

import (
	"strings"

	"github.com/firstseen/firstseen/internal/fault"
)

// Match reports whether a key can be that of a URL with this value of this component.
// "No" is certain; "yes" errs as often as two values share a slice: in Release02 one in 2^16 for
// a TLD, one in 2^60 for a domain. "" asks whether a subdomain, query or fragment is
// absent. Host asks about TLD, domain and subdomain together.
//
// It fails as [Codec.Decode] does, and with [ErrComponent] for a component that is not in a key.
// With Crate, Host is such a component. To ask many keys the same, make a [Probe].
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

// MatchName is [Codec.Match] by the component's name, as [ParseComponent] reads it. With
// Crate it knows tld, domain, sub, path, params and frag, and nothing else.
func (c Codec) MatchName(k Key, name, value string) (bool, error) {
	component, err := ParseComponent(name)
	if c.Crate && err == nil {
		_, _, err = c.Layout.Slice(component)
		if name == string(Port) || name != Release02.table().label(component) {
			err = fault.As(ErrComponent, "cannot match; got component %q; want tld, domain, sub, path, params or frag", name)
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
