// Package crawlfile moves a whole crawl between stores, machines and backends in one file: its
// queued URLs with their data, the settings of its queues, and every key seen. [Export] writes the
// file, [Import] reads it.
//
// The order of the file makes it safe to stop an import and start it again. First come the
// settings, so that no queue is served too fast. Then come the queued URLs, which are added as
// new URLs; a URL that exists does not change. Then come all keys. If the keys came first,
// the queued URLs would count as known, and would never be fetched. So each step can be repeated,
// and a crawl that continues during the import is not affected.
//
// Of a URL the file has text, queue, data, due time and priority. Leased URLs are queued again,
// because their leases cannot be settled in another store. Of a queue it has the settings, and the
// time before which the delay since its last take allows no other, if that is to come. The file lacks the counts of
// attempts, the counts of completed and dropped URLs whose text is not kept, and the
// settings of a whole crawl or store.
//
// All numbers are big-endian:
//
//	+---------------+-------------------+---------------+-------+
//	| "firstseen.c1"| length 4, not zero| JSON of a row | CRC 4 |  any number of rows
//	+---------------+-------------------+---------------+-------+
//	| 0, 4 bytes    | rows in the file 8                | CRC 4 |
//	+---------------+-----------------------------------+-------+
//	| a key file, see package keyfile                           |
//	+-----------------------------------------------------------+
//
// A CRC is the CRC-32C of the bytes of its row before it; the 12 bytes "firstseen.c1" are no part of a row. A row is an
// object with one field: "identity" the first, the others "queue" or "url".
package crawlfile

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"time"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// Magic is what a file begins with.
const Magic = "firstseen.c1"

// maxRow bounds a row, in the file that is written and in the one that is read.
const maxRow = 1 << 30

// readAtOnce is how much memory is taken for a row before more of it was read: its length
// may be damaged.
const readAtOnce = 1 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// row is what a row holds: one of the three.
type row struct {
	Identity *store.Identity `json:"identity,omitempty"`
	Queue    *queueRow       `json:"queue,omitempty"`
	URL      *urlRow         `json:"url,omitempty"`
}

// queueRow is the settings of a queue. Names and texts are bytes since they need
// not be UTF-8.
type queueRow struct {
	Name         []byte        `json:"name"`
	Delay        time.Duration `json:"delay,omitempty"`
	MaxInFlight  int           `json:"max_in_flight,omitempty"`
	BlockedUntil time.Time     `json:"blocked_until,omitzero"`
	Limit        int64         `json:"limit,omitempty"`
	Weight       uint8         `json:"weight,omitempty"`
	Paused       bool          `json:"paused,omitempty"`
	// NotBefore is the earliest time of the next take by the delay since the last take, or as it
	// was set.
	NotBefore time.Time `json:"not_before,omitzero"`
}

// urlRow is a URL that waits or, with Done, one that was completed and whose text is
// kept. With Dropped as well it was not completed but dropped.
type urlRow struct {
	Key      []byte    `json:"key"`
	Queue    []byte    `json:"queue"`
	URL      []byte    `json:"url"`
	Meta     []byte    `json:"meta,omitempty"`
	Due      time.Time `json:"due,omitzero"`
	Priority uint8     `json:"priority,omitempty"`
	Done     bool      `json:"done,omitempty"`
	Dropped  bool      `json:"dropped,omitempty"`
}

func queueRowOf(q store.QueueInfo) *queueRow {
	s := q.QueueSettings
	return &queueRow{[]byte(q.Name), s.Delay, s.MaxInFlight, s.BlockedUntil, s.Limit, s.Weight, s.Paused, q.NotBefore}
}

// change is what makes a queue have these settings; none of them unsets one, or makes a block
// or a delay end earlier.
func (q *queueRow) change() (c store.QueueChange) {
	set(&c.Delay, q.Delay)
	set(&c.MaxInFlight, q.MaxInFlight)
	set(&c.BlockedUntil, q.BlockedUntil)
	set(&c.Limit, q.Limit)
	set(&c.Weight, q.Weight)
	set(&c.Paused, q.Paused)
	set(&c.NotBefore, q.NotBefore)
	c.Later = true
	return c
}

func set[T comparable](field **T, v T) {
	var zero T
	if v != zero {
		*field = &v
	}
}

func urlRowOf(e store.Entry) *urlRow {
	dropped := e.State == store.Dropped
	return &urlRow{e.Key[:], []byte(e.Queue), []byte(e.URL), e.Meta, e.Due, e.Priority, e.State == store.Done || dropped, dropped}
}

// writer writes rows.
type writer struct {
	w    io.Writer
	buf  []byte
	rows int64
}

func (w *writer) row(r row) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("cannot write crawl file: %w", err)
	}
	if len(text) > maxRow {
		return fault.As(store.ErrInvalid, "cannot write crawl file; got a row of %d bytes; want at most %d; forget its URL, or give it less data", len(text), maxRow)
	}
	w.rows++
	return w.framed(uint32(len(text)), text)
}

// end writes the row with the number of rows.
func (w *writer) end() error {
	return w.framed(0, binary.BigEndian.AppendUint64(nil, uint64(w.rows)))
}

func (w *writer) framed(length uint32, body []byte) error {
	w.buf = binary.BigEndian.AppendUint32(w.buf[:0], length)
	w.buf = append(w.buf, body...)
	w.buf = binary.BigEndian.AppendUint32(w.buf, crc32.Checksum(w.buf, castagnoli))
	if _, err := w.w.Write(w.buf); err != nil {
		return fmt.Errorf("cannot write crawl file: %w", err)
	}
	return nil
}

// reader reads rows.
type reader struct {
	r    io.Reader
	buf  []byte
	rows int64
}

// next returns the next row; ok is false after the last.
func (r *reader) next() (next row, ok bool, err error) {
	var length [4]byte
	if _, err := io.ReadFull(r.r, length[:]); err != nil {
		return next, false, truncated(err)
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > maxRow {
		return next, false, fault.As(store.ErrCorrupt, "cannot read crawl file; got a row of %d bytes; want at most %d", n, maxRow)
	}
	body, err := r.body(length, max(n, 8*isZero(n)))
	if err != nil {
		return next, false, err
	}
	if n == 0 {
		if want := binary.BigEndian.Uint64(body); uint64(r.rows) != want {
			return next, false, fault.As(store.ErrCorrupt, "cannot read crawl file; got %d rows; want %d", r.rows, want)
		}
		return next, false, nil
	}
	r.rows++
	if err := json.Unmarshal(body, &next); err != nil {
		return next, false, fmt.Errorf("cannot read row %d of crawl file: %w", r.rows, errors.Join(err, store.ErrCorrupt))
	}
	return next, true, nil
}

func isZero(n uint32) uint32 {
	if n == 0 {
		return 1
	}
	return 0
}

// body reads n bytes that follow a length, and the checksum of both.
func (r *reader) body(length [4]byte, n uint32) ([]byte, error) {
	b := append(r.buf[:0], length[:]...)
	for left := int(n) + 4; left > 0; {
		at, step := len(b), min(left, readAtOnce)
		b = slices.Grow(b, step)[:at+step]
		if _, err := io.ReadFull(r.r, b[at:]); err != nil {
			return nil, truncated(err)
		}
		left -= step
	}
	r.buf = b
	end := len(b) - 4
	if got, want := crc32.Checksum(b[:end], castagnoli), binary.BigEndian.Uint32(b[end:]); got != want {
		return nil, fault.As(store.ErrCorrupt, "cannot read crawl file; got checksum %08x; want %08x", got, want)
	}
	return b[4:end], nil
}

func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fault.As(store.ErrCorrupt, "cannot read crawl file; it ends too early")
	}
	return fmt.Errorf("cannot read crawl file: %w", err)
}
