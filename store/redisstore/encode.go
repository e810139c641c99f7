package redisstore

import (
	"encoding/binary"
	"fmt"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Scripts take and give packed bytes: numbers big-endian, of as many bytes as
// the scripts unpack. So a batch of a thousand URLs is one argument, not five thousand.

func appendUint(dst []byte, n int, v uint64) []byte {
	for n--; n >= 0; n-- {
		dst = append(dst, byte(v>>(8*n)))
	}
	return dst
}

// appendLong appends a text after its length in 4 bytes.
func appendLong[T string | []byte](dst []byte, s T) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(s))), s...)
}

// appendShort appends a text after its length in 1 byte.
func appendShort(dst []byte, s string) []byte { return append(append(dst, byte(len(s))), s...) }

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// reader reads the reply of a script. Past the end it reads nothing, and err reports that.
type reader struct{ left string }

const overrun = "\xffoverrun"

func (r *reader) bytes(n int) string {
	if n < 0 || n > len(r.left) || r.left == overrun {
		r.left = overrun
		return ""
	}
	s := r.left[:n]
	r.left = r.left[n:]
	return s
}

func (r *reader) uint(n int) (v uint64) {
	for _, b := range []byte(r.bytes(n)) {
		v = v<<8 | uint64(b)
	}
	return v
}

func (r *reader) short() string { return r.bytes(int(r.uint(1))) }
func (r *reader) long() string  { return r.bytes(int(r.uint(4))) }
func (r *reader) more() bool    { return r.left != "" && r.left != overrun }

func (r *reader) key() (k store.Key) {
	copy(k[:], r.bytes(len(k)))
	return k
}

func (r *reader) hash() (h queueHash) {
	copy(h[:], r.bytes(len(h)))
	return h
}

func (r *reader) err() error {
	if r.left == overrun {
		return fmt.Errorf("cannot read the result of a script: %w", store.ErrCorrupt)
	}
	return nil
}

// Bits of how an entry ends up, beside its outcome: 0 queued, 1 completed, 2 dropped.
const (
	howAfter  = 4   // due counts from the step on
	howKept   = 8   // the text of what has ended is kept
	howChange = 16  // a change of the queue follows
	howOther  = 32  // it is another spelling of a marked key
	howCounts = 64  // it counts as fetched, or failed if it is dropped
	howEnded  = 128 // only if it ended before the time that follows
)

// howAt is the offset of these bits in an entry.
const howAt = 16 + 6 + 1 + 6 + 6

// entryRoom is more than most entries need.
const entryRoom = 192

// appendItem appends a URL in the form that the outbox and its queue take.
func appendItem(dst []byte, it *store.Item, h queueHash) []byte {
	return appendEntry(dst, it, h, sched.MsOr(it.Due, 0), 0)
}

// appendEntry appends a URL that is due, or was completed or dropped, at due; 0 is the time of the step.
func appendEntry(dst []byte, it *store.Item, h queueHash, due int64, how byte) []byte {
	dst = append(append(append(dst, it.Key[:]...), h[:]...), it.Priority)
	dst = append(appendUint(appendUint(dst, 6, uint64(due)), 6, 0), how)
	return append(appendLong(appendShort(dst, it.Queue), it.Meta), it.URL...)
}

func setCreated(entry []byte, created uint64) { appendUint(entry[:16+6+1+6], 6, created) }
