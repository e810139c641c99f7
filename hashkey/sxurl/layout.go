package sxurl

import (
	"github.com/firstseen/firstseen/internal/fault"
)

// Layout is one of the incompatible encodings that are all called SXURL. Keys of
// different layouts must not meet: nothing in a key shows which one it has.
type Layout uint8

const (
	// Release02 is the encoding of releases 0.1 and 0.2 of the crate, and of its README.
	Release02 Layout = iota
	// Release11 is the encoding of release 1.1.
	Release11
)

// Component is a part of a URL.
type Component string

// The components. The first six have a slice of a hash in a key, Port is there in
// clear, Scheme is in the header. The last three are for [URL.Get] and [URL.Without]
// only; Host can be matched too.
const (
	TLD          Component = "tld"       // the public suffix: "com", "co.uk", "github.io"
	Domain       Component = "domain"    // the one label before it
	Subdomain    Component = "subdomain" // all labels before that, "" if none
	Path         Component = "path"      // with its first slash
	Query        Component = "query"     // without "?"
	Fragment     Component = "fragment"  // without "#"
	Port         Component = "port"      // in decimal
	Scheme       Component = "scheme"    // "https", "http" or "ftp"
	Host         Component = "host"
	PathSegments Component = "path_segments" // not the empty ones, joined by ","
	Filename     Component = "filename"      // the last segment, if it looks like a file's name
)

// ParseComponent reads a component's name. It also knows the crate's short names and
// the README's: sub, params, frag, anchor.
func ParseComponent(name string) (Component, error) {
	switch c := Component(name); c {
	case TLD, Domain, Subdomain, Path, Query, Fragment, Port, Scheme, Host, PathSegments, Filename:
		return c, nil
	case "sub":
		return Subdomain, nil
	case "params":
		return Query, nil
	case "frag", "anchor":
		return Fragment, nil
	}
	return "", fault.As(ErrComponent, "cannot parse component; got %q; want tld, domain, subdomain, path, query, fragment, port, scheme or host", name)
}

// field is the place of a slice in a key, in bits from the first, and the label that
// is hashed with it.
type field struct {
	from, width uint
	label       string
}

// layout is the table of one encoding.
type layout struct {
	tld, domain, subdomain, path, query, fragment, port field
	head                                                field // all before the TLD
	flags                                               field
	hasSubdomain, hasPort, hasPath, hasQuery, hasFrag   uint64 // bits of flags; 0 if there is none
	reserved                                            uint64 // bits of flags that must be 0
}

var layout02 = layout{
	head: field{0, 12, ""}, flags: field{7, 5, ""},
	tld: field{12, 16, "tld"}, domain: field{28, 60, "domain"}, subdomain: field{88, 32, "sub"}, port: field{120, 16, ""},
	path: field{136, 60, "path"}, query: field{196, 36, "params"}, fragment: field{232, 24, "frag"},
	hasSubdomain: 16, hasQuery: 8, hasFrag: 4, hasPort: 2, reserved: 1,
}

var layout11 = layout{
	head: field{0, 8, ""}, flags: field{128, 8, ""},
	tld: field{8, 28, "tld"}, domain: field{36, 60, "domain"}, subdomain: field{96, 32, "subdomain"}, port: field{136, 16, ""},
	path: field{152, 52, "path"}, query: field{204, 32, "query"}, fragment: field{236, 20, "fragment"},
	hasSubdomain: 0x80, hasPort: 0x40, hasPath: 0x20, hasQuery: 0x10, hasFrag: 8, reserved: 7,
}

func (l Layout) table() *layout {
	if l == Release11 {
		return &layout11
	}
	return &layout02
}

// field returns the place of a component that has one.
func (t *layout) field(c Component) (field, bool) {
	switch c {
	case TLD:
		return t.tld, true
	case Domain:
		return t.domain, true
	case Subdomain:
		return t.subdomain, true
	case Path:
		return t.path, true
	case Query:
		return t.query, true
	case Fragment:
		return t.fragment, true
	case Port:
		return t.port, true
	}
	return field{}, false
}

// Slice returns where the digits of a component are in the hexadecimal form: from is
// the first, counted from 0, to the one after the last. In SQL that is
// substr(sxurl, from+1, to-from). A component without a slice has ErrComponent.
func (l Layout) Slice(c Component) (from, to int, err error) {
	f, ok := l.table().field(c)
	if !ok {
		return 0, 0, fault.As(ErrComponent, "cannot slice SXURL; got component %q; want tld, domain, subdomain, port, path, query or fragment", c)
	}
	return int(f.from / 4), int(f.from+f.width) / 4, nil
}
