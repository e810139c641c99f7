package sxurl

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/maphash"
	"strings"
	"sync"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/internal/whatwg"
	"github.com/firstseen/firstseen/internal/zerocopy"
)

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
}

// Encode returns the key of a URL of the schemes https, http and ftp whose host is a DNS
// name. It fails with the reasons of [ParseParts].
func (c Codec) Encode(url string) (Key, error) {
	p, err := ParseParts(url)
	if err != nil {
		return Key{}, err
	}
	return c.Layout.key(c.Layout.hostBits(p), p), nil
}

// hostBits are TLD, domain and subdomain, with the flag of the last.
func (l Layout) hostBits(p Parts) (b bits) {
	t := l.table()
	b.put(t.tld, l.hash(t.tld, p.TLD))
	b.put(t.domain, l.hash(t.domain, p.Domain))
	if p.Subdomain != "" {
		b.put(t.subdomain, l.hash(t.subdomain, p.Subdomain))
		b.put(t.flags, t.hasSubdomain)
	}
	return b
}

// header is all before the TLD without flags: version 1 and the scheme, or in Release11 the scheme
// and a reserved digit.
func (l Layout) header(scheme string) uint64 {
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

// key adds the parts other than the host to its bits.
func (l Layout) key(b bits, p Parts) Key {
	t := l.table()
	b.put(t.head, l.header(p.Scheme))
	var flags uint64
	if p.Port != defaultPort(p.Scheme) {
		flags |= t.hasPort
	}
	b.put(t.port, uint64(p.Port))
	if p.Path != "" && p.Path != "/" {
		flags |= t.hasPath
	}
	b.put(t.path, l.hash(t.path, p.Path))
	if p.Query != "" {
		flags |= t.hasQuery
		b.put(t.query, l.hash(t.query, p.Query))
	}
	if p.Fragment != "" {
		flags |= t.hasFrag
		b.put(t.fragment, l.hash(t.fragment, p.Fragment))
	}
	b.put(t.flags, flags)
	return b.key()
}

// HashComponent returns n bits of SHA-256(label, a zero byte, data), 0 <= n <= 64. Release02 takes
// the last n bits of the digest; Release11 reads the last 8 bytes as a little-endian number
// and takes its lowest n bits. With more than 64 bits it fails with [ErrBits]. (Release 1.1 of the crate returns 0
// for 64 bits.)
func (l Layout) HashComponent(label string, data []byte, n int) (uint64, error) {
	if n < 0 || n > 64 {
		return 0, fault.As(ErrBits, "cannot hash component; got %d bits; want 0 to 64", n)
	}
	return l.hash(field{label: label, width: uint(n)}, string(data)), nil
}

// Hash returns the slice that stands for a value of a component, as a number. An empty
// subdomain, query or fragment is 0. The value is hashed as it is: canonical form,
// host in ASCII and lower case. A component without a hashed slice has ErrComponent.
func (l Layout) Hash(c Component, value string) (uint64, error) {
	f, ok := l.table().field(c)
	if !ok || c == Port {
		return 0, fault.As(ErrComponent, "cannot hash component; got %q; want tld, domain, subdomain, path, query or fragment", c)
	}
	if value == "" && (c == Subdomain || c == Query || c == Fragment) {
		return 0, nil
	}
	return l.hash(f, value), nil
}

// scratch is where label and value meet when they are too long for the stack.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

func (l Layout) hash(f field, value string) uint64 {
	var small [256]byte
	if len(f.label)+1+len(value) <= len(small) {
		return l.cut(sha256.Sum256(append(append(append(small[:0], f.label...), 0), value...)), f.width)
	}
	buf := scratch.Get().(*[]byte)
	*buf = append(append(append((*buf)[:0], f.label...), 0), value...)
	sum := sha256.Sum256(*buf)
	scratch.Put(buf)
	return l.cut(sum, f.width)
}

func (l Layout) cut(digest [32]byte, n uint) uint64 {
	last := digest[24:]
	if l == Release11 {
		return binary.LittleEndian.Uint64(last) & (1<<n - 1)
	}
	return binary.BigEndian.Uint64(last) & (1<<n - 1)
}

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
	t, b := c.Layout.table(), k.bits()
	code, err := c.Layout.scheme(b.get(t.head))
	if err != nil {
		return f, err
	}
	f.Scheme, f.Port = schemes[code], uint16(b.get(t.port))
	f.TLD, f.Domain, f.Subdomain = b.get(t.tld), b.get(t.domain), b.get(t.subdomain)
	f.Path, f.Query, f.Fragment = b.get(t.path), b.get(t.query), b.get(t.fragment)
	flags := b.get(t.flags)
	f.HasSubdomain, f.HasPort, f.HasPath = flags&t.hasSubdomain != 0, flags&t.hasPort != 0, flags&t.hasPath != 0
	f.HasQuery, f.HasFragment = flags&t.hasQuery != 0, flags&t.hasFrag != 0
	if c.Strict {
		if err := f.check(flags & t.reserved); err != nil {
			return Fields{}, err
		}
	}
	return f, nil
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
	b.put(t.head, c.Layout.header(f.Scheme))
	b.put(t.flags, old.get(t.flags)&t.hasSubdomain)
	for _, slice := range [...]field{t.tld, t.domain, t.subdomain} {
		b.put(slice, old.get(slice))
	}
	return b.key(), nil
}

// Encoder encodes many URLs. It remembers the hosts it has met last, so that a host that
// comes again costs one look-up instead of a search in the public suffix list and three
// hashes, and allocates nothing. Its keys are those of its [Codec]. An Encoder is for one
// goroutine at a time, and takes about half a megabyte.
type Encoder struct {
	codec Codec
	seed  maphash.Seed
	hosts []host
}

// host has the bits of a key that depend on the host, without the scheme.
type host struct {
	name string
	buf  []byte // the memory of name, used again for the next host here
	bits bits
}

// hosts is the number of places for hosts. Each host has one place, and replaces the host that
// was there.
const hosts = 1 << 12

// NewEncoder returns an Encoder of a codec's keys.
func NewEncoder(c Codec) *Encoder {
	return &Encoder{codec: c, seed: maphash.MakeSeed(), hosts: make([]host, hosts)}
}

// Encode returns the key of a URL, as [Codec.Encode] does.
func (e *Encoder) Encode(url string) (Key, error) {
	u, ok := whatwg.ParsePlain(url)
	if !ok {
		return e.codec.Encode(url)
	}
	b, err := e.host(url[u.SchemeLen+3 : u.HostEnd])
	if err != nil {
		return Key{}, err
	}
	return e.codec.Layout.key(b, plainRest(url, u)), nil
}

// host returns the bits of a host, from memory if it is there.
func (e *Encoder) host(name string) (bits, error) {
	h := &e.hosts[maphash.String(e.seed, name)%hosts]
	if h.name == name {
		return h.bits, nil
	}
	if err := ValidateHost(name); err != nil {
		return bits{}, err
	}
	tld, domain, subdomain, err := SplitHost(name)
	if err != nil {
		return bits{}, err
	}
	h.bits = e.codec.Layout.hostBits(Parts{TLD: tld, Domain: domain, Subdomain: subdomain})
	h.buf = append(h.buf[:0], name...)
	h.name = zerocopy.String(h.buf)
	return h.bits, nil
}

// A Reason is why a URL or a key was refused: the short, stable code for reports. Every error of this package wraps exactly
// one Reason: test for it with errors.Is(err, sxurl.ErrHost), or get it with errors.As.
type Reason string

// Reasons for which a URL has no SXURL.
const (
	// ErrURL means that the input is no URL by the URL Standard.
	ErrURL Reason = "url"
	// ErrScheme means another scheme than https, http and ftp, in a URL or in a key.
	ErrScheme Reason = "scheme"
	// ErrHost means a missing host, or one that is an IP address or no domain name.
	ErrHost Reason = "host"
	// ErrHostLength means a host of more than 255 bytes.
	ErrHostLength Reason = "host-length"
	// ErrLabel means a label of the host that is empty, longer than 63 bytes, or has a
	// hyphen at an end; or a host of one label where two are needed.
	ErrLabel Reason = "label"
	// ErrCharacter means a character in the host that is no letter, digit or hyphen.
	ErrCharacter Reason = "character"
	// ErrJoin means a relative reference to a URL that cannot be a base.
	ErrJoin Reason = "base"
)

// Reasons for which a text or 32 bytes are no SXURL.
const (
	// ErrLength means a text of other than 64 bytes.
	ErrLength Reason = "length"
	// ErrHex means a character that is no hexadecimal digit.
	ErrHex Reason = "hex"
	// ErrVersion means another version than 1 in a key of layout Release02.
	ErrVersion Reason = "version"
	// ErrReserved means a reserved bit that is set.
	ErrReserved Reason = "reserved"
	// ErrPort means port 0.
	ErrPort Reason = "port"
	// ErrPortFlag means a port flag that disagrees with the port.
	ErrPortFlag Reason = "port-flag"
)

// Reasons for which a question about a key or a URL has no answer.
const (
	// ErrComponent means an unknown component, one without bits in the key, or one that a URL
	// must have.
	ErrComponent Reason = "component"
	// ErrBits means a hash of more than 64 bits.
	ErrBits Reason = "bits"
)

// Error returns the reason as a sentence would.
func (r Reason) Error() string { return "SXURL: " + strings.ReplaceAll(string(r), "-", " ") }

// Code returns the reason itself, for reports.
func (r Reason) Code() string { return string(r) }
