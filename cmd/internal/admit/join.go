package admit

import (
	"encoding/binary"
	"sync"
)

// A gRPC server writes each message as a DATA frame of its own, and a client answers each frame with up to
// two of its own, which the server must read. A call that acknowledges each of its URLs, and a client that
// floods it, would spend most of their time on these. So Wire writes consecutive DATA frames of
// a call as one: HTTP/2 lets any part of a body be in any frame, and flow control counts only the bodies.

// joinedMost is the largest payload of a joined frame: what every client accepts (RFC 9113, section 4.2).
const joinedMost = 16 << 10

// joined is where frames are joined.
var joined = sync.Pool{New: func() any { return new([]byte) }}

// writeJoined writes b, in which the first frame begins at start, with the frames joined that can be.
func (w *Wire) writeJoined(b []byte, start int) (int, error) {
	if !joins(b[start:]) {
		return w.inner.Write(b)
	}
	buf := joined.Get().(*[]byte)
	defer joined.Put(buf)
	*buf = appendJoined(append((*buf)[:0], b[:start]...), b[start:])
	if n, err := w.inner.Write(*buf); err != nil {
		return n, err // at least n bytes of b
	}
	return len(b), nil
}

// joins reports whether b begins with two frames that are joined. Most writes have one frame of an answer, or
// several of acknowledgements.
func joins(b []byte) bool {
	n := plainData(b)
	return n > 0 && follows(b, b[headLength+n:], n)
}

// appendJoined appends b, which begins with a frame, to out. What is not whole at its end stays as it is.
func appendJoined(out, b []byte) []byte {
	for len(b) > 0 {
		n := plainData(b)
		if n == 0 {
			k := wholeFrame(b)
			out, b = append(out, b[:k]...), b[k:]
			continue
		}
		head, first := len(out), b
		out, b = append(out, b[:headLength+n]...), b[headLength+n:]
		for follows(first, b, n) {
			k := plainData(b)
			out, b = append(out, b[headLength:headLength+k]...), b[headLength+k:]
			n += k
		}
		out[head], out[head+1], out[head+2] = byte(n>>16), byte(n>>8), byte(n)
	}
	return out
}

// follows reports whether the frame that b begins with can be joined to one of the stream of first whose
// payload has n bytes.
func follows(first, b []byte, n int) bool {
	k := plainData(b)
	return k > 0 && n+k <= joinedMost && binary.BigEndian.Uint32(first[5:]) == binary.BigEndian.Uint32(b[5:])
}

// plainData returns the length of the payload of the DATA frame that b begins with, if it is whole and
// has no flags, otherwise 0.
func plainData(b []byte) int {
	if len(b) < headLength || b[3] != frameData || b[4] != 0 || headLength+payload(b) > len(b) {
		return 0
	}
	return payload(b)
}

// wholeFrame returns the length of the frame that b begins with, or of b if that is shorter.
func wholeFrame(b []byte) int {
	if len(b) < headLength {
		return len(b)
	}
	return min(headLength+payload(b), len(b))
}

// payload returns the length of the payload of the frame with this head.
func payload(head []byte) int { return int(head[0])<<16 | int(head[1])<<8 | int(head[2]) }
