package frontier

import (
	"encoding/binary"
	"fmt"

	"github.com/firstseen/firstseen/internal/fields"
	"github.com/firstseen/firstseen/store"
)

// record is what a frontier keeps with a URL, in the store's Meta: its own
// fields, then the caller's data. The zero record is kept as no bytes at all.
//
//	flags byte | depth uvarint | hops uvarint | len(disc) uvarint, disc | returned uvarint | meta
//
// Each field is there if its flag is set.
type record struct {
	depth int    // links from a seed
	hops  int    // redirects that led here
	disc  string // discriminator
	// returned counts the leases that their holder gave back, by Retry or
	// Release: of the attempts that the store counts, the others ran out.
	returned int
	exempt   bool // from Options.Lower
	meta     []byte
}

const (
	hasDepth = 1 << iota
	hasHops
	hasDisc
	_ // an alias, in stores of builds before the first release
	hasReturned
	isExempt   // a flag without a field
	knownFlags = hasDepth | hasHops | hasDisc | hasReturned | isExempt
)

func (r record) encode() []byte {
	if r.depth == 0 && r.hops == 0 && r.disc == "" && r.returned == 0 && !r.exempt && len(r.meta) == 0 {
		return nil
	}
	var flags byte
	b := append(make([]byte, 0, 1+len(r.disc)+len(r.meta)+8), 0)
	if r.depth > 0 {
		flags |= hasDepth
		b = binary.AppendUvarint(b, uint64(r.depth))
	}
	if r.hops > 0 {
		flags |= hasHops
		b = binary.AppendUvarint(b, uint64(r.hops))
	}
	if r.disc != "" {
		flags |= hasDisc
		b = fields.AppendText(b, r.disc)
	}
	if r.returned > 0 {
		flags |= hasReturned
		b = binary.AppendUvarint(b, uint64(r.returned))
	}
	if r.exempt {
		flags |= isExempt
	}
	b[0] = flags
	return append(b, r.meta...)
}

// replacing is encode for a Settlement, where nil would keep the stored record.
func (r record) replacing() []byte {
	if b := r.encode(); b != nil {
		return b
	}
	return []byte{0}
}

func decodeRecord(b []byte) (r record, err error) {
	if len(b) == 0 {
		return r, nil
	}
	flags := b[0]
	if flags&^knownFlags != 0 {
		return r, fmt.Errorf("cannot read the frontier's data of a URL; got flags %#x; want none beyond %#x: %w", flags, knownFlags, store.ErrCorrupt)
	}
	r.exempt = flags&isExempt != 0
	d := fields.Reader{B: b[1:]}
	if flags&hasDepth != 0 {
		r.depth = d.Int()
	}
	if flags&hasHops != 0 {
		r.hops = d.Int()
	}
	if flags&hasDisc != 0 {
		r.disc = d.Text()
	}
	if flags&hasReturned != 0 {
		r.returned = d.Int()
	}
	if d.Bad {
		return record{}, fmt.Errorf("cannot read the frontier's data of a URL; got %d bytes; want more: %w", len(b), store.ErrCorrupt)
	}
	if len(d.B) > 0 {
		r.meta = d.B
	}
	return r, nil
}
