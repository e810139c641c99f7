package sxurl

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/firstseen/firstseen/internal/fault"
)

// HashComponent returns n bits of SHA-256(label, a zero byte, data), 0 <= n <= 64. Release02 takes
// the last n bits of the digest; Release11 reads the last 8 bytes as a little-endian number
// and takes its lowest n bits. With more than 64 bits it fails with [ErrBits].
//
// Release 1.1 of the crate returns 0 for 64 bits; Codec.Crate does so too.
func (c Codec) HashComponent(label string, data []byte, n int) (uint64, error) {
	if n < 0 || n > 64 {
		return 0, fault.As(ErrBits, "cannot hash component; got %d bits; want 0 to 64", n)
	}
	if c.Crate && c.Layout == Release11 && n == 64 {
		return 0, nil
	}
	return c.Layout.hash(label, string(data), uint(n)), nil
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
	return l.hash(f.label, value, f.width), nil
}

// scratch is where label and value meet when they are too long for the stack.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

func (l Layout) hash(label, value string, n uint) uint64 {
	var small [256]byte
	if len(label)+1+len(value) <= len(small) {
		return l.cut(sha256.Sum256(append(append(append(small[:0], label...), 0), value...)), n)
	}
	buf := scratch.Get().(*[]byte)
	*buf = append(append(append((*buf)[:0], label...), 0), value...)
	sum := sha256.Sum256(*buf)
	scratch.Put(buf)
	return l.cut(sum, n)
}

func (l Layout) cut(digest [32]byte, n uint) uint64 {
	last := digest[24:]
	if l == Release11 {
		return binary.LittleEndian.Uint64(last) & (1<<n - 1)
	}
	return binary.BigEndian.Uint64(last) & (1<<n - 1)
}
