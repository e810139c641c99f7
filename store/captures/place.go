package captures

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"github.com/firstseen/firstseen/canon"
)

const (
	captureRow = 'c'
	countRow   = 'n'
	prefixSize = 1 + 8
	keySize    = prefixSize + 8 + 1
	first      = 0 // slots
	latest     = 1
)

// levelKey is the row of the level; it begins as no other row does.
const levelKey = "level"

// coarsest makes one form of all spellings that any rule might merge.
func coarsest() (*canon.Profile, error) {
	return canon.Qiita().With(canon.Enable(canon.StripWWW, canon.FoldHTTPS, canon.StripTrailingDot, canon.LowercasePath,
		canon.StripSessionIDs, canon.StripIndex, canon.StripTrailingSlash, canon.DropQuery))
}

func hash64(text []byte) uint64 {
	sum := sha256.Sum256(text)
	return binary.BigEndian.Uint64(sum[:])
}

// keyOf returns the key of a capture in a slot.
func keyOf(place, spelling uint64, slot byte) []byte {
	k := placeKey(captureRow, place)
	k = binary.BigEndian.AppendUint64(k, spelling)
	return append(k, slot)
}

func placeKey(kind byte, place uint64) []byte {
	return binary.BigEndian.AppendUint64(append(make([]byte, 0, keySize), kind), place)
}

// bound is the first place that a level leaves out; ok is false if it leaves none out.
func bound(level uint8) (place uint64, ok bool) {
	return 1 << (64 - min(max(level, 1), 63)), level > 0
}

func kept(place uint64, level uint8) bool {
	limit, bounded := bound(level)
	return !bounded || place < limit
}

// share of the places that a level keeps.
func share(level uint8) float64 { return math.Ldexp(1, -int(level)) }
