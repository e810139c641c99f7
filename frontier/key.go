package frontier

import (
	"encoding/binary"

	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/store"
)

// keyOf returns the identity of a URL in its crawl: the first 16 bytes of the
// SHA-256 of its canonical form. A discriminator, and in an exact crawl the
// queue key, are appended to the form first; their lengths come last, so that
// no two such triples make the same bytes, and a zero byte, which no canonical
// form contains, keeps them apart from plain forms.
//
//	canonical | 0x00 | queue | discriminator | len(queue) 1 byte | len(discriminator) 4 bytes, big endian
//
// The buffer is scratch that begins with the canonical form; it may be
// extended in place.
func keyOf(canonical []byte, exact bool, queue, disc string) store.Key {
	if !exact {
		if disc == "" {
			return hashkey.SumShort(canonical)
		}
		queue = ""
	}
	b := append(canonical, 0)
	b = append(b, queue...)
	b = append(b, disc...)
	b = append(b, byte(len(queue)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(disc)))
	return hashkey.SumShort(b)
}
