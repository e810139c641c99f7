package main

import (
	"fmt"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// read reads frames until the connection ends.
func (w *wire) read() {
	dec := hpack.NewDecoder(4096, nil)
	unread := 0 // bytes that came since the last window update
	for {
		f, err := w.framer.ReadFrame()
		if err == nil {
			err = w.take(f, dec)
		}
		if err == nil && f.Header().Type == http2.FrameData {
			if unread += int(f.Header().Length); unread > receiveWindow/4 {
				err = w.goOn(f.Header().StreamID, unread)
				unread = 0
			}
		}
		if err != nil {
			w.mu.Lock()
			w.err = fmt.Errorf("cannot go on with the connection: %w", err)
			w.changed.Broadcast()
			w.mu.Unlock()
			return
		}
	}
}

// goOn enlarges the windows of the server by n bytes. A call that began since then has a window of
// its own.
func (w *wire) goOn(stream uint32, n int) error {
	return w.control(func() error {
		if err := w.framer.WriteWindowUpdate(0, uint32(n)); err != nil {
			return err
		}
		return w.framer.WriteWindowUpdate(stream, uint32(n))
	})
}

// control writes what can't wait.
func (w *wire) control(write func() error) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	if err := write(); err != nil {
		return err
	}
	return w.out.Flush()
}

// take does what a frame says.
func (w *wire) take(f http2.Frame, dec *hpack.Decoder) error {
	switch f := f.(type) {
	case *http2.PingFrame:
		if !f.IsAck() {
			return w.control(func() error { return w.framer.WritePing(true, f.Data) })
		}
	case *http2.SettingsFrame:
		if !f.IsAck() {
			w.settings(f)
			return w.control(w.framer.WriteSettingsAck)
		}
	case *http2.GoAwayFrame:
		return fmt.Errorf("the server said go away: %s %s", f.ErrCode, f.DebugData())
	case *http2.WindowUpdateFrame:
		w.grow(f.StreamID, int64(f.Increment))
	case *http2.DataFrame, *http2.HeadersFrame, *http2.RSTStreamFrame:
		return w.answer(f, dec)
	}
	return nil
}

func (w *wire) settings(f *http2.SettingsFrame) {
	v, ok := f.Value(http2.SettingInitialWindowSize)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.call != nil {
		w.call.window += int64(v) - w.initial
	}
	w.initial = int64(v)
	w.changed.Broadcast()
}

func (w *wire) grow(stream uint32, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case stream == 0:
		w.window += n
	case w.call != nil && w.call.id == stream:
		w.call.window += n
	}
	w.changed.Broadcast()
}

// answer takes a frame of the call under way.
func (w *wire) answer(f http2.Frame, dec *hpack.Decoder) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.call
	mine := c != nil && c.id == f.Header().StreamID
	defer func() {
		// Waking the sender for nothing would be most of what a message costs.
		if mine && (c.done || c.until != nil && c.until()) {
			w.changed.Broadcast()
		}
	}()
	switch f := f.(type) {
	case *http2.DataFrame:
		if mine {
			c.messages(f.Data())
		}
	case *http2.HeadersFrame:
		fields, err := dec.DecodeFull(f.HeaderBlockFragment())
		if err != nil {
			return err
		}
		if mine && f.StreamEnded() {
			c.done, c.err = true, statusOf(fields)
		}
	case *http2.RSTStreamFrame:
		if mine && !c.done {
			c.done, c.err = true, fmt.Errorf("the server reset the call: %s", f.ErrCode)
		}
	}
	return nil
}

// statusOf returns what the trailers of a call say.
func statusOf(fields []hpack.HeaderField) error {
	code, text := "", ""
	for _, f := range fields {
		switch f.Name {
		case "grpc-status":
			code = f.Value
		case "grpc-message":
			text = f.Value
		}
	}
	if code != "0" {
		return fmt.Errorf("the call ended with status %q %s", code, text)
	}
	return nil
}
