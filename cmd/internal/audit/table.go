package audit

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math"
	"strings"

	"github.com/firstseen/firstseen/internal/zerocopy"
)

// table numbers distinct strings. Two strings are one if their 64-bit hashes are equal, as forms of URLs are: of 10 million
// strings, two that differ have one in 4e5 tables. A map by text would keep each text's address once more.
type table struct {
	seed  maphash.Seed
	ids   map[uint64]uint32 // by hash
	texts []string
}

func newTable() table { return table{seed: maphash.MakeSeed(), ids: map[uint64]uint32{}} }

func (t *table) len() int { return len(t.texts) }

// at returns a string, which must not be changed.
func (t *table) at(id uint32) []byte { return zerocopy.Bytes(t.texts[id]) }

// add returns the number of s, which is new or not.
func (t *table) add(s string) (uint32, error) {
	hash := maphash.String(t.seed, s)
	if id, known := t.ids[hash]; known {
		return id, nil
	}
	id := uint32(t.len())
	if id >= math.MaxUint32-1 {
		return 0, fmt.Errorf("cannot keep another string; got %d already; want fewer than 2^32", id)
	}
	t.ids[hash] = id
	t.texts = append(t.texts, strings.Clone(s))
	return id, nil
}

// compare orders two strings by length, then bytewise.
func (t *table) compare(a, b uint32) int {
	u, v := t.texts[a], t.texts[b]
	return cmp.Or(len(u)-len(v), strings.Compare(u, v))
}
