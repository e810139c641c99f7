package admit

import "encoding/binary"

// The parts of HTTP/2 (RFC 9113, section 4.1 and 6) and of gRPC over it that Wire reads:
// which frame is of which stream, and where messages end.

const (
	frameData         = 0x0
	frameHeaders      = 0x1
	frameReset        = 0x3
	frameContinuation = 0x9

	flagEndStream  = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8

	headLength = 9
)

// preface begins what a client sends.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// frames cuts a stream of bytes into frames. The zero value begins with a frame.
type frames struct {
	skip int // bytes before the first frame
	head [headLength]byte
	have int // of head
	left int // bytes of the payload to come, padding included
	pad  int // of these, padding
	now  frame
}

type frame struct {
	kind, flags byte
	stream      uint32
	length      int // of the payload, padding included
}

// piece is a part of a frame. Without a frame it is a part of a frame's head.
type piece struct {
	*frame
	first, last bool
	data        []byte // of a DATA frame, without padding
}

// next cuts the next piece off p, which isn't empty.
func (f *frames) next(p []byte) (piece, []byte) {
	if f.skip > 0 {
		n := min(f.skip, len(p))
		f.skip -= n
		return piece{}, p[n:]
	}
	first := false
	if f.have < headLength {
		n := copy(f.head[f.have:], p)
		f.have += n
		if p = p[n:]; f.have < headLength {
			return piece{}, p
		}
		f.begin()
		first = true
		if f.left > 0 && len(p) == 0 {
			return piece{frame: &f.now, first: true}, p
		}
	}
	n := min(f.left, len(p))
	data := p[:n]
	f.left -= n
	if f.pad < 0 && n > 0 { // the first byte of a padded frame
		f.pad = min(int(data[0]), f.left+n-1)
		data = data[1:]
	}
	if beyond := f.pad - f.left; beyond > 0 {
		data = data[:max(0, len(data)-beyond)]
	}
	last := f.left == 0
	if last {
		f.have = 0
	}
	if f.now.kind != frameData {
		data = nil
	}
	return piece{&f.now, first, last, data}, p[n:]
}

// between reports whether the next byte begins a frame.
func (f *frames) between() bool { return f.skip == 0 && f.have == 0 }

// pass cuts whole frames off p until one that may end a call. Most of what a server writes are
// small frames of answers, and next would take ten times as long for each.
func (f *frames) pass(p []byte) []byte {
	for f.between() && len(p) >= headLength && p[3] != frameHeaders && p[3] != frameReset {
		n := headLength + payload(p)
		if n > len(p) {
			break
		}
		p = p[n:]
	}
	return p
}

// message returns the length of the payload and the stream of the DATA frame that p begins with, if
// that is whole in p, begins a frame and carries exactly one message of gRPC; otherwise 0.
func (f *frames) message(p []byte) (length int, stream uint32) {
	if !f.between() || len(p) < headLength+messageHead || p[3] != frameData || p[4]&flagPadded != 0 {
		return 0, 0
	}
	length = payload(p)
	if length < messageHead || length > len(p)-headLength || uint32(length-messageHead) != binary.BigEndian.Uint32(p[headLength+1:]) {
		return 0, 0
	}
	return length, binary.BigEndian.Uint32(p[5:]) &^ (1 << 31)
}

func (f *frames) begin() {
	h := &f.head
	f.left = payload(h[:])
	f.now = frame{kind: h[3], flags: h[4], stream: uint32(h[5]&0x7f)<<24 | uint32(h[6])<<16 | uint32(h[7])<<8 | uint32(h[8]), length: f.left}
	if f.pad = 0; f.now.kind == frameData && f.now.flags&flagPadded != 0 {
		f.pad = -1 // not known yet
	}
}

// messageHead is the length of what precedes a message of gRPC: a byte, and its length in 4 bytes.
const messageHead = 5

// messages finds the ends of gRPC's messages.
type messages struct {
	head [messageHead]byte
	have int
	left int
}

// next cuts the bytes of one message off p, which isn't empty, and reports whether the
// message ends with them.
func (m *messages) next(p []byte) (n int, whole bool) {
	if m.have < len(m.head) {
		n = copy(m.head[m.have:], p)
		if m.have += n; m.have < len(m.head) {
			return n, false
		}
		m.left = int(m.head[1])<<24 | int(m.head[2])<<16 | int(m.head[3])<<8 | int(m.head[4])
	}
	k := min(m.left, len(p)-n)
	if m.left -= k; m.left == 0 {
		m.have = 0
		return n + k, true
	}
	return n + k, false
}
