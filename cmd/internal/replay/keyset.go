package replay

import (
	"encoding/binary"

	"github.com/firstseen/firstseen/store"
)

// A keySet holds the keys of this run, so that its unique URLs can be distinguished from
// those that the store knew before. Beyond its budget keys go to files; add then
// says false for them, and distinct is still right.
type keySet struct {
	keys *table
	over spill
}

func newKeySet(opt Options) *keySet {
	s := &keySet{keys: newTable(opt.ExactBudget)}
	s.over.dir = opt.TempDir
	s.over.name = "keys"
	return s
}

// add reports whether the key is certainly the first of its kind.
func (s *keySet) add(key store.Key) (bool, error) {
	x := sum{binary.BigEndian.Uint64(key[:]), binary.BigEndian.Uint32(key[8:])}
	ordinal, fresh := s.keys.number(x)
	if ordinal == noOrdinal {
		return false, s.over.add(x)
	}
	return fresh, nil
}

func (s *keySet) distinct() (int64, error) {
	n, err := s.over.distinct()
	return n + int64(s.keys.n), err
}
