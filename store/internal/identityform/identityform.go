// Package identityform encodes a [store.Identity] for stores and files: its version, then its texts.
package identityform

import (
	"encoding/binary"

	"github.com/firstseen/firstseen/internal/fields"
	"github.com/firstseen/firstseen/store"
)

// Append appends id: its version as a uvarint, then profile, key kind and Unicode version,
// each after its length as a uvarint.
func Append(dst []byte, id store.Identity) []byte {
	dst = binary.AppendUvarint(dst, uint64(id.Version))
	for _, s := range []string{id.Profile, id.KeyKind, id.Unicode} {
		dst = fields.AppendText(dst, s)
	}
	return dst
}

// Read reads what Append appended. If it is cut short, r.Bad is set.
func Read(r *fields.Reader) store.Identity {
	return store.Identity{Version: r.Int(), Profile: r.Text(), KeyKind: r.Text(), Unicode: r.Text()}
}
