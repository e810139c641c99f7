package admit

import (
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A gRPC server buffers the messages of each call that its handler has not read, and the
// beginning of one that is not complete. It also buffers answers that the client has not read,
// even after the handler returned. It reports neither. Wire derives both from the frames that
// pass.

// WireConfig bounds what a Wire accepts.
type WireConfig struct {
	// Received is a pool of bytes that were received and not delivered, for connections
	// that are known.
	Received *Pool
	// Strange is the same for other connections.
	Strange *Pool
	// Resets slows down clients that begin calls and reset them. The default is no bound.
	Resets *Pace
	// Patience is how long a connection waits for its share of Received before it is
	// closed. The default is 30 s.
	Patience time.Duration
}

const (
	// frameCost is about what a DATA frame costs in memory besides its buffer.
	frameCost = 128
	// receivedFree is how many bytes a connection may have pending without a share of a pool.
	// It takes shares in multiples of receivedSlab.
	receivedFree, receivedSlab = 4 << 10, 16 << 10
	// strangeCalls bounds the open calls of a connection that isn't known.
	strangeCalls = 8
	// pollReceived is how often a connection that waits for a share looks again.
	pollReceived = 5 * time.Millisecond
)

// ErrTooMuch ends a connection that sends more than its client may have waiting.
var ErrTooMuch = errors.New("the client sent more than it may have waiting")

// Wire is the server's side of a connection that carries gRPC calls.
type Wire struct {
	*Conn
	inner  net.Conn // Conn, or TLS on it
	config WireConfig

	// Of the goroutine that reads:
	rest   []byte        // read and not returned yet
	err    error         // that follows rest
	failed int           // calls
	pause  time.Duration // before the next read

	writing frames

	mu      sync.Mutex
	reading frames
	client  Client // by token as soon as a call had one
	streams map[uint32]*Stream
	opened  *Stream // whose headers were read last
	pending int64   // at least the bytes received and not delivered
	pool    *Pool   // that held is of
	held    int64
	closed  bool
	done    chan struct{} // closed with the connection

	_     [64]byte    // each frame writes to the fields above, and handlers read holds for each message
	holds atomic.Bool // held isn't 0
	_     [64]byte
}

// Stream is a call on the wire, from its headers until its last frame was written or it
// was reset.
type Stream struct {
	w         *Wire
	delivered atomic.Int64 // bytes of messages that the call's handler got, with their heads
	_         [64]byte     // the two counts are written on two processors
	received  atomic.Int64 // bytes of DATA frames, without padding

	// With the wire locked:
	onEnd   func()
	ended   bool
	waiting []dataFrame // in order; of the first, a part may be delivered
	cost    int64       // of waiting
	counted int64       // bytes delivered before waiting
}

// dataFrame is a DATA frame that was not whole delivered when its stream was last counted.
type dataFrame struct{ bytes, cost int64 }

// NewWire makes a Wire of a listener's connection; inner is the connection itself, or TLS
// on it.
func NewWire(c *Conn, inner net.Conn, config WireConfig) *Wire {
	if config.Patience <= 0 {
		config.Patience = 30 * time.Second
	}
	return &Wire{Conn: c, inner: inner, config: config, client: c.client, pool: config.Strange,
		streams: make(map[uint32]*Stream), reading: frames{skip: len(preface)}, done: make(chan struct{})}
}

// Opened returns the call whose headers were read last, which the server must be about to
// serve. If client is known it may use the server, and the connection is known from now
// on. onEnd is called once, when the call has ended on the wire; it must not block.
func (w *Wire) Opened(client Client, known bool, onEnd func()) *Stream {
	if known {
		w.Known()
	}
	w.mu.Lock()
	if known && (w.pool != w.config.Received || w.client != client) {
		w.giveBack(0)
		w.client, w.pool = client, w.config.Received
	}
	s := w.opened
	over := w.closed || s == nil || s.ended
	if !over {
		s.onEnd = onEnd
	}
	w.mu.Unlock()
	if over {
		onEnd()
		return &Stream{w: w, ended: true}
	}
	return s
}

// Failed counts a call that failed for its token, and returns how many did. It is called by
// the goroutine that reads.
func (w *Wire) Failed() int {
	w.failed++
	return w.failed
}

// Pause has the next read wait for so long. It is called by the goroutine that reads, which may
// hold locks of the server now and holds none when it reads.
func (w *Wire) Pause(d time.Duration) { w.pause = max(w.pause, d) }

// messageHead is the length of what precedes a message of gRPC: a byte, and its length in 4 bytes.
const messageHead = 5

// Delivered counts a message of n bytes that the handler of the call has read. Messages are not compressed: the server has no
// compressor.
func (s *Stream) Delivered(n int) {
	d := s.delivered.Add(int64(n + messageHead))
	if !s.w.holds.Load() || s.received.Load()-d > receivedFree {
		return
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.w.giveBack(s.w.count())
}

// Read implements net.Conn. What it returns ends with the headers of a call if it has any,
// so that the server serves that call before it reads on.
func (w *Wire) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if d := w.pause; d > 0 {
		if w.pause = 0; !w.sleep(d) {
			return 0, net.ErrClosed
		}
	}
	if len(w.rest) > 0 || w.err != nil {
		return w.readRest(p)
	}
	n, err := w.inner.Read(p)
	k, bad := w.see(p[:n])
	if bad != nil {
		return 0, bad
	}
	if k < n {
		w.rest, w.err, err = append(w.rest[:0], p[k:n]...), err, nil
	}
	return k, err
}

func (w *Wire) readRest(p []byte) (int, error) {
	if len(w.rest) == 0 {
		return 0, w.err
	}
	k, bad := w.see(w.rest[:min(len(p), len(w.rest))])
	if bad != nil {
		return 0, bad
	}
	copy(p, w.rest[:k])
	w.rest = w.rest[k:]
	return k, nil
}

// Write implements net.Conn.
func (w *Wire) Write(b []byte) (int, error) {
	start := 0 // of the first frame
	if !w.writing.between() {
		start = len(b)
	}
	for p := b; len(p) > 0; {
		var f piece
		f, p = w.writing.next(p)
		if start == len(b) && w.writing.between() {
			start = len(b) - len(p)
		}
		if f.frame == nil || !f.last {
			continue
		}
		if f.kind == frameHeaders && f.flags&flagEndStream != 0 || f.kind == frameReset {
			w.end(f.stream)
		}
	}
	return w.writeJoined(b, start)
}

// Close implements net.Conn.
func (w *Wire) Close() error {
	w.mu.Lock()
	ended := w.streams
	if !w.closed {
		close(w.done)
	}
	w.streams, w.closed = nil, true
	for _, s := range ended {
		s.ended = true
	}
	w.giveBack(0)
	w.mu.Unlock()
	for _, s := range ended {
		s.finish()
	}
	return w.inner.Close()
}

// finish calls onEnd of a call that has ended.
func (s *Stream) finish() {
	if s.onEnd != nil {
		s.onEnd()
	}
}

// end ends a call.
func (w *Wire) end(id uint32) {
	w.mu.Lock()
	s := w.drop(id)
	w.mu.Unlock()
	if s != nil {
		s.finish()
	}
}

// see looks at bytes from the client, up to the end of the first headers, and returns how
// many these are. It waits until the client may have that much waiting.
func (w *Wire) see(p []byte) (int, error) {
	w.mu.Lock()
	n, ended := w.scan(p)
	client := w.client
	strange := len(w.streams) > strangeCalls && !w.IsKnown()
	enough := w.enough()
	w.mu.Unlock()
	for _, s := range ended {
		s.finish()
	}
	if strange {
		return 0, ErrTooMuch
	}
	if w.config.Resets != nil {
		w.Pause(w.config.Resets.Next(client, len(ended)))
	}
	if !enough {
		return n, w.wait()
	}
	return n, nil
}

// wait blocks until the connection has a share for the bytes it received.
func (w *Wire) wait() error {
	if !w.IsKnown() {
		return ErrTooMuch
	}
	for end := time.Now().Add(w.config.Patience); time.Now().Before(end); {
		if !w.sleep(pollReceived) {
			return net.ErrClosed
		}
		w.mu.Lock()
		enough := w.enough()
		w.mu.Unlock()
		if enough {
			return nil
		}
	}
	return ErrTooMuch
}

// sleep waits for d, and reports whether the connection was open all the time.
func (w *Wire) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-w.done:
		return false
	}
}

// The methods below are called with the wire locked.

// scan looks at bytes as see does, and returns the calls that the client reset, too.
func (w *Wire) scan(p []byte) (n int, ended []*Stream) {
	for rest := p; len(rest) > 0; {
		var f piece
		f, rest = w.reading.next(rest)
		if f.frame == nil {
			continue
		}
		switch f.kind {
		case frameData:
			w.data(&f)
		case frameReset:
			if f.last {
				if s := w.drop(f.stream); s != nil {
					ended = append(ended, s)
				}
			}
		case frameHeaders, frameContinuation:
			if f.first && f.kind == frameHeaders && w.streams != nil && w.streams[f.stream] == nil {
				w.streams[f.stream] = &Stream{w: w}
			}
			if f.last && f.flags&flagEndHeaders != 0 {
				w.opened = w.streams[f.stream]
				return len(p) - len(rest), ended
			}
		}
	}
	return len(p), ended
}

// data counts a DATA frame. Its buffer is there from its head on; its padding, which nobody gets, is known at its end.
func (w *Wire) data(f *piece) {
	s := w.streams[f.stream]
	if s == nil { // the server drops it
		return
	}
	if f.first {
		d := dataFrame{bytes: int64(f.length), cost: int64(frameCost + bufferOf(f.length))}
		s.waiting = append(s.waiting, d)
		s.cost += d.cost
		w.pending += d.cost
		s.received.Add(d.bytes)
	}
	if f.last && f.padding > 0 && len(s.waiting) > 0 {
		s.waiting[len(s.waiting)-1].bytes -= int64(f.padding)
		s.received.Add(int64(-f.padding))
	}
}

// bufferOf returns the size of the buffer in which gRPC keeps a DATA frame with a payload of n
// bytes: one of a few sizes, unless the frame is small or larger than gRPC asks for.
func bufferOf(n int) int {
	switch {
	case n <= 1<<10:
		return n
	case n <= 4<<10:
		return 4 << 10
	default:
		return max(n, 16<<10)
	}
}

// drop takes a call that ended off the books, and returns nil if it had ended before.
func (w *Wire) drop(id uint32) *Stream {
	s := w.streams[id]
	if s == nil {
		return nil
	}
	delete(w.streams, id)
	s.ended = true
	if w.held > 0 {
		w.giveBack(w.count())
	}
	return s
}

// count counts the pending bytes.
func (w *Wire) count() int64 {
	w.pending = 0
	for _, s := range w.streams {
		w.pending += s.count()
	}
	return w.pending
}

// count takes the frames that the handler has read off, and returns what the others cost. A frame counts less as it is read: if
// it counted whole until its end, calls whose messages end in frames that are still to come would wait for their own bytes.
func (s *Stream) count() int64 {
	read, n := s.delivered.Load()-s.counted, 0
	for ; n < len(s.waiting) && read > 0 && read >= s.waiting[n].bytes; n++ {
		f := &s.waiting[n]
		read -= f.bytes
		s.counted += f.bytes
		s.cost -= f.cost
	}
	if 2*n < len(s.waiting) {
		s.waiting = s.waiting[n:]
	} else { // the room of those read is used again, and to move so few costs no more than to read so many
		s.waiting = slices.Delete(s.waiting, 0, n)
	}
	if read <= 0 || len(s.waiting) == 0 {
		return s.cost
	}
	return s.cost - s.waiting[0].cost*read/s.waiting[0].bytes
}

// enough reports whether the connection has a share for its pending bytes, and tries to take a
// larger one if it does not.
func (w *Wire) enough() bool {
	if w.pending <= receivedFree+w.held {
		return true
	}
	w.giveBack(w.count())
	lacks := w.pending - receivedFree - w.held
	if lacks <= 0 {
		return true
	}
	if lacks = (lacks + receivedSlab - 1) / receivedSlab * receivedSlab; !w.pool.Try(w.client, lacks) {
		return false
	}
	w.held += lacks
	w.holds.Store(true)
	return true
}

// giveBack returns the part of the share that so many pending bytes do not need.
func (w *Wire) giveBack(pending int64) {
	needs := max(0, pending-receivedFree)
	needs = min(w.held, (needs+receivedSlab-1)/receivedSlab*receivedSlab)
	w.pool.Give(w.client, w.held-needs)
	w.held = needs
	w.holds.Store(needs > 0)
}

// The parts of HTTP/2 (RFC 9113, section 4.1 and 6) that Wire reads: which frame is of which stream, and how long it is.

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
	now  frame
}

type frame struct {
	kind, flags byte
	stream      uint32
	length      int // of the payload, padding included
	padding     int // of a DATA frame, and its length before it; known from the first byte of the payload on
}

// piece is a part of a frame. Without a frame it is a part of a frame's head.
type piece struct {
	*frame
	first, last bool
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
	if n > 0 && f.left == f.now.length && f.now.kind == frameData && f.now.flags&flagPadded != 0 {
		f.now.padding = min(int(p[0])+1, f.left)
	}
	f.left -= n
	last := f.left == 0
	if last {
		f.have = 0
	}
	return piece{&f.now, first, last}, p[n:]
}

// between reports whether the next byte begins a frame.
func (f *frames) between() bool { return f.skip == 0 && f.have == 0 }

func (f *frames) begin() {
	h := &f.head
	f.left = payload(h[:])
	f.now = frame{kind: h[3], flags: h[4], stream: uint32(h[5]&0x7f)<<24 | uint32(h[6])<<16 | uint32(h[7])<<8 | uint32(h[8]), length: f.left}
}

// A gRPC server writes each message as a DATA frame of its own, and a client answers each frame with up to
// two of its own, which the server must read. Under a client that floods such a call (message flood of bench-hostile) these are
// most of what it reads: written as they are, they made the calls of others take 5 to 17 times as long instead of 3. So Wire writes
// consecutive DATA frames of a call as one: HTTP/2 lets any part of a body be in any frame, and flow control counts only the bodies.

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
