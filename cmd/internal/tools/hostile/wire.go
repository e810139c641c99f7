//go:build linux

package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	preface       = http2.ClientPreface
	emptySettings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	frameMax      = 16 << 10
)

// wire is an HTTP/2 connection of an attacker. It obeys the windows of the daemon, since the daemon
// closes a connection that does not. It enlarges its own window only while it reads.
type wire struct {
	conn  net.Conn
	token string
	reads atomic.Bool // it reads answers

	mu      sync.Mutex
	changed sync.Cond
	out     *http2.Framer
	next    uint32
	window  int64            // of the connection
	initial int64            // of a new call
	windows map[uint32]int64 // of calls that send
	err     error            // why it ended
}

func (a *attacker) wire(i int, token string) (*wire, error) {
	conn, err := a.dial(a.grpc, i)
	if err != nil {
		return nil, err
	}
	w := &wire{conn: conn, token: token, out: http2.NewFramer(conn, nil), next: 1, window: 65535, initial: 65535, windows: map[uint32]int64{}}
	w.changed.L = &w.mu
	if _, err := io.WriteString(conn, preface+emptySettings); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	go w.read()
	return w, nil
}

func (w *wire) close() { _ = w.conn.Close() } // it may have ended

// wait waits until the connection has ended.
func (w *wire) wait() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil {
		w.changed.Wait()
	}
	return w.err
}

// read reads frames until the connection ends. DATA counts as not taken.
func (w *wire) read() {
	in := http2.NewFramer(nil, w.conn)
	for {
		f, err := in.ReadFrame()
		w.mu.Lock()
		if err == nil {
			err = w.heed(f)
		}
		if err != nil {
			w.err = err
		}
		w.changed.Broadcast()
		w.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// heed does what a frame asks for, with the wire locked.
func (w *wire) heed(f http2.Frame) error {
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			return nil
		}
		if v, ok := f.Value(http2.SettingInitialWindowSize); ok {
			for id := range w.windows {
				w.windows[id] += int64(v) - w.initial
			}
			w.initial = int64(v)
		}
		return w.out.WriteSettingsAck()
	case *http2.WindowUpdateFrame:
		if f.StreamID == 0 {
			w.window += int64(f.Increment)
		} else if _, ok := w.windows[f.StreamID]; ok {
			w.windows[f.StreamID] += int64(f.Increment)
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			return w.out.WritePing(true, f.Data)
		}
	case *http2.DataFrame:
		if n := f.Length; w.reads.Load() && n > 0 {
			return errors.Join(w.out.WriteWindowUpdate(0, n), w.out.WriteWindowUpdate(f.StreamID, n))
		}
	case *http2.HeadersFrame:
		if f.StreamEnded() {
			delete(w.windows, f.StreamID)
		}
	case *http2.RSTStreamFrame:
		delete(w.windows, f.StreamID)
	}
	return nil
}

// open begins a call.
func (w *wire) open(method string) (uint32, error) {
	var b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	enc.SetMaxDynamicTableSizeLimit(0)
	fields := [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "localhost"}, {"content-type", "application/grpc"}, {"te", "trailers"}}
	if w.token != "" {
		fields = append(fields, [2]string{"authorization", "Bearer " + w.token})
	}
	for _, f := range fields {
		_ = enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}) // a Buffer takes everything
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	id := w.next
	w.next += 2
	w.windows[id] = w.initial
	return id, w.out.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: b.Bytes(), EndHeaders: true})
}

func (w *wire) reset(id uint32) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.windows, id)
	return w.out.WriteRSTStream(id, http2.ErrCodeCancel)
}

// errOver means that the daemon ended a call.
var errOver = errors.New("the call has ended")

// send sends bytes as the daemon's windows allow.
func (w *wire) send(id uint32, b []byte, end bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(b) > 0 {
		room, open := w.windows[id]
		if w.err != nil || !open {
			return errors.Join(w.err, errOver)
		}
		n := min(int64(len(b)), room, w.window, frameMax)
		if n <= 0 {
			w.changed.Wait()
			continue
		}
		w.windows[id] -= n
		w.window -= n
		last := end && int(n) == len(b)
		if err := w.out.WriteData(id, last, b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
