package audit

import (
	"crypto/sha1"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"math"
	"strings"
)

// digest identifies the content of a capture in 20 bytes: a SHA-1, an MD5 followed by md5Mark, or
// the SHA-1 of the text of any other digest.
type digest [20]byte

// md5Mark follows the 16 bytes of an MD5. A SHA-1 that ends so is one in 2^32, and would
// have to begin as an MD5 does, too, to be taken for it.
const md5Mark = "MD5\x00"

// parseDigest reads a digest without the name of its algorithm; exact is false if the
// text can't be had back from it.
func parseDigest(s string) (d digest, exact bool) {
	switch len(s) {
	case 32:
		if n, err := base32.StdEncoding.Decode(d[:], []byte(s)); err == nil && n == len(d) {
			return d, true
		}
		if n, err := hex.Decode(d[:], []byte(s)); err == nil {
			copy(d[n:], md5Mark)
			return d, true
		}
	case 40:
		if _, err := hex.Decode(d[:], []byte(s)); err == nil {
			return d, true
		}
	}
	return sha1.Sum([]byte(s)), false
}

// String writes SHA-1 in base32, as most logs do, and MD5 in hex.
func (d digest) String() string {
	if string(d[16:]) == md5Mark {
		return hex.EncodeToString(d[:16])
	}
	return base32.StdEncoding.EncodeToString(d[:])
}

// digests numbers distinct digests, 20 bytes and a slot each.
type digests struct {
	index slots
	all   pages[digest]
	texts map[uint32]string // of those that are not exact
}

func newDigests() digests {
	return digests{index: slots{seed: maphash.MakeSeed()}, texts: map[uint32]string{}}
}

func (t *digests) len() int { return t.all.n }

func (t *digests) hash(id uint32) uint64 { return maphash.Bytes(t.index.seed, t.all.at(id)[:]) }

// add returns the number of a digest, which is new or not.
func (t *digests) add(s string) (uint32, error) {
	d, exact := parseDigest(s)
	t.index.fit(t.len(), t.hash)
	slot := t.index.find(maphash.Bytes(t.index.seed, d[:]), func(id uint32) bool { return *t.all.at(id) == d })
	if known := t.index.at[slot]; known != 0 {
		return known - 1, nil
	}
	if t.len() >= math.MaxUint32-1 {
		return 0, fmt.Errorf("cannot keep another digest; got %d already; want fewer than 2^32", t.len())
	}
	id := uint32(t.len())
	t.all.add(d)
	t.index.at[slot] = id + 1
	if !exact {
		t.texts[id] = s
	}
	return id, nil
}

// kind distinguishes digests of different algorithms: the length of the text, and for SHA-1,
// which has two, 0.
func (t *digests) kind(id uint32) int {
	if s, ok := t.texts[id]; ok {
		return len(s)
	}
	if string(t.all.at(id)[16:]) == md5Mark {
		return 32
	}
	return 0
}

// text returns a digest as the log had it, but for the alphabet.
func (t *digests) text(id uint32) string {
	if s, ok := t.texts[id]; ok {
		return s
	}
	return t.all.at(id).String()
}

// digestOf removes the name of the algorithm, and refuses digests that are not of content.
func digestOf(s string) string {
	if _, after, ok := strings.Cut(s, ":"); ok {
		s = after
	}
	if s == "-" || s == EmptyBody {
		return ""
	}
	return s
}
