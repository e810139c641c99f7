package pebblestore

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/firstseen/firstseen/internal/fields"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// The tables of the queue side. FORMAT.md draws the rows.
const (
	tableOrder       = 'Q' // Q | crawl4 | queue4 | 7-priority | due6 | seq6 -> record
	tableLease       = 'L' // L | token8 -> crawl | queue | until | place | record
	tableQueue       = 'H' // H | crawl4 | name -> number, state and settings
	tableName        = 'N' // N | crawl4 | queue4 -> name
	tableDone        = 'D' // D | crawl4 | queue4 | key16 -> state and place | record
	tableRetired     = 'F' // F | crawl4 | queue4 -> name
	tableJournal     = 'J' // J | number8 -> states of queues
	tableCrawlQueues = 'K' // K | crawl4 -> counts and settings; K -> numbers and defaults
	tablePlaces      = 'W' // W | number8 -> places of URLs
)

func appendQueueRow(dst []byte, crawl uint32, name string) []byte {
	return append(appendNumbered(dst, tableQueue, crawl), name...)
}

// appendOfQueue appends the key of a row of a queue, or what the keys of its rows in a table begin with.
func appendOfQueue(dst []byte, table byte, crawl, queue uint32) []byte {
	return binary.BigEndian.AppendUint32(appendNumbered(dst, table, crawl), queue)
}

// queueBounds returns the bounds of the rows of a queue in a table.
func queueBounds(table byte, crawl, queue uint32) (lo, hi []byte) {
	return appendOfQueue(nil, table, crawl, queue), appendOfQueue(nil, table, crawl, queue+1)
}

// queueNumber returns the number of the queue in the key of a row that has it after the
// crawl's.
func queueNumber(key []byte) uint32 { return binary.BigEndian.Uint32(key[5:]) }

// appendLongRow appends the key of a lease, or of a row of a journal: of queues or of places. The
// numbers of a journal's rows ascend by one.
func appendLongRow(dst []byte, table byte, num uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, table), num)
}

func appendDoneRow(dst []byte, crawl, queue uint32, k *store.Key) []byte {
	return append(appendOfQueue(dst, tableDone, crawl, queue), k[:]...)
}

// orderRowLen is the length of the key of a queued URL.
const orderRowLen = 1 + 4 + 4 + 1 + 6 + 6

// appendOrderRow appends the key of a queued URL.
func appendOrderRow(dst []byte, crawl, queue uint32, priority uint8, at sched.Head) []byte {
	dst = append(appendOfQueue(dst, tableOrder, crawl, queue), store.MaxPriority-priority)
	return appendUint48(appendUint48(dst, uint64(at.Due)), at.Seq)
}

// appendLevelEnd appends the key after all URLs of one priority.
func appendLevelEnd(dst []byte, crawl, queue uint32, priority uint8) []byte {
	return append(appendOfQueue(dst, tableOrder, crawl, queue), store.MaxPriority-priority+1)
}

func appendUint48(dst []byte, n uint64) []byte {
	return append(dst, byte(n>>40), byte(n>>32), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

func uint48(b []byte) uint64 {
	return uint64(b[0])<<40 | uint64(b[1])<<32 | uint64(b[2])<<24 | uint64(b[3])<<16 | uint64(b[4])<<8 | uint64(b[5])
}

// orderPlace returns the place that the key of a queued URL has.
func orderPlace(key []byte) (priority uint8, at sched.Head, err error) {
	if len(key) != orderRowLen || key[9] > store.MaxPriority {
		return 0, at, fmt.Errorf("cannot read queue row %x: %w", key, store.ErrCorrupt)
	}
	return store.MaxPriority - key[9], sched.Head{Due: int64(uint48(key[10:])), Seq: uint48(key[16:])}, nil
}

// dueBase is subtracted from due times in places, which makes them shorter: the
// beginning of 2020.
const dueBase = 1_577_836_800_000

// pointer is where a URL was queued. It stays when the URL is taken from there. If no
// row is found by it, the key is seen and nothing more.
type pointer struct {
	queue    uint32
	priority uint8
	at       sched.Head // Seq 0: it never was in the queue
}

// compare orders pointers as the rows they point to, within a crawl.
func (p *pointer) compare(b *pointer) int {
	return cmp.Or(cmp.Compare(p.queue, b.queue), cmp.Compare(b.priority, p.priority),
		cmp.Compare(p.at.Due, b.at.Due), cmp.Compare(p.at.Seq, b.at.Seq))
}

// appendPointer appends a place: the value of its row.
func appendPointer(dst []byte, p pointer) []byte {
	dst = binary.AppendUvarint(dst, uint64(p.queue))
	dst = binary.AppendUvarint(dst, zigzag(p.at.Due-dueBase)<<3|uint64(p.priority))
	return binary.AppendUvarint(dst, p.at.Seq)
}

func parsePointer(b []byte) (pointer, error) {
	r := newRowReader(b)
	p := r.pointer()
	return p, r.end("place of a URL", b)
}

func (r *rowReader) pointer() pointer {
	p := pointer{queue: uint32(r.Uvarint())}
	due := r.Uvarint()
	p.priority, p.at.Due = uint8(due&7), unzigzag(due>>3)+dueBase
	p.at.Seq = r.Uvarint()
	return p
}

func zigzag(n int64) uint64 { return uint64(n<<1) ^ uint64(n>>63) }

func unzigzag(n uint64) int64 { return int64(n>>1) ^ -int64(n&1) }

// appendRecord appends the value of a queued URL, whose place is in the key.
func appendRecord(dst []byte, r *sched.Record) []byte {
	dst = append(dst, r.Key[:]...)
	dst = binary.AppendUvarint(dst, zigzag(r.Due-r.Created))
	dst = binary.AppendUvarint(dst, uint64(r.Attempts))
	dst = binary.AppendUvarint(dst, uint64(len(r.Meta)))
	dst = append(dst, r.Meta...)
	return append(dst, r.URL...)
}

// parseRecord is the inverse. The record has its own memory.
func parseRecord(b []byte, priority uint8, at sched.Head) (sched.Record, error) {
	rec := sched.Record{Due: at.Due, Seq: at.Seq, Priority: priority}
	r := newRowReader(b)
	copy(rec.Key[:], r.Take(len(rec.Key)))
	rec.Created = at.Due - unzigzag(r.Uvarint())
	rec.Attempts = uint32(r.Uvarint())
	if n := r.Uvarint(); n > 0 {
		rec.Meta = append([]byte(nil), r.Take(int(min(n, 1<<31)))...)
	}
	rec.URL = string(r.B)
	r.B = nil
	return rec, r.end("record", b)
}

// recordAt reads a queued URL.
func recordAt(key, value []byte) (sched.Record, error) {
	priority, at, err := orderPlace(key)
	if err != nil {
		return sched.Record{}, err
	}
	return parseRecord(value, priority, at)
}

// urlOf reads a URL that is queued or has ended.
func urlOf(key, value []byte) (sched.Record, store.State, error) {
	if key[0] == tableDone {
		return parseDone(value)
	}
	rec, err := recordAt(key, value)
	return rec, store.Queued, err
}

// appendPlaced appends a record with its place.
func appendPlaced(dst []byte, r *sched.Record) []byte {
	dst = append(dst, r.Priority)
	dst = binary.AppendUvarint(dst, uint64(r.Due))
	dst = binary.AppendUvarint(dst, r.Seq)
	return appendRecord(dst, r)
}

func parsePlaced(b []byte) (sched.Record, error) {
	r := newRowReader(b)
	priority := r.Byte()
	at := sched.Head{Due: int64(r.Uvarint()), Seq: r.Uvarint()}
	if r.Bad {
		return sched.Record{}, r.end("record", b)
	}
	return parseRecord(r.B, priority, at)
}

// droppedMark is set in the priority of a row of tableDone if the URL was dropped.
const droppedMark = 0x40

// appendDone appends the value of a URL that was completed or dropped.
func appendDone(dst []byte, r *sched.Record, state store.State) []byte {
	at := len(dst)
	dst = appendPlaced(dst, r)
	if state == store.Dropped {
		dst[at] |= droppedMark
	}
	return dst
}

func parseDone(b []byte) (sched.Record, store.State, error) {
	state := store.Done
	if len(b) > 0 && b[0]&droppedMark != 0 {
		state = store.Dropped
	}
	rec, err := parsePlaced(b)
	rec.Priority &^= droppedMark
	return rec, state, err
}

// givenMark is in place of the priority where the length of a lease comes first.
const givenMark = 0x80

// appendLease appends the value of a lease.
func appendLease(dst []byte, l *sched.Lease) []byte {
	q := queueOf(l.Queue)
	dst = binary.AppendUvarint(dst, uint64(q.c.num))
	dst = binary.AppendUvarint(dst, uint64(q.id))
	dst = binary.AppendUvarint(dst, uint64(l.Until))
	if l.Given > 0 && l.Given <= l.Until {
		dst = binary.AppendUvarint(append(dst, givenMark), uint64(l.Until-l.Given))
	}
	return appendPlaced(dst, &l.Record)
}

// leaseRow is a lease as it was kept.
type leaseRow struct {
	crawl, queue uint32
	given, until int64
	token        uint64
	rec          sched.Record
}

func parseLease(key, b []byte) (l leaseRow, err error) {
	if len(key) != 9 {
		return l, fmt.Errorf("cannot read lease row %x: %w", key, store.ErrCorrupt)
	}
	r := newRowReader(b)
	l = leaseRow{crawl: uint32(r.Uvarint()), queue: uint32(r.Uvarint()), until: int64(r.Uvarint()), token: binary.BigEndian.Uint64(key[1:])}
	if len(r.B) > 0 && r.B[0] == givenMark {
		r.Byte()
		l.given = l.until - int64(r.Uvarint())
	}
	if r.Bad {
		return l, r.end("lease", b)
	}
	l.rec, err = parsePlaced(r.B)
	return l, err
}

// rowReader reads the value of a row.
type rowReader struct{ fields.Reader }

func newRowReader(b []byte) rowReader { return rowReader{fields.Reader{B: b}} }

func (r *rowReader) zigzag() int64 { return unzigzag(r.Uvarint()) }

// mostCount is more than any count can be.
const mostCount = 1 << 48

// counts wants counts to be some that can be: they are lengths and indexes to come.
func (r *rowReader) counts(counts ...int64) {
	for _, n := range counts {
		r.Bad = r.Bad || n < 0 || n > mostCount
	}
}

// end returns an error unless all was read.
func (r *rowReader) end(what string, b []byte) error {
	if r.Bad || len(r.B) > 0 {
		return fmt.Errorf("cannot read %s; got %x: %w", what, b, store.ErrCorrupt)
	}
	return nil
}
