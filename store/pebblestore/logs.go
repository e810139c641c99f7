package pebblestore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A log may be damaged, cut or lost. Pebble replays a log up to the first damaged chunk, and takes that
// for the point where a crash cut the log, unless a later chunk has an offset up to which
// the log was synced that is beyond it. That offset counts too little (it leaves out whole blocks of 32 kB), and
// a log that lacks its end, or that is missing, has no later chunk. Pebble's Open then writes what it
// replayed into tables and removes the logs.
//
// So before Pebble opens a store, its logs are read here. Every batch ends with a claim: the number of the
// last change that was acknowledged when the batch was written. If a claim, or the note, names a change
// that the logs do not lead up to, acknowledged changes are lost, and the store is refused as it is.
//
// Changes are numbered as Pebble does: a batch with n rows has the next n numbers.

// claimMagic begins a claim: 4 bytes, and the number of the change, 8 bytes. It is the data of Batch.LogData.
const claimMagic = "ackd"

const claimLen = len(claimMagic) + 8

// appendClaim returns the claim for a number.
func appendClaim(dst []byte, acked uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, claimMagic...), acked)
}

// claimAt returns the claim at the end of a batch.
func claimAt(tail []byte) uint64 {
	if len(tail) < claimLen || string(tail[len(tail)-claimLen:][:len(claimMagic)]) != claimMagic {
		return 0
	}
	return binary.BigEndian.Uint64(tail[len(tail)-8:])
}

// logScan is the content of a log.
type logScan struct {
	num         uint64
	size        int64
	end         int64  // where the last whole record ends before anything that is not as it was written
	torn        bool   // something follows that is no whole record, and not the end of a log that was closed
	first, last uint64 // changes up to there, 0 for none
	claim       uint64 // the latest of all claims, also of those that follow
	proven      bool   // what follows cannot be what a crash left
}

const (
	logBlock  = 32 << 10 // a chunk is within a block
	batchHead = 12       // the number of the first change 8, how many there are 4; little-endian
	fullest   = 18       // what is left of a block with so many bytes or fewer has no chunk, and is zero
)

// chunkKinds are, for each encoding of a chunk in a log, its position in its record and the length of its
// header: checksum 4, length 2, encoding 1, the log's number 4; for the last four also the offset up to which the
// log was synced 8.
var chunkKinds = [...]struct {
	first, last bool
	header      int
}{
	5: {true, true, 11}, {true, false, 11}, {false, false, 11}, {false, true, 11},
	9: {true, true, 19}, {true, false, 19}, {false, false, 19}, {false, true, 19},
}

// logChunk is a chunk as it was read.
type logChunk struct {
	first, last bool
	data        []byte
	synced      uint64
	bytes       int  // with its header; 0: it is not as it was written
	closed      bool // instead of a chunk, the log was closed here
}

// chunkAt reads the chunk at the beginning of b, the rest of a block.
func chunkAt(b []byte, num uint64) (c logChunk) {
	if len(b) < 11 || int(b[6]) >= len(chunkKinds) || chunkKinds[b[6]].header == 0 {
		return c
	}
	k := chunkKinds[b[6]]
	n := k.header + int(binary.LittleEndian.Uint16(b[4:]))
	if have := binary.LittleEndian.Uint32(b[7:]); have != uint32(num) || n > len(b) {
		c.closed = have == uint32(num)+1 && n == 11 && binary.LittleEndian.Uint32(b) == 0
		return c
	}
	sum := crc32.Checksum(b[6:n], castagnoli)
	if sum>>15|sum<<17+0xa282ead8 != binary.LittleEndian.Uint32(b) {
		return c
	}
	c = logChunk{first: k.first, last: k.last, data: b[k.header:n], bytes: n}
	if k.header == 19 {
		c.synced = binary.LittleEndian.Uint64(b[11:])
	}
	return c
}

// scanLog reads a log. After damage it continues with the next undamaged chunk.
func scanLog(fs vfs.FS, dir string, num uint64) (s logScan, err error) {
	s.num = num
	f, err := fs.Open(fs.PathJoin(dir, logName(num)), vfs.SequentialReadsOption)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var rec logRecord
	number := binary.LittleEndian.AppendUint32(nil, uint32(num))
	buf := make([]byte, logBlock)
	for closed := false; !closed; {
		n, err := io.ReadFull(f, buf)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return s, err
		}
		for b := buf[:n]; len(b) > 0; {
			c := chunkAt(b, num)
			if c.bytes == 0 {
				empty := len(b) <= fullest && n == logBlock && len(bytes.Trim(b, "\x00")) == 0
				if closed = c.closed && !rec.open && !s.torn; empty || closed {
					break
				}
				// What follows the last record is the rest of an older log, if Pebble reused its file: byte by byte, 8 MB of it took
				// 100 ms, ten times as long as the records. A chunk of this log has its number.
				s.torn = true
				next := bytes.Index(b[min(8, len(b)):], number)
				if next < 0 {
					break
				}
				b = b[1+next:]
				continue
			}
			b = b[c.bytes:]
			s.add(&rec, &c, s.size+int64(n-len(b)))
		}
		if s.size += int64(n); n < logBlock {
			break
		}
	}
	s.torn = s.torn || rec.open
	return s, nil
}

// logRecord is the beginning and the end of a record, as far as its chunks were read.
type logRecord struct {
	open       bool
	head, tail []byte
}

// add adds a chunk that ends at an offset.
func (s *logScan) add(r *logRecord, c *logChunk, end int64) {
	if s.torn && c.synced > uint64(s.end) {
		s.proven = true
	}
	if c.first == r.open && !s.torn { // a record in a record, or one without a beginning
		s.torn, s.proven = true, true
	}
	if c.first {
		*r = logRecord{open: true, head: r.head[:0], tail: r.tail[:0]}
	}
	if !r.open {
		return
	}
	r.head = append(r.head, c.data[:min(len(c.data), batchHead-min(len(r.head), batchHead))]...)
	r.tail = append(r.tail, c.data[max(0, len(c.data)-claimLen):]...)
	r.tail = append(r.tail[:0], r.tail[max(0, len(r.tail)-claimLen):]...)
	if !c.last {
		return
	}
	r.open = false
	s.claim = max(s.claim, claimAt(r.tail))
	if s.torn || len(r.head) < batchHead {
		return
	}
	seq, n := binary.LittleEndian.Uint64(r.head), uint64(binary.LittleEndian.Uint32(r.head[8:]))
	if s.first != 0 && seq != s.last+1 { // of another place in the log
		s.torn, s.proven = true, true
		return
	}
	if s.first == 0 {
		s.first, s.last = seq, seq-1
	}
	s.last, s.end = s.last+n, end
}

// # What is lost, and how the store is cut there

// logDamage is where the logs lose acknowledged changes. OpenRepair cuts them there, so that the store is
// as it was then, and puts the damaged log and those after it aside.
type logDamage struct {
	c       *contents
	n       *note
	minLog  uint64 // the first log that is needed
	num     uint64 // the damaged log
	missing bool   // there is none of that number
	gap     bool   // the log before it lacks its end
	stale   bool   // the note is older than the log
	scan    logScan
	kept    uint64 // the last change before the damage
}

// checkLogs returns where the logs that are needed lose acknowledged changes, nil if nowhere. Otherwise it
// sets n.acked to the last change that they have.
func (c *contents) checkLogs(n *note, minLog uint64) (*logDamage, error) {
	from := map[uint64]uint64{}
	var nums []uint64
	for _, l := range n.logs {
		if l.num >= minLog {
			nums, from[l.num] = append(nums, l.num), l.from
		}
	}
	for _, name := range c.names {
		if num := logNumber(name); num >= max(1, minLog) && from[num] == 0 {
			nums = append(nums, num)
		}
	}
	slices.Sort(nums)
	d := &logDamage{c: c, n: n, minLog: minLog}
	claim := n.acked
	noted := false
	for i, num := range nums {
		d.num, d.scan = num, logScan{num: num}
		if d.missing = !c.has(logName(num)); d.missing {
			return d, nil
		}
		var err error
		if d.scan, err = scanLog(c.fs, c.dir, num); err != nil {
			return nil, err
		}
		if from[num] > 0 {
			if noted = true; i == 0 {
				d.kept = from[num] - 1
			}
			d.gap = from[num]-1 > d.kept
		} else if d.stale = d.scan.first+d.scan.claim > 0; d.stale { // it was begun, and noted, before it had a record
			return d, nil
		}
		if s := &d.scan; s.first > 0 || d.gap {
			if d.gap = d.gap || i > 0 && s.first != d.kept+1; d.gap {
				s.end = 0
				return d, nil
			}
			d.kept = s.last
		}
		claim = max(claim, d.scan.claim)
		if d.scan.proven || d.scan.torn && i < len(nums)-1 {
			return d, nil
		}
	}
	if noted && claim > d.kept { // otherwise all that was acknowledged is in tables
		return d, nil
	}
	n.acked = max(claim, d.kept)
	return nil, nil
}

func (d *logDamage) path(num uint64) string { return d.c.fs.PathJoin(d.c.dir, logName(num)) }

// aside returns the path that a log is kept at.
func (d *logDamage) aside(num uint64) string {
	return d.c.fs.PathJoin(d.c.dir, "damaged-"+logName(num))
}

// Error describes the damage and what to do.
func (d *logDamage) Error() string {
	if d.stale {
		return fmt.Sprintf("%s is an older copy, without log %s; nothing was changed: put the newest one back, %v",
			d.c.fs.PathJoin(d.c.dir, noteName), d.path(d.num), errNote)
	}
	return d.where() + ", and acknowledged records are lost with it; nothing was changed: put the log back, restore a copy of the directory or import an export; " +
		"or lose what was recorded after the damage with OpenRepair (firstseen verify --repair)"
}

func (d *logDamage) where() string {
	switch {
	case d.missing:
		return fmt.Sprintf("log %s is missing", d.path(d.num))
	case d.gap:
		return fmt.Sprintf("the log before %s lacks its end", d.path(d.num))
	case d.scan.torn || d.scan.end < d.scan.size:
		return fmt.Sprintf("log %s is damaged after %d of %d bytes", d.path(d.num), d.scan.end, d.scan.size)
	}
	return fmt.Sprintf("log %s ends after %d bytes", d.path(d.num), d.scan.size)
}

// repaired describes what repair did.
func (d *logDamage) repaired() string {
	if d.stale {
		return noteName + " was an older copy: it was made again"
	}
	return d.where() + ": what was recorded later is lost; the damaged log and those after it are kept as damaged-*.log"
}

// repair cuts the log before the damage. A power cut in the meantime leaves a store that is still refused:
// the note, which is written last, names the missing parts until then.
func (d *logDamage) repair(format uint32) error {
	fs, dir := d.c.fs, d.c.dir
	if d.stale {
		return renote(d.c, format)
	}
	part, whole := fs.PathJoin(dir, "repair.tmp"), !d.missing && !d.gap // a log after a gap goes as those after it do
	if whole {
		if err := vfs.LimitedCopy(fs, d.path(d.num), part, d.scan.end); err != nil {
			return err
		}
	}
	for _, name := range slices.Backward(d.c.names) {
		if num := logNumber(name); num > d.num || num == d.num && d.gap {
			if err := errors.Join(fs.Rename(d.path(num), d.aside(num)), syncDir(fs, dir)); err != nil {
				return err
			}
		}
	}
	n := *d.n
	n.acked = d.kept
	n.logs = slices.DeleteFunc(slices.Clone(n.logs), func(l logNote) bool { return l.num > d.num || l.num == d.num && !whole })
	if whole {
		if err := fs.Remove(d.aside(d.num)); err != nil && !errors.Is(err, os.ErrNotExist) { // of a repair that was cut off
			return err
		}
		if err := vfs.LinkOrCopy(fs, d.path(d.num), d.aside(d.num)); err != nil {
			return err
		}
		if err := errors.Join(fs.Rename(part, d.path(d.num)), syncDir(fs, dir)); err != nil {
			return err
		}
	}
	return writeNote(fs, dir, n.append(nil))
}

// repair fixes the fault that keeps a store from being opened, and describes it. If it can't, it returns
// the error that it got.
func repair(dir string, opt *Options, refused error) (text string, err error) {
	var d *logDamage
	switch {
	case errors.As(refused, &d):
		text, err = d.repaired(), d.repair(opt.format)
	case errors.Is(refused, errNote):
		c, errList := list(opt.FS, dir)
		if errList != nil {
			return "", errors.Join(refused, errList)
		}
		text, err = noteName+" was missing or damaged: it was made again; damage to the end of the log before that is not noticed", renote(c, opt.format)
	default:
		return "", refused
	}
	if err != nil {
		return "", fmt.Errorf("cannot repair: %w: %w", err, refused)
	}
	return text, nil
}

// renote makes the note again.
func renote(c *contents, format uint32) error {
	n, err := noteOf(c, format)
	if err != nil {
		return err
	}
	return writeNote(c.fs, c.dir, n.append(nil))
}
