package pebblestore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A log may be damaged, cut or lost. Pebble replays a log up to the first chunk that is not as it was
// written, and takes that for the end of what a crash left, unless a later chunk has an offset up to which
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

// logScan is what a log has.
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

// scanLog reads a log. After damage it goes on with the next chunk that is as it was written.
func scanLog(fs vfs.FS, dir string, num uint64) (s logScan, err error) {
	s.num = num
	f, err := fs.Open(fs.PathJoin(dir, logName(num)), vfs.SequentialReadsOption)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var rec logRecord
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
				s.torn, b = true, b[1:]
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
	r.tail = append(r.tail, c.data...)
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
