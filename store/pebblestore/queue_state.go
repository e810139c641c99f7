package pebblestore

import (
	"encoding/binary"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// appendSettings appends settings, in 7 bytes when none is set.
func appendSettings(dst []byte, s *store.QueueSettings) []byte {
	dst = binary.AppendUvarint(dst, zigzag(sched.DurMs(s.Delay)))
	dst = binary.AppendUvarint(dst, zigzag(int64(s.MaxInFlight)))
	dst = binary.AppendUvarint(dst, uint64(sched.Ms(s.BlockedUntil)))
	dst = binary.AppendUvarint(dst, uint64(s.Limit))
	paused := byte(0)
	if s.Paused {
		paused = 1
	}
	return append(dst, s.Weight, paused)
}

func (r *rowReader) settings() store.QueueSettings {
	return store.QueueSettings{
		Delay:        time.Duration(r.zigzag()) * time.Millisecond,
		MaxInFlight:  int(r.zigzag()),
		BlockedUntil: sched.Time(int64(r.Uvarint())),
		Limit:        int64(r.Uvarint()),
		Weight:       r.Byte(),
		Paused:       r.Byte() != 0,
	}
}

// moreMark is set in the levels of a queue's row if further numbers follow.
const moreMark = 1 << 8

// appendQueue appends the value of a queue's row: number, how many journal rows
// are older, state, heads, and the settings if there are any.
func appendQueue(dst []byte, q *queue, age uint64) []byte {
	levels := uint64(q.Levels())
	if q.Dropped > 0 || q.NotBeforeAt > 0 {
		levels |= moreMark
	}
	for _, n := range [...]uint64{
		uint64(q.id), age, uint64(q.Queued), uint64(q.Completed), uint64(q.LastTake), uint64(q.LastDelay), uint64(q.NotBefore), levels,
	} {
		dst = binary.AppendUvarint(dst, n)
	}
	if levels&moreMark != 0 {
		dst = binary.AppendUvarint(dst, uint64(q.Dropped))
		dst = binary.AppendUvarint(dst, uint64(q.NotBeforeAt))
	}
	for p := range uint8(store.MaxPriority + 1) {
		if h := q.Head(p); h.Due != sched.Never {
			dst = binary.AppendUvarint(dst, uint64(h.Due))
			dst = binary.AppendUvarint(dst, h.Seq)
		}
	}
	if q.Settings != nil {
		dst = appendSettings(dst, q.Settings)
	}
	return dst
}

// parseQueue is the inverse. The queue has to be filed.
func parseQueue(c *crawl, name string, b []byte) (*queue, error) {
	r := newRowReader(b)
	id := uint32(r.Uvarint())
	r.Uvarint() // its age
	st := sched.State{
		Queued: int64(r.Uvarint()), Completed: int64(r.Uvarint()),
		LastTake: int64(r.Uvarint()), LastDelay: int64(r.Uvarint()), NotBefore: int64(r.Uvarint()),
	}
	levels := r.Uvarint()
	if levels&moreMark != 0 {
		st.Dropped, st.NotBeforeAt = int64(r.Uvarint()), int64(r.Uvarint())
	}
	r.counts(st.Queued, st.Completed, st.Dropped)
	q := newQueue(c, name, id, st)
	for p := range uint8(store.MaxPriority + 1) {
		if levels&(1<<p) != 0 {
			q.SetHead(p, sched.Head{Due: int64(r.Uvarint()), Seq: r.Uvarint()})
		}
	}
	if len(r.B) > 0 {
		q.Settings = new(r.settings())
	}
	return q, r.end("queue", b)
}

// appendCrawlQueues appends the value of a crawl's queue row.
func appendCrawlQueues(dst []byte, qs *crawlQueues) []byte {
	for _, n := range [...]uint64{
		uint64(qs.next), uint64(qs.Held), uint64(len(qs.Leases)), uint64(qs.Completed), uint64(qs.Queues), uint64(qs.Active),
	} {
		dst = binary.AppendUvarint(dst, n)
	}
	dst = appendSettings(dst, &qs.Settings)
	if qs.Dropped > 0 {
		dst = binary.AppendUvarint(dst, uint64(qs.Dropped))
	}
	return dst
}

func (qs *crawlQueues) parse(b []byte) error {
	r := newRowReader(b)
	qs.next = uint32(r.Uvarint())
	n := sched.Counts{Held: int64(r.Uvarint())}
	r.Uvarint() // leases
	n.Completed, n.Queues, n.Active = int64(r.Uvarint()), int64(r.Uvarint()), int64(r.Uvarint())
	qs.Settings = r.settings()
	if len(r.B) > 0 {
		n.Dropped = int64(r.Uvarint())
	}
	r.counts(n.Held, n.Completed, n.Queues, n.Active, n.Dropped)
	qs.Restore(n)
	return r.end("crawl's queues", b)
}

// appendScheduler appends the value of the store's queue row.
func appendScheduler(dst []byte, sc *scheduler) []byte {
	dst = binary.AppendUvarint(dst, sc.seq)
	dst = binary.AppendUvarint(dst, sc.token)
	dst = binary.AppendUvarint(dst, sc.journal.next)
	return appendSettings(dst, &sc.Defaults)
}

func (sc *scheduler) parse(b []byte) error {
	r := newRowReader(b)
	sc.seq, sc.token, sc.journal.next, sc.Defaults = r.Uvarint(), r.Uvarint(), r.Uvarint(), r.settings()
	return r.end("scheduler", b)
}
