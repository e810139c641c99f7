package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	// frameMax is the payload of the frames we send; no peer refuses it.
	frameMax = 16 << 10
	// receiveWindow is how many bytes the server may send before we enlarge the window.
	receiveWindow = 1 << 20
)

// wire is a connection to a server that carries gRPC calls in turn.
//
// It replaces a client library, whose cost per message is more than that of a fast server: on a
// shared machine we would measure the library. The server receives the same frames as
// from a library: one for each message, and as many in a packet as are ready.
type wire struct {
	conn   net.Conn
	method map[string][]byte // header blocks, by method

	writing sync.Mutex // guards the framer and out; taken after mu, if both
	out     *bufio.Writer
	framer  *http2.Framer

	mu      sync.Mutex
	changed sync.Cond // anything below
	next    uint32    // of streams
	call    *call     // the one under way
	window  int64     // what the server takes on the connection
	initial int64     // and on a new stream
	err     error     // why nothing goes any more
}

// call is a call under way.
type call struct {
	w       *wire
	id      uint32
	onEach  func([]byte) // gets each message, on the reading goroutine
	window  int64
	partial []byte      // a message of which more is to come
	until   func() bool // what wait waits for
	done    bool
	err     error
}

// dialWire connects and begins to read.
func dialWire(addr string) (*wire, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot reach server: %w", err)
	}
	w := &wire{conn: conn, out: bufio.NewWriterSize(conn, 32<<10), next: 1, window: 65535, initial: 65535, method: map[string][]byte{}}
	w.changed.L = &w.mu
	w.framer = http2.NewFramer(w.out, bufio.NewReaderSize(conn, 32<<10))
	w.framer.SetReuseFrames()
	_, err = w.out.WriteString(http2.ClientPreface)
	err = errors.Join(err,
		w.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: receiveWindow}, http2.Setting{ID: http2.SettingEnablePush, Val: 0}),
		w.framer.WriteWindowUpdate(0, receiveWindow-65535), w.out.Flush())
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	go w.read()
	return w, nil
}

func (w *wire) close() { _ = w.conn.Close() } // ends the reader, too

// headers returns the header block of a call.
func (w *wire) headers(method string) []byte {
	if b, ok := w.method[method]; ok {
		return b
	}
	var b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	enc.SetMaxDynamicTableSizeLimit(0) // so that the block is good for every call
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", "/urlfrontier.URLFrontier/" + method},
		{":authority", "localhost"}, {"content-type", "application/grpc"}, {"te", "trailers"}} {
		_ = enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}) // a Buffer takes everything
	}
	w.method[method] = b.Bytes()
	return b.Bytes()
}

// start begins a call; the one before must have ended.
func (w *wire) start(method string, onEach func([]byte)) (*call, error) {
	w.mu.Lock()
	c := &call{w: w, id: w.next, onEach: onEach, window: w.initial}
	w.next += 2
	w.call = c
	err := w.err
	w.mu.Unlock()
	if err != nil {
		return nil, err
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	return c, w.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: c.id, BlockFragment: w.headers(method), EndHeaders: true})
}

// send sends a message with its five-byte prefix as soon as the server has room for it. The caller
// must then call flush.
func (c *call) send(prefixed []byte) error {
	for len(prefixed) > 0 {
		n, err := c.reserve(len(prefixed))
		if err != nil {
			return err
		}
		c.w.writing.Lock()
		err = c.w.framer.WriteData(c.id, false, prefixed[:n])
		c.w.writing.Unlock()
		if err != nil {
			return err
		}
		prefixed = prefixed[n:]
	}
	return nil
}

// reserve takes up to want bytes of both windows.
func (c *call) reserve(want int) (int, error) {
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		if w.err != nil || c.done {
			return 0, errors.Join(w.err, c.err, errors.New("cannot send; the call has ended"))
		}
		if room := min(c.window, w.window); room > 0 {
			n := min(int64(want), room, frameMax)
			c.window -= n
			w.window -= n
			return int(n), nil
		}
		w.mu.Unlock()
		err := w.flush()
		w.mu.Lock()
		if err != nil {
			return 0, err
		}
		if min(c.window, w.window) <= 0 && !c.done && w.err == nil {
			w.changed.Wait()
		}
	}
}

func (w *wire) flush() error {
	w.writing.Lock()
	defer w.writing.Unlock()
	return w.out.Flush()
}

// finish closes the sending side of the call.
func (c *call) finish() error {
	c.w.writing.Lock()
	defer c.w.writing.Unlock()
	return errors.Join(c.w.framer.WriteData(c.id, true, nil), c.w.out.Flush())
}

// wait returns when the call has ended or until returns true. It calls until after each received
// frame, under the lock of onEach.
func (c *call) wait(until func() bool) error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.until = until
	for !c.done && c.w.err == nil && !until() {
		c.w.changed.Wait()
	}
	c.until = nil
	if c.done {
		return c.err
	}
	if until() {
		return nil
	}
	return c.w.err
}

// end waits for the end of the call.
func (c *call) end() error {
	err := c.wait(func() bool { return false })
	if err == nil && len(c.partial) > 0 {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// messages passes on each complete message in the received data.
func (c *call) messages(data []byte) {
	if len(c.partial) > 0 {
		c.partial = append(c.partial, data...)
		data = c.partial
	}
	for len(data) >= 5 {
		n := 5 + int(binary.BigEndian.Uint32(data[1:]))
		if len(data) < n {
			break
		}
		c.onEach(data[5:n])
		data = data[n:]
	}
	c.partial = append(c.partial[:0], data...)
}
