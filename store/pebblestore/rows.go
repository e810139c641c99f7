package pebblestore

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/internal/zerocopy"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Every row of the database: its key, its value, and the inverse. FORMAT.md draws their keys, and how rows lead to others. The
// order here is that of FORMAT.md: keys, then queues.
//
// Writers append, and readers return store.ErrCorrupt for anything that writers do not write: Pebble compares checksums, but
// a block may have been swapped with another. Numbers used as lengths or indexes are bounded when they are read
// (rowReader.counts).

// The first byte of a row's key names its table.
const (
	tableMeta   = 'M' // M | name                     -> see below
	tableCrawl  = 'C' // C | crawl4                   -> name
	tableGen    = 'G' // G | gen4                     -> crawl4 | created8 | last8 | keys8 | low16
	tablePacked = 'P' // P | gen4 | number8           -> keys
	tableRun    = 'R' // R | gen4 | file16            -> place in the file
	tableTomb   = 'T' // T | gen4 | key16             -> nothing
	tablePlace  = 'S' // S | crawl4 | key16           -> where a URL is queued
)

// rowBound is the key after all rows of a table.
func rowBound(table byte) []byte { return []byte{table + 1} }

// appendNumbered appends a table byte and a number: the key of a crawl or
// generation row, and the prefix of all rows of one.
func appendNumbered(dst []byte, table byte, n uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, table), n)
}

// keyRowLen is the length of the key of a row that a number and a key lead to.
const keyRowLen = 1 + 4 + keyLen

// appendKeyRow appends the key of a row of a number and a key.
func appendKeyRow(dst []byte, table byte, num uint32, k *store.Key) []byte {
	return append(appendNumbered(dst, table, num), k[:]...)
}

// afterNumbered is the first key after all rows of number n in a table.
func afterNumbered(table byte, n uint32) []byte {
	if n == 1<<32-1 {
		return rowBound(table)
	}
	return appendNumbered(nil, table, n+1)
}

// formatVersion is the version of the rows that this package writes and reads. [Upgrade] copies a
// store of an earlier one.
const formatVersion = 4

// Names of the meta rows.
const (
	metaFormat   = 1 // version4
	metaIdentity = 2 // profile | version | key kind | Unicode version
	metaFlags    = 3 // flags1
	metaSecret   = 4 // 48 random bytes, see package seenindex
	metaNext     = 5 // next crawl4 | next generation4
	metaWallTime = 7 // time8, see expire.go
)

// flagUnicodeHosts means that keys of internationalised hosts were recorded.
const flagUnicodeHosts = 1

// secretLen is the length of the secret that fingerprints are mixed with.
const secretLen = 48

func metaKey(name byte) []byte { return []byte{tableMeta, name} }

func appendNext(dst []byte, crawl, gen uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(dst, crawl), gen)
}

// generationLen is the length of the value of a generation row without low.
const generationLen = 4 + 8 + 8 + 8

// appendGeneration appends the value of the row of g.
func appendGeneration(dst []byte, crawl uint32, g *generation) []byte {
	dst = binary.BigEndian.AppendUint32(dst, crawl)
	dst = binary.BigEndian.AppendUint64(dst, uint64(g.created.UnixNano()))
	dst = binary.BigEndian.AppendUint64(dst, uint64(g.last.UnixNano()))
	dst = binary.BigEndian.AppendUint64(dst, uint64(g.keys))
	if g.low != nil {
		dst = append(dst, g.low[:]...)
	}
	return dst
}

// parseGeneration is the inverse of appendGeneration, for a row and its key.
func parseGeneration(key, value []byte) (crawl uint32, g *generation, err error) {
	if len(key) != 5 || len(value) != generationLen && len(value) != generationLen+keyLen {
		return 0, nil, fmt.Errorf("cannot read generation row %x; got %d bytes; want %d: %w", key, len(value), generationLen, store.ErrCorrupt)
	}
	nano := func(b []byte) time.Time { return time.Unix(0, int64(binary.BigEndian.Uint64(b))) }
	g = &generation{
		num:     binary.BigEndian.Uint32(key[1:]),
		created: nano(value[4:]),
		last:    nano(value[12:]),
		keys:    int64(binary.BigEndian.Uint64(value[20:])),
	}
	if g.keys < 0 || g.keys > mostCount {
		return 0, nil, fmt.Errorf("cannot read generation row %x; got %d keys: %w", key, g.keys, store.ErrCorrupt)
	}
	if len(value) > generationLen {
		g.low = new(store.Key(value[generationLen:]))
	}
	return binary.BigEndian.Uint32(value), g, nil
}

const keyLen = len(store.Key{})

func appendPackedRow(dst []byte, gen uint32, num uint64) []byte {
	return binary.BigEndian.AppendUint64(appendNumbered(dst, tablePacked, gen), num)
}

// parsePackedRow returns the generation, the number and the keys of a packed row.
func parsePackedRow(key, value []byte) (gen uint32, num uint64, keys []byte, err error) {
	if len(key) != 1+4+8 || len(value) == 0 || len(value)%keyLen != 0 {
		return 0, 0, nil, fmt.Errorf("cannot read packed row %x; got %d bytes: %w", key, len(value), store.ErrCorrupt)
	}
	return binary.BigEndian.Uint32(key[1:]), binary.BigEndian.Uint64(key[5:]), value, nil
}

func appendRunRow(dst []byte, gen uint32, id runfile.ID) []byte {
	return append(appendNumbered(dst, tableRun, gen), id[:]...)
}

func appendPlace(dst []byte, p runfile.Place) []byte {
	dst = binary.AppendUvarint(dst, uint64(p.Offset))
	dst = binary.AppendUvarint(dst, uint64(p.Keys))
	return binary.AppendUvarint(dst, uint64(p.Buckets))
}

func parseRunRow(key, value []byte) (gen uint32, id runfile.ID, p runfile.Place, err error) {
	if len(key) != 1+4+len(id) {
		return 0, id, p, fmt.Errorf("cannot read run row %x: %w", key, store.ErrCorrupt)
	}
	r := newRowReader(value)
	p = runfile.Place{Offset: int64(r.Uvarint()), Keys: int64(r.Uvarint()), Buckets: int64(r.Uvarint())}
	return binary.BigEndian.Uint32(key[1:]), runfile.ID(key[5:]), p, r.end("run row", value)
}

// The tables of the queue side.
const (
	tableOrder       = 'Q' // Q | crawl4 | queue4 | 7-priority | due6 | seq6 -> record
	tableLease       = 'L' // L | token8 -> crawl | queue | until | place | record
	tableQueue       = 'H' // H | crawl4 | name -> number, state and settings
	tableName        = 'N' // N | crawl4 | queue4 -> name
	tableDone        = 'D' // D | crawl4 | queue4 | key16 -> state and place | record
	tableMark        = 'V' // V | crawl4 | number8 -> key16 | spelling4
	tableRetired     = 'F' // F | crawl4 | queue4 -> name
	tableJournal     = 'J' // J | number8 -> states of queues
	tableCrawlQueues = 'K' // K | crawl4 -> counts and settings; K -> numbers and defaults
	tablePlaces      = 'W' // W | number8 -> places of URLs
)

func appendQueueRow(dst []byte, crawl uint32, name string) []byte {
	return append(appendNumbered(dst, tableQueue, crawl), name...)
}

// appendOfQueue appends the key of a row of a queue, or the prefix of its rows' keys in a table.
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

func appendMarkRow(dst []byte, crawl uint32, num uint64) []byte {
	return binary.BigEndian.AppendUint64(appendNumbered(dst, tableMark, crawl), num)
}

// parseMark returns the key, the spelling and the number of a mark.
func parseMark(key, value []byte) (m sched.Mark, err error) {
	if len(key) != 1+4+8 || len(value) != keyLen+4 {
		return m, fmt.Errorf("cannot read mark row %x; got %d bytes: %w", key, len(value), store.ErrCorrupt)
	}
	return sched.Mark{Key: store.Key(value), Spelling: binary.BigEndian.Uint32(value[keyLen:]), Num: binary.BigEndian.Uint64(key[5:])}, nil
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

// pointer is where a URL was queued. It stays when the URL is taken from there. If it leads to
// no row, the key is only seen.
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

// Flags in the number of attempts mark fields that few records have, and none of format 3.
const (
	mostAttempts  = 1<<30 - 1
	hasEarlier    = 1 << 30 // tokens follow: how many, the first, and the differences
	respelledMark = 1 << 31
)

// appendRecord appends the value of a queued URL, whose place is in the key.
func appendRecord(dst []byte, r *sched.Record) []byte {
	dst = append(dst, r.Key[:]...)
	dst = binary.AppendUvarint(dst, zigzag(r.Due-r.Created))
	attempts := uint64(min(r.Attempts, mostAttempts))
	if len(r.Earlier) > 0 {
		attempts |= hasEarlier
	}
	if r.Respelled {
		attempts |= respelledMark
	}
	dst = binary.AppendUvarint(dst, attempts)
	if len(r.Earlier) > 0 {
		dst = append(dst, byte(len(r.Earlier)))
		last := uint64(0)
		for _, token := range r.Earlier {
			dst = binary.AppendUvarint(dst, token-last)
			last = token
		}
	}
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
	attempts := r.Uvarint()
	rec.Attempts, rec.Respelled = uint32(attempts&mostAttempts), attempts&respelledMark != 0
	r.Bad = r.Bad || attempts > mostAttempts|hasEarlier|respelledMark
	if attempts&hasEarlier != 0 {
		rec.Earlier = r.tokens()
	}
	if n := r.Uvarint(); n > 0 {
		rec.Meta = append([]byte(nil), r.Take(int(min(n, 1<<31)))...)
	}
	rec.URL = string(r.B)
	r.B = nil
	return rec, r.end("record", b)
}

// tokens reads the earlier tokens of a record.
func (r *rowReader) tokens() []uint64 {
	n := int(r.Byte())
	if r.Bad = r.Bad || n == 0 || n > sched.EarlierTokens; r.Bad {
		return nil
	}
	list, last := make([]uint64, n), uint64(0)
	for i := range list {
		step := r.Uvarint()
		r.Bad = r.Bad || step == 0 || last+step < last
		last += step
		list[i] = last
	}
	return list
}

// recordAt reads a queued URL.
func recordAt(key, value []byte) (sched.Record, error) {
	priority, at, err := orderPlace(key)
	if err != nil {
		return sched.Record{}, err
	}
	return parseRecord(value, priority, at)
}

// keyOf reads the key of a URL that is queued or has ended.
func keyOf(key, value []byte) (k store.Key, err error) {
	if key[0] == tableDone {
		value = key[min(len(key), 9):]
	}
	if copy(k[:], value) < len(k) {
		err = fmt.Errorf("cannot read the key of row %x: %w", key, store.ErrCorrupt)
	}
	return k, err
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

// appendDone appends the value of a URL that was completed or dropped. The time of its end takes the place of the due time.
func appendDone(dst []byte, r *sched.Record, state store.State) []byte {
	at, rec := len(dst), *r
	rec.Due = r.Ended
	dst = appendPlaced(dst, &rec)
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
	rec.Due, rec.Ended = 0, cmp.Or(rec.Due, rec.Created) // in a row of format 3 the time is 0
	return rec, state, err
}

// Marks of a lease, in place of the priority of its record.
const (
	givenMark     = 0x80 // its length comes first
	overtakenMark = 0x81 // its length and its key are all that follows
	clientMark    = 0x82 // its length and its client come first
)

// appendLease appends the value of a lease.
func appendLease(dst []byte, l *sched.Lease) []byte {
	q := queueOf(l.Queue)
	dst = binary.AppendUvarint(dst, uint64(q.crawl().num))
	dst = binary.AppendUvarint(dst, uint64(q.id))
	dst = binary.AppendUvarint(dst, uint64(l.Until))
	if l.Over() {
		dst = binary.AppendUvarint(append(dst, overtakenMark), uint64(max(0, l.Until-l.Given)))
		return append(dst, l.Key[:]...)
	}
	if l.Client != "" {
		dst = binary.AppendUvarint(append(dst, clientMark), uint64(max(0, l.Until-l.Given)))
		dst = zerocopy.AppendText(dst, l.Client)
	} else if l.Given > 0 && l.Given <= l.Until {
		dst = binary.AppendUvarint(append(dst, givenMark), uint64(l.Until-l.Given))
	}
	return appendPlaced(dst, &l.Record)
}

// leaseRow is a stored lease.
type leaseRow struct {
	crawl, queue uint32
	given, until int64
	token        uint64
	client       string
	rec          sched.Record
	over         bool // it was overtaken: the record has its key alone
}

func parseLease(key, b []byte) (l leaseRow, err error) {
	if len(key) != 9 {
		return l, fmt.Errorf("cannot read lease row %x: %w", key, store.ErrCorrupt)
	}
	r := newRowReader(b)
	l = leaseRow{crawl: uint32(r.Uvarint()), queue: uint32(r.Uvarint()), until: int64(r.Uvarint()), token: binary.BigEndian.Uint64(key[1:])}
	if len(r.B) > 0 && r.B[0] >= givenMark {
		mark := r.Byte()
		l.given, l.over = l.until-int64(r.Uvarint()), mark == overtakenMark
		if mark == clientMark {
			l.client = r.Text()
		}
		r.Bad = r.Bad || mark > clientMark
	}
	if l.over {
		copy(l.rec.Key[:], r.Take(keyLen))
	}
	if r.Bad || l.over {
		return l, r.end("lease", b)
	}
	l.rec, err = parsePlaced(r.B)
	return l, err
}

// rowReader reads the value of a row.
type rowReader struct{ zerocopy.Reader }

func newRowReader(b []byte) rowReader { return rowReader{zerocopy.Reader{B: b}} }

func (r *rowReader) zigzag() int64 { return unzigzag(r.Uvarint()) }

// mostCount is more than any count can be.
const mostCount = 1 << 48

// counts rejects impossible counts, which would become lengths and indexes.
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

// appendSettings appends settings except the group, in 7 bytes when none is set.
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

// Marks in the levels of a queue's row: further numbers follow. Most queues have fetched what they completed, and none failed.
const (
	moreMark  = 1 << 8
	pagesMark = 1 << 9
)

// appendQueue appends the value of a queue's row: number, how many journal rows
// are older, state, heads, and the settings if there are any; the name of the group is the rest.
func appendQueue(dst []byte, q *queue, age uint64) []byte {
	levels := uint64(q.Levels())
	if q.Dropped > 0 || q.NotBeforeAt > 0 {
		levels |= moreMark
	}
	if q.Fetched != q.Completed || q.Failed > 0 {
		levels |= pagesMark
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
	if levels&pagesMark != 0 {
		dst = binary.AppendUvarint(dst, uint64(q.Fetched))
		dst = binary.AppendUvarint(dst, uint64(q.Failed))
	}
	for p := range uint8(store.MaxPriority + 1) {
		if h := q.Head(p); h.Due != sched.Never {
			dst = binary.AppendUvarint(dst, uint64(h.Due))
			dst = binary.AppendUvarint(dst, h.Seq)
		}
	}
	if s := q.Settings(); s != nil {
		dst = append(appendSettings(dst, s), s.Group...)
	}
	return dst
}

// parseQueue is the inverse. The queue has to be filed.
func parseQueue(c *crawl, name string, b []byte) (*queue, error) {
	r := newRowReader(b)
	id := uint32(r.Uvarint())
	r.Uvarint() // its age
	queued := int64(r.Uvarint())
	st := sched.Past{
		Completed: int64(r.Uvarint()),
		LastTake:  int64(r.Uvarint()), LastDelay: int64(r.Uvarint()), NotBefore: int64(r.Uvarint()),
	}
	levels := r.Uvarint()
	if levels&moreMark != 0 {
		st.Dropped, st.NotBeforeAt = int64(r.Uvarint()), int64(r.Uvarint())
	}
	if st.Fetched = st.Completed; levels&pagesMark != 0 {
		st.Fetched, st.Failed = int64(r.Uvarint()), int64(r.Uvarint())
	}
	r.counts(queued, st.Completed, st.Dropped, st.Fetched, st.Failed)
	q := newQueue(c, name, id, queued)
	q.SetPast(st)
	for p := range uint8(store.MaxPriority + 1) {
		if levels&(1<<p) != 0 {
			q.SetHead(p, sched.Head{Due: int64(r.Uvarint()), Seq: r.Uvarint()})
		}
	}
	if len(r.B) > 0 {
		set := r.settings()
		set.Group, r.B = string(r.B), nil
		q.SetSettings(&set)
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
	dst = appendSettings(dst, &qs.Settings.QueueSettings)
	for _, n := range [...]int64{qs.Dropped, qs.Fetched, qs.Failed} {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	return appendOfCrawl(dst, &qs.Settings)
}

// appendOfCrawl appends the settings that a crawl has and a queue has not.
func appendOfCrawl(dst []byte, s *store.CrawlSettings) []byte {
	dst = binary.AppendUvarint(dst, uint64(s.QueueLimit))
	return binary.AppendUvarint(dst, uint64(s.Retention.Milliseconds()))
}

// ofCrawl reads what appendOfCrawl wrote. In rows of format 3 nothing follows, and the limit is that of each queue.
func (r *rowReader) ofCrawl(s store.QueueSettings) store.CrawlSettings {
	if len(r.B) == 0 {
		limit := s.Limit
		s.Limit = 0
		return store.CrawlSettings{QueueSettings: s, QueueLimit: limit}
	}
	return store.CrawlSettings{QueueSettings: s, QueueLimit: int64(r.Uvarint()), Retention: time.Duration(r.Uvarint()) * time.Millisecond}
}

func (qs *crawlQueues) parse(b []byte) error {
	r := newRowReader(b)
	qs.next = uint32(r.Uvarint())
	n := sched.Counts{Held: int64(r.Uvarint())}
	r.Uvarint() // leases
	n.Completed, n.Queues, n.Active = int64(r.Uvarint()), int64(r.Uvarint()), int64(r.Uvarint())
	set := r.settings()
	if len(r.B) > 0 {
		n.Dropped = int64(r.Uvarint())
	}
	if n.Fetched = n.Completed; len(r.B) > 0 {
		n.Fetched, n.Failed = int64(r.Uvarint()), int64(r.Uvarint())
	}
	qs.Settings = r.ofCrawl(set)
	r.counts(n.Held, n.Completed, n.Queues, n.Active, n.Dropped, n.Fetched, n.Failed)
	qs.Restore(n)
	return r.end("crawl's queues", b)
}

// appendScheduler appends the value of the store's queue row.
func appendScheduler(dst []byte, sc *scheduler) []byte {
	dst = binary.AppendUvarint(dst, sc.seq)
	dst = binary.AppendUvarint(dst, sc.token)
	dst = binary.AppendUvarint(dst, sc.journal.next)
	return appendOfCrawl(appendSettings(dst, &sc.Defaults.QueueSettings), &sc.Defaults)
}

func (sc *scheduler) parse(b []byte) error {
	r := newRowReader(b)
	sc.seq, sc.token, sc.journal.next = r.Uvarint(), r.Uvarint(), r.Uvarint()
	sc.Defaults = r.ofCrawl(r.settings())
	return r.end("scheduler", b)
}

// eachPlace calls f for each place of a row.
func eachPlace(row []byte, f func(at placeKey, p pointer)) error {
	r := newRowReader(row)
	for len(r.B) > 0 {
		at := placeKey{crawl: uint32(r.Uvarint())}
		copy(at.key[:], r.Take(keyLen))
		p := r.pointer()
		if r.Bad {
			break
		}
		f(at, p)
	}
	return r.end("row of places", row)
}

// eachState calls f for each state in a journal row, with the key of its queue's row, which
// is valid during the call.
func eachState(row []byte, f func(key, value []byte)) error {
	r := newRowReader(row)
	var key []byte
	for len(r.B) > 0 {
		key = appendNumbered(key[:0], tableQueue, uint32(r.Uvarint()))
		key = append(key, r.Text()...)
		value := r.Take(int(r.Byte())<<8 | int(r.Byte()))
		if !r.Bad {
			f(key, value)
		}
	}
	return r.end("journal row", row)
}

// # Reading rows

// scan calls f for the rows of a table in order; key and value are valid
// during the call.
func (s *Store) scan(lo, hi []byte, f func(key, value []byte) error) error {
	return scanRows(s.db, lo, hi, f)
}

func scanRows(rows pebble.Reader, lo, hi []byte, f func(key, value []byte) error) (err error) {
	it, err := rows.NewIter(bounds(lo, hi))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if err := f(it.Key(), v); err != nil {
			return err
		}
	}
	return it.Error()
}

// rowGetter reads single rows.
type rowGetter interface {
	Get(key []byte) ([]byte, io.Closer, error)
}

// readRow calls parse for a row if there is one.
func readRow(rows rowGetter, key []byte, parse func(row []byte) error) error {
	row, closer, err := rows.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(parse(row), closer.Close())
}
