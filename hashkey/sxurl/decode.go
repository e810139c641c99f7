package sxurl

import (
	"encoding/hex"
	"fmt"

	"github.com/firstseen/firstseen/internal/fault"
)

// Fields are the parts of a key: the parts in clear, and the hashes as numbers.
type Fields struct {
	Scheme                                        string // "https", "http" or "ftp"
	Port                                          uint16
	TLD, Domain, Subdomain, Path, Query, Fragment uint64

	// The flags of the header. HasPort means a port other than the default port of the scheme.
	// HasPath means a path other than "/"; Release02 does not record it, and leaves it false.
	HasSubdomain, HasPort, HasPath, HasQuery, HasFragment bool
}

// Decode returns the fields of a key. If the layout does not allow the header, the error is
// [ErrVersion] or [ErrScheme], in Release11 also [ErrReserved]. With Strict it can also be
// [ErrReserved], [ErrPort] or [ErrPortFlag].
func (c Codec) Decode(k Key) (f Fields, err error) {
	b := k.bits()
	err = c.decode(&f, &b)
	return f, err
}

// DecodeHex is [ParseKey] and [Codec.Decode] in one.
func (c Codec) DecodeHex(s string) (f Fields, err error) {
	var b bits
	if err = b.parse(s); err == nil {
		err = c.decode(&f, &b)
	}
	return f, err
}

// decode fills f; on error it leaves it zero.
func (c Codec) decode(f *Fields, b *bits) error {
	t := c.Layout.table()
	code, err := c.Layout.scheme(b.get(t.head))
	if err != nil {
		return err
	}
	f.Scheme, f.Port = schemes[code], uint16(b.get(t.port))
	f.TLD, f.Domain, f.Subdomain = b.get(t.tld), b.get(t.domain), b.get(t.subdomain)
	f.Path, f.Query, f.Fragment = b.get(t.path), b.get(t.query), b.get(t.fragment)
	flags := b.get(t.flags)
	f.HasSubdomain, f.HasPort, f.HasPath = flags&t.hasSubdomain != 0, flags&t.hasPort != 0, flags&t.hasPath != 0
	f.HasQuery, f.HasFragment = flags&t.hasQuery != 0, flags&t.hasFrag != 0
	if c.Strict {
		if err := f.check(flags & t.reserved); err != nil {
			*f = Fields{}
			return err
		}
	}
	return nil
}

// schemes are by their codes.
var schemes = [...]string{"https", "http", "ftp"}

// scheme reads the header, and returns the code.
func (l Layout) scheme(head uint64) (code int, err error) {
	n, reserved := head>>4, head&15
	if l == Release02 {
		if version := head >> 8; version != 1 {
			return 0, fault.As(ErrVersion, "cannot decode SXURL; got version %d; want 1", version)
		}
		n, reserved = head>>5&7, 0
	}
	switch {
	case n > 2:
		return 0, fault.As(ErrScheme, "cannot decode SXURL; got scheme code %d; want 0, 1 or 2", n)
	case reserved != 0:
		return 0, fault.As(ErrReserved, "cannot decode SXURL; got second digit %x; want 0", reserved)
	}
	return int(n), nil
}

// check is what Strict adds.
func (f *Fields) check(reserved uint64) error {
	switch {
	case reserved != 0:
		return fault.As(ErrReserved, "cannot decode SXURL; got reserved bits %b; want 0", reserved)
	case f.Port == 0:
		return fault.As(ErrPort, "cannot decode SXURL; got port 0; want 1 to 65535")
	case f.HasPort && f.Port == defaultPort(f.Scheme):
		return fault.As(ErrPortFlag, "cannot decode SXURL; its port flag is set, and %d is the default port of %s", f.Port, f.Scheme)
	case !f.HasPort && f.Port != defaultPort(f.Scheme):
		return fault.As(ErrPortFlag, "cannot decode SXURL; its port flag is not set, and %d is not the default port of %s", f.Port, f.Scheme)
	}
	return nil
}

// HostKey returns the key that all URLs of a key's scheme and host share: port, path,
// query and fragment become 0, and of the flags only that of the subdomain stays. It
// refuses what [Codec.Decode] refuses.
func (c Codec) HostKey(k Key) (Key, error) {
	f, err := c.Decode(k)
	if err != nil {
		return Key{}, err
	}
	t := c.Layout.table()
	old := k.bits()
	var b bits
	b.put(t.head, header(c.Layout, f.Scheme))
	b.put(t.flags, old.get(t.flags)&t.hasSubdomain)
	for _, slice := range [...]field{t.tld, t.domain, t.subdomain} {
		b.put(slice, old.get(slice))
	}
	return b.key(), nil
}

// HostKeyHex is [Codec.HostKey] of hexadecimal forms. With Crate it does not look at the
// digits of scheme and host, whatever they are, and copies them in the case they have.
// (The crate's own function ends the program when a character straddles its cuts.)
func (c Codec) HostKeyHex(s string) (string, error) {
	if c.Crate && c.Layout == Release11 {
		return crateHostKeyHex(s)
	}
	k, err := ParseKey(s)
	if err != nil {
		return "", err
	}
	k, err = c.HostKey(k)
	if err != nil {
		return "", err
	}
	return k.Hex(), nil
}

func crateHostKeyHex(s string) (string, error) {
	if len(s) != 64 {
		return "", fault.As(ErrLength, "cannot take host of SXURL; got %d bytes; want 64", len(s))
	}
	flags, err := hex.DecodeString(s[32:34])
	if err != nil {
		return "", fault.As(ErrHex, "cannot take host of SXURL; got flags %q; want two hexadecimal digits", s[32:34])
	}
	return fmt.Sprintf("%s%x%031x", s[:32], flags[0]>>4&8, 0), nil
}
