package captures

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"github.com/firstseen/firstseen/canon"
)

// maxLevel is the most zero bits that a place may need.
const maxLevel = 63

// coarsest makes one form of all variants that any rule might merge.
func coarsest() (*canon.Profile, error) {
	return canon.Qiita().With(canon.Enable(canon.StripWWW, canon.FoldHTTPS, canon.StripTrailingDot, canon.LowercasePath,
		canon.StripSessionIDs, canon.StripIndex, canon.StripTrailingSlash, canon.DropQuery))
}

func hash64(text []byte) uint64 {
	sum := sha256.Sum256(text)
	return binary.BigEndian.Uint64(sum[:])
}

// kept reports whether a level keeps a place.
func kept(place uint64, level uint8) bool { return level == 0 || place>>(64-level) == 0 }

// share of the places that a level keeps.
func share(level uint8) float64 { return math.Ldexp(1, -int(level)) }
