package redisstore

import (
	"encoding/binary"
	"fmt"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Scripts take and give packed bytes: numbers big-endian, of as many bytes as
// FORMAT.md says. A batch of a thousand URLs is one argument so, not five thousand.

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

// Bits of how an entry ends up; see FORMAT.md.
const (
	howAfter  = 4  // due counts from the step on
	howKept   = 8  // the text of what has ended is kept
	howChange = 16 // a change of the queue follows
)

// entryRoom is more than most entries need.
const entryRoom = 192

// appendItem appends a URL as the outbox and its queue take it; see FORMAT.md.
func appendItem(dst []byte, it *store.Item, h queueHash) []byte {
	return appendEntry(dst, it, h, sched.MsOr(it.Due, 0), 0)
}

func appendEntry(dst []byte, it *store.Item, h queueHash, due int64, how byte) []byte {
	dst = append(append(append(dst, it.Key[:]...), h[:]...), it.Priority)
	dst = append(appendUint(appendUint(dst, 6, uint64(due)), 6, 0), how)
	return append(appendLong(appendShort(dst, it.Queue), it.Meta), it.URL...)
}

func setCreated(entry []byte, created uint64) { appendUint(entry[:16+6+1+6], 6, created) }

// entryOf returns the entry of a URL that a settlement makes.
func (s *Store) entryOf(st *store.Settlement) []byte {
	_, h := s.layout.ofQueue(st.Queue)
	due, after := dueOf(st)
	how := map[store.Outcome]byte{store.Requeue: 0, store.Complete: 1, store.Drop: 2}[st.Outcome] |
		howAfter*after | howKept*flag(s.opt.KeepURLs) | howChange*flag(st.QueueChange != nil)
	dst := appendEntry(nil, &store.Item{Key: st.Key, Queue: st.Queue, Priority: priorityOf(st), Meta: st.Meta, URL: st.URL}, h, due, how)
	if st.QueueChange != nil {
		dst = appendChange(dst, st.QueueChange)
	}
	return dst
}

// dueOf returns when a settled URL is due, and 1 if that counts from the step on.
func dueOf(st *store.Settlement) (ms int64, after byte) {
	if st.After > 0 {
		return sched.DurMs(st.After), 1
	}
	return sched.MsOr(st.Due, 0), 0
}

func priorityOf(st *store.Settlement) uint8 {
	if st.Priority == nil {
		return 0
	}
	return *st.Priority
}

func appendSettlement(dst []byte, st *store.Settlement) []byte {
	due, after := dueOf(st)
	flags := uint64(0)
	for i, set := range []bool{st.Create, st.ResetAttempts, st.URL != "", st.Meta != nil, st.Priority != nil, st.QueueChange != nil, after == 1} {
		flags |= uint64(flag(set)) << i
	}
	dst = appendUint(append(dst, st.Key[:]...), 6, st.Token&tokenMask)
	dst = append(appendUint(dst, 2, flags), byte(st.Outcome))
	dst = append(appendUint(dst, 6, uint64(due)), priorityOf(st))
	if st.QueueChange != nil {
		dst = appendChange(dst, st.QueueChange)
	}
	return append(appendLong(dst, st.Meta), st.URL...)
}

// maxInt is the largest number that scripts keep exactly.
const maxInt = 1<<53 - 1

// appendChange appends a change of a queue: mask 1 | delay 8 | in flight 8 |
// blocked until 6 | limit 8 | weight 1 | paused 1 | not before 6. Bit 7 of the mask is
// Later.
func appendChange(dst []byte, c *store.QueueChange) []byte {
	mask := len(dst)
	dst = append(dst, flag(c.Later)<<7)
	put := func(bit, width int, set bool, v func() int64) {
		n := uint64(0)
		if set {
			dst[mask] |= 1 << bit
			n = uint64(v())
		}
		dst = appendUint(dst, width, n)
	}
	put(0, 8, c.Delay != nil, func() int64 { return sched.DurMs(*c.Delay) })
	put(1, 8, c.MaxInFlight != nil, func() int64 { return int64(*c.MaxInFlight) })
	put(2, 6, c.BlockedUntil != nil, func() int64 { return sched.Ms(*c.BlockedUntil) })
	put(3, 8, c.Limit != nil, func() int64 { return min(*c.Limit, maxInt) })
	put(4, 1, c.Weight != nil, func() int64 { return int64(*c.Weight) })
	put(5, 1, c.Paused != nil, func() int64 { return int64(flag(*c.Paused)) })
	put(6, 6, c.NotBefore != nil, func() int64 { return sched.Ms(*c.NotBefore) })
	return dst
}
