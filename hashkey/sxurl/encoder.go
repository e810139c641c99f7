package sxurl

import (
	"hash/maphash"

	"github.com/firstseen/firstseen/internal/whatwg"
	"github.com/firstseen/firstseen/internal/zerocopy"
)

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

// EncodeBytes is [Encoder.Encode] of bytes. url is neither kept nor changed.
func (e *Encoder) EncodeBytes(url []byte) (Key, error) {
	return e.Encode(zerocopy.String(url))
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
