package sxurl

import "encoding/hex"

// Codec encodes, decodes and matches keys. The zero value is ready, and is what the
// crate's README describes. It is safe for concurrent use.
type Codec struct {
	// Layout is the encoding. The default is Release02.
	Layout Layout
	// Strict makes decoding refuse also reserved bits that are set, a port flag that
	// disagrees with the port, and port 0. The default is to ignore them, as the crate does.
	Strict bool
	// Loose makes matching normalize the given value first: host parts to ASCII and
	// lower case without dots at the ends, path, query and fragment as the URL Standard
	// writes them, without "?" and "#". The default is to hash the value as it is.
	Loose bool
	// Crate makes everything as the crate does it, faults included; each method documents its
	// own. The default is to do right what the crate plainly does wrong.
	Crate bool
}

// Encode returns the key of a URL of the schemes https, http and ftp whose host is a DNS
// name. It fails with the reasons of [ParseParts].
func (c Codec) Encode(url string) (Key, error) {
	p, err := ParseParts(url)
	if err != nil {
		return Key{}, err
	}
	return c.EncodeParts(p), nil
}

// AppendEncode appends the 64 hexadecimal digits of a URL's key to dst. On error dst is
// returned unchanged.
func (c Codec) AppendEncode(dst []byte, url string) ([]byte, error) {
	k, err := c.Encode(url)
	if err != nil {
		return dst, err
	}
	return hex.AppendEncode(dst, k[:]), nil
}

// EncodeParts returns the key of a URL that is taken apart already. It does not check
// the parts; a scheme other than http and ftp counts as https.
func (c Codec) EncodeParts(p Parts) Key {
	t := c.Layout.table()
	b := hostBits(c.Layout, t, p)
	b.put(t.head, header(c.Layout, p.Scheme))
	return c.finish(t, b, p)
}

// EncodeHost returns the key that all URLs of this URL's scheme and host share: without port, path,
// query and fragment. It is [Codec.HostKey] of [Codec.Encode]. With Crate the key also has the port
// flag, so it differs from HostKey of Encode.
func (c Codec) EncodeHost(url string) (Key, error) {
	p, err := ParseParts(url)
	if err != nil {
		return Key{}, err
	}
	t := c.Layout.table()
	b := hostBits(c.Layout, t, p)
	b.put(t.head, header(c.Layout, p.Scheme))
	if c.Crate {
		b.put(t.flags, t.hasPort)
	}
	return b.key(), nil
}

// hostBits are TLD, domain and subdomain, with the flag of the last.
func hostBits(l Layout, t *layout, p Parts) (b bits) {
	b.put(t.tld, l.hash(t.tld.label, p.TLD, t.tld.width))
	b.put(t.domain, l.hash(t.domain.label, p.Domain, t.domain.width))
	if p.Subdomain != "" {
		b.put(t.subdomain, l.hash(t.subdomain.label, p.Subdomain, t.subdomain.width))
		b.put(t.flags, t.hasSubdomain)
	}
	return b
}

// header is all before the TLD without flags: version 1 and the scheme, or in Release11 the scheme
// and a reserved digit.
func header(l Layout, scheme string) uint64 {
	var code uint64
	switch scheme {
	case "http":
		code = 1
	case "ftp":
		code = 2
	}
	if l == Release11 {
		return code << 4
	}
	return 1<<8 | code<<5
}

// finish adds the parts other than the host.
func (c Codec) finish(t *layout, b bits, p Parts) Key {
	var flags uint64
	if p.Port != defaultPort(p.Scheme) {
		flags |= t.hasPort
	}
	b.put(t.port, uint64(p.Port))
	if p.Path != "" && p.Path != "/" {
		flags |= t.hasPath
	}
	b.put(t.path, c.Layout.hash(t.path.label, p.Path, t.path.width))
	if p.Query != "" {
		flags |= t.hasQuery
		b.put(t.query, c.Layout.hash(t.query.label, p.Query, t.query.width))
	}
	if p.Fragment != "" {
		flags |= t.hasFrag
		b.put(t.fragment, c.Layout.hash(t.fragment.label, p.Fragment, t.fragment.width))
	}
	b.put(t.flags, flags)
	return b.key()
}
