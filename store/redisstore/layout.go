package redisstore

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"strconv"

	"github.com/firstseen/firstseen/store"
)

// layout maps keys and queues to their home shards.
type layout struct {
	shards   uint64
	secret   []byte   // of the store: the key of the hashes of queues
	together bool     // the queues of a crawl share a shard
	mark     string   // of the store, in each shard
	bases    []string // prefix and hash tag of each shard's keys
	meta     string   // and of the store's own keys
}

const slots = 16384

// newLayout assigns each shard a tag whose slot is in the shard's share of the
// slots, in order: so slots dealt out in ranges deal out the shards evenly.
func newLayout(prefix string, shards int) *layout {
	l := &layout{shards: uint64(shards), bases: make([]string, shards), meta: prefix + "{meta}"}
	for left, n := shards, 0; left > 0; n++ {
		tag := strconv.Itoa(n)
		share := int(crc16(tag)%slots) * shards / slots
		if l.bases[share] == "" {
			l.bases[share] = prefix + "{" + tag + "}"
			left--
		}
	}
	return l
}

// storeShard stands for the home of the store's own keys.
const storeShard = -1

// name returns the prefix and hash tag of a shard's keys: with it, redis-cli finds the node.
func (l *layout) name(shard int) string {
	if shard == storeShard {
		return l.meta
	}
	return l.bases[shard]
}

// sentinel is the key of a shard that never exists; see lua/head.lua.
func (l *layout) sentinel(shard int) string { return l.name(shard) + "!" }

// ofKey returns the home of a key and its place there: its position among the
// shard's keys, 32 bits, in reverse order of bits. Shards hold ranges of keys, in
// order.
func (l *layout) ofKey(k *store.Key) (shard int, place uint32) {
	x := (binary.BigEndian.Uint64(k[:8]) >> 24) * l.shards // 40 bits of the key
	return int(x >> 40), bits.Reverse32(uint32(x >> 8))
}

// queueHash is how seen keys refer to a queue.
type queueHash [6]byte

// ofQueue returns the home of a queue and its hash, which is keyed: clients cannot choose names that share a home
// or a hash. Two queues that share a hash by chance are distinguished by their names at their home. Where the queues of a crawl share a
// shard, the bits that name it are those of the crawl's name, and the others those of the queue's.
func (l *layout) ofQueue(crawl, name string) (shard int, h queueHash) {
	h = l.hash(name)
	if l.together {
		of, own := l.hash(crawl), uint32(1<<32/l.shards-1)
		top := binary.BigEndian.Uint32(of[:])&^own | binary.BigEndian.Uint32(h[:])&own
		binary.BigEndian.PutUint32(h[:], top)
	}
	return l.ofHash(h), h
}

func (l *layout) hash(name string) (h queueHash) {
	sum := sha256.Sum256(append(append(make([]byte, 0, 64), l.secret...), name...))
	copy(h[:], sum[:])
	return h
}

func (l *layout) ofHash(h queueHash) int {
	x := uint64(binary.BigEndian.Uint32(h[:4]))
	return int(x * l.shards >> 32)
}

// crc16 is the CRC that Redis Cluster takes hash slots from: polynomial 0x1021,
// begun with 0 (the cluster specification calls it XMODEM).
func crc16(s string) uint16 {
	var crc uint16
	for i := range len(s) {
		crc ^= uint16(s[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}
