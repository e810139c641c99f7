package replay

import (
	"bytes"
	"encoding/binary"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/hashkey"
)

// canonicalize makes the canonical form and key of what the exact table didn't
// know. It touches the batch only. With groups it also groups the spellings that all
// rules together would join.
func (b *batch) canonicalize(p *canon.Profile, groups *canon.Profile) {
	var scratch []byte
	for i := range b.found {
		f := &b.found[i]
		f.start = uint32(len(b.canon))
		if b.Records == nil { // a plain list: here its lines are looked at, each spelling once
			var url []byte
			if url, _, f.err = b.Check(b.spelling(f.event)); f.err != nil {
				f.unread = true
				continue
			}
			e := &b.events[f.event]
			e.Start = uint32(cap(b.text) - cap(url)) // what was cut stood around the URL
			e.End = e.Start + uint32(len(url))
		}
		b.canon, f.err = p.AppendCanonical(b.canon, b.spelling(f.event))
		if f.err != nil {
			continue
		}
		f.end = uint32(len(b.canon))
		form := b.canon[f.start:f.end]
		f.key = hashkey.SumShort(form)
		f.unicode = p.HasUnicodeHost(form)
		if host := canon.Host(form); len(host) > 0 {
			f.hostAt = f.start + uint32(bytes.Index(form, host))
			f.host = uint32(len(host))
		}
		f.trap = trapOf(form)
		if groups != nil {
			var err error
			if scratch, err = groups.AppendCanonical(scratch[:0], b.spelling(f.event)); err == nil {
				key := hashkey.SumShort(scratch)
				f.group = binary.BigEndian.Uint64(key[8:])
			}
		}
	}
}
