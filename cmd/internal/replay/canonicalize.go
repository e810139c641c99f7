package replay

import (
	"bytes"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/hashkey"
)

// canonicalize makes the canonical form and key of what the exact table didn't
// know. It touches the batch only.
func (b *Batch) canonicalize(p *canon.Profile) {
	for i := range b.found {
		f := &b.found[i]
		f.start = uint32(len(b.canon))
		b.canon, f.err = p.AppendCanonical(b.canon, b.spelling(f.event))
		if f.err != nil {
			continue
		}
		f.end = uint32(len(b.canon))
		form := b.canon[f.start:f.end]
		f.key = hashkey.SumShort(form)
		f.unicode = canon.HasUnicodeHost(form)
		if host := canon.Host(form); len(host) > 0 {
			f.hostAt = f.start + uint32(bytes.Index(form, host))
			f.host = uint32(len(host))
		}
	}
}
