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
// For each URL the file has text, queue, data, due time and priority, and when it was completed or dropped. Leased URLs are queued again,
// because their leases cannot be settled in another store. For each queue it has the settings, and the end of the
// delay since its last take, if that is in the future. The identity row also has the settings
// of the crawl and of all crawls of its store. The file lacks the times
// at which URLs were added, the counts of attempts, and the counts of completed and dropped URLs whose text is not kept.
//
// A key file is a crawl file without rows: [Import], [Scan] and [IdentityOf] read both. All numbers are big-endian:
//
//	+---------------+-------------------+---------------+-------+
//	| "firstseen.c1"| length 4, not zero| JSON of a row | CRC 4 |  any number of rows
//	+---------------+-------------------+---------------+-------+
//	| 0, 4 bytes    | rows in the file 8                | CRC 4 |
//	+---------------+-----------------------------------+-------+
//	| a key file, see keys.go                                   |
//	+-----------------------------------------------------------+
//
// A CRC is the CRC-32C of the bytes of its row before it; the 12 bytes "firstseen.c1" are no part of a row. A row is an
// object with one field: "identity" the first, the others "queue" or "url". The first may have "scopes" as well, which earlier
// builds neither wrote nor read.
package crawlfile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// Magic is what a file begins with.
const Magic = "firstseen.c1"

// maxRow bounds a row, in the file that is written and in the one that is read.
const maxRow = 1 << 30

// row is a row: one of the three.
type row struct {
	Identity *store.Identity `json:"identity,omitempty"`
	Scopes   []store.Scope   `json:"scopes,omitempty"` // beside Identity
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
	Group        []byte        `json:"group,omitempty"`
	// NotBefore is the earliest time of the next take, by the delay since the last one or as
	// set.
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
	Ended    time.Time `json:"ended,omitzero"` // when it was completed or dropped; files of earlier builds don't say
}

func queueRowOf(q store.QueueInfo) *queueRow {
	s := q.QueueSettings
	return &queueRow{[]byte(q.Name), s.Delay, s.MaxInFlight, s.BlockedUntil, s.Limit, s.Weight, s.Paused, []byte(s.Group), q.NotBefore}
}

// change is what makes a queue have these settings; none of them unsets one, or makes a block
// or a delay end earlier.
func (q *queueRow) change() store.QueueChange {
	c := (&store.QueueSettings{Delay: q.Delay, MaxInFlight: q.MaxInFlight, BlockedUntil: q.BlockedUntil, Limit: q.Limit,
		Weight: q.Weight, Paused: q.Paused, Group: string(q.Group)}).Change()
	if !q.NotBefore.IsZero() {
		c.NotBefore = &q.NotBefore
	}
	return c
}

func urlRowOf(e store.Entry) *urlRow {
	dropped := e.State == store.Dropped
	return &urlRow{e.Key[:], []byte(e.Queue), []byte(e.URL), e.Meta, e.Due, e.Priority, e.State == store.Done || dropped, dropped, e.Ended}
}

// entry is the inverse of urlRowOf.
func (u *urlRow) entry() store.Entry {
	e := store.Entry{Key: store.Key(u.Key), Queue: string(u.Queue), URL: string(u.URL), Meta: u.Meta, Due: u.Due, Priority: u.Priority, State: store.Queued, Ended: u.Ended}
	switch {
	case u.Dropped:
		e.State = store.Dropped
	case u.Done:
		e.State = store.Done
	}
	return e
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
	w.buf = seal(append(binary.BigEndian.AppendUint32(w.buf[:0], length), body...))
	if _, err := w.w.Write(w.buf); err != nil {
		return fmt.Errorf("cannot write crawl file: %w", err)
	}
	return nil
}

// reader reads a file of either kind: its rows, if it has any, and then its keys.
type reader struct {
	r    rowReader
	rows int64      // read so far
	made row        // the first of a crawl file, of its identity
	file *KeyReader // of a key file
}

// open begins to read a file. For one of another kind the error is store.ErrFormat.
func open(r io.Reader) (*reader, error) {
	br := bufio.NewReaderSize(r, 1<<20)
	rd := &reader{r: rowReader{src: br, kind: "crawl file"}}
	start, err := br.Peek(len(Magic))
	if err != nil || string(start) != Magic {
		rd.file, err = NewKeyReader(br)
		return rd, err
	}
	_, _ = br.Discard(len(Magic)) // it was peeked at
	first, ok, err := rd.next()
	if err == nil && (!ok || first.Identity == nil) {
		err = rd.r.damaged("; got none of an identity")
	}
	for _, scope := range first.Scopes {
		if err == nil && scope.Crawl != "" && scope.Crawl != "*" {
			err = rd.r.damaged("; got settings of crawl %q", scope.Crawl)
		}
		for _, rule := range scope.Rules {
			if err == nil && (len(rule) == 0 || len(rule) > store.MaxQueueKey || bytes.LastIndexByte(rule, 0) > 0) {
				err = rd.r.damaged("; got rule %.80q", rule)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	rd.made = first
	return rd, nil
}

// keys returns the reader of the keys, when there is no further row.
func (r *reader) keys() (*KeyReader, error) {
	if r.file != nil {
		return r.file, nil
	}
	return NewKeyReader(r.r.src)
}

// next returns the next row; ok is false after the last, and for a key file.
func (r *reader) next() (next row, ok bool, err error) {
	if r.file != nil {
		return next, false, nil
	}
	text, err := r.r.next(maxRow, 1, r.rows, "a row of %d bytes", "%d rows")
	if text == nil || err != nil {
		return next, false, err
	}
	r.rows++
	if err := json.Unmarshal(text, &next); err != nil {
		return next, false, fmt.Errorf("cannot read row %d of crawl file: %w", r.rows, errors.Join(err, store.ErrCorrupt))
	}
	if u := next.URL; u != nil && len(u.Key) != len(store.Key{}) || u == nil && next.Queue == nil && next.Identity == nil {
		return next, false, r.r.damaged("; row %d has neither a queue nor a URL with its key", r.rows)
	}
	return next, true, nil
}

// IdentityOf reads the beginning of a crawl file or a key file, and returns the identity of
// its keys.
func IdentityOf(r io.Reader) (store.Identity, error) {
	start := bufio.NewReader(r)
	magic, _ := start.Peek(len(Magic))
	rd, err := open(start)
	switch {
	case errors.Is(err, store.ErrFormat):
		return store.Identity{}, fault.As(store.ErrFormat, `it is neither a file of "firstseen copy" nor a key file of "firstseen export": it begins %q`, magic)
	case err != nil:
		return store.Identity{}, err
	case rd.file != nil:
		return rd.file.Header().Identity, nil
	}
	return *rd.made.Identity, nil
}

// Counts are the counts of a file, or of an export or import.
type Counts struct {
	Queues  int64 `json:"queues"`  // queues whose settings differ from the defaults
	Waiting int64 `json:"waiting"` // URLs that wait
	Done    int64 `json:"done"`    // URLs that were completed, with their text
	Dropped int64 `json:"dropped"` // URLs that were dropped, with their text
	Keys    int64 `json:"keys"`    // keys seen
	// Ungrouped counts, in an import, the queues whose group the store cannot keep.
	Ungrouped int64 `json:"ungrouped,omitempty"`
	New       int64 `json:"new"` // in an import: keys that were not known
}

// count counts a URL.
func (n *Counts) count(s store.State) {
	switch s {
	case store.Done:
		n.Done++
	case store.Dropped:
		n.Dropped++
	default:
		n.Waiting++
	}
}

// Scan reads a crawl file or a key file to its end and returns its counts. The error is
// store.ErrCorrupt if the file is damaged or not whole. Scan calls url for each URL; with nil it
// only counts.
func Scan(r io.Reader, url func(store.Entry) error) (n Counts, err error) {
	br := bufio.NewReaderSize(r, 1<<20)
	if _, err := br.Peek(len(Magic)); err != nil { // a file cut off so early counts as truncated, not as of another kind
		return n, (&rowReader{src: br, kind: "crawl file"}).fill(make([]byte, len(Magic)))
	}
	rd, err := open(br)
	if err != nil {
		return n, err
	}
	for {
		next, ok, err := rd.next()
		if err != nil {
			return n, err
		}
		if !ok {
			break
		}
		if next.URL == nil {
			n.Queues++
			continue
		}
		e := next.URL.entry()
		n.count(e.State)
		if url != nil {
			if err := url(e); err != nil {
				return n, err
			}
		}
	}
	keys, err := rd.keys()
	if err != nil {
		return n, err
	}
	for _, err := range keys.Keys() {
		if err != nil {
			return n, err
		}
		n.Keys++
	}
	return n, nil
}

// exporter is a store that writes key files itself.
type exporter interface {
	Export(ctx context.Context, w io.Writer, crawl string) (int64, error)
}

// Export writes a crawl of s and its settings to w. The file records the identity id of its keys; the zero identity
// stands for that of s. Some changes during the export are in the file, others are not: pause the crawl for
// an exact file. Export first lists the keys into a temporary file, 16 bytes each. Otherwise the
// file could have the key of a new URL without the URL, and an import would never fetch it.
func Export(ctx context.Context, w io.Writer, s store.Store, crawl string, id store.Identity, scopes []store.Scope) (n Counts, err error) {
	keys, err := os.CreateTemp("", "firstseen-keys-")
	if err != nil {
		return n, fmt.Errorf("cannot write keys of crawl file: %w", err)
	}
	defer func() { err = errors.Join(err, keys.Close(), os.Remove(keys.Name())) }()
	id = id.Or(s.Identity())
	if n.Keys, err = ExportKeys(ctx, keys, s, crawl, id); err != nil {
		return n, err
	}
	if err := export(ctx, w, s, crawl, row{Identity: &id, Scopes: scopes}, &n); err != nil {
		return n, err
	}
	if _, err = keys.Seek(0, io.SeekStart); err == nil {
		_, err = io.Copy(w, keys)
	}
	if err != nil {
		return n, fmt.Errorf("cannot write keys of crawl file: %w", err)
	}
	return n, nil
}

// export writes all but the keys.
func export(ctx context.Context, w io.Writer, s store.Store, crawl string, first row, n *Counts) error {
	if _, err := io.WriteString(w, Magic); err != nil {
		return fmt.Errorf("cannot write crawl file: %w", err)
	}
	rows := &writer{w: w}
	if err := rows.row(first); err != nil {
		return err
	}
	for q, err := range s.Queues(ctx, crawl, "") {
		if !q.NotBefore.After(time.Now()) {
			q.NotBefore = time.Time{} // it has no effect any more
		}
		if err == nil && (q.QueueSettings != (store.QueueSettings{}) || !q.NotBefore.IsZero()) {
			n.Queues++
			err = rows.row(row{Queue: queueRowOf(q)})
		}
		if err != nil {
			return err
		}
	}
	for e, err := range s.Entries(ctx, crawl, "") {
		if err == nil {
			err = rows.row(row{URL: urlRowOf(e)})
		}
		if err != nil {
			return err
		}
		n.count(e.State)
	}
	return rows.end()
}

// ExportKeys writes the keys of a crawl as a key file and returns their number. The file records the
// identity id of the keys; the zero identity stands for that of s.
func ExportKeys(ctx context.Context, w io.Writer, s store.Store, crawl string, id store.Identity) (int64, error) {
	id = id.Or(s.Identity())
	if own, ok := s.(exporter); ok && id == s.Identity() {
		return own.Export(ctx, w, crawl)
	}
	// The store does not record which keys are of internationalised hosts.
	return WriteKeys(w, Header{Identity: id, UnicodeHosts: true}, s.Keys(ctx, crawl))
}
