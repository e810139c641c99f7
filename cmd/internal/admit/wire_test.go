package admit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/firstseen/firstseen/internal/testutil/hang"
)

// ends are the two ends of a connection that a listener accepted.
type ends struct {
	t      *testing.T
	client net.Conn
	frames *http2.Framer // of the client
	wire   *Wire
	pool   *Pool
}

const received = 64 << 10

const resetBurst, resetEvery = 100, 10 * time.Millisecond

// connected returns both ends of a connection of a listener, which end with the test.
func connected(t *testing.T, lc net.ListenConfig) (client net.Conn, server *Conn, l *Listener) {
	t.Helper()
	inner, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l = Listen(inner, Connections{Max: 4})
	if client, err = net.Dial("tcp", inner.Addr().String()); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range []io.Closer{client, conn, l} {
			_ = c.Close() // a test may have closed it
		}
	})
	return client, conn.(*Conn), l
}

func connect(t *testing.T) *ends {
	t.Helper()
	client, conn, l := connected(t, net.ListenConfig{})
	e := &ends{t: t, client: client, frames: http2.NewFramer(client, client), pool: NewPool(received)}
	e.wire = NewWire(conn, conn, WireConfig{Received: e.pool, Strange: NewPool(16 << 10), Resets: NewPace(resetBurst, resetEvery), Patience: 50 * time.Millisecond})
	t.Cleanup(func() {
		_ = e.wire.Close() // a test may have closed it
		if l.Open() != 0 || e.pool.Held() != 0 || e.wire.config.Strange.Held() != 0 {
			t.Errorf("got %d connections, %d and %d bytes at the end; want none", l.Open(), e.pool.Held(), e.wire.config.Strange.Held())
		}
	})
	if _, err := io.WriteString(client, preface); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *ends) headers(id uint32) {
	e.t.Helper()
	if err := e.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte("abc"), EndHeaders: true}); err != nil {
		e.t.Fatal(err)
	}
}

// open has the client begin a call and the server read its headers.
func (e *ends) open(id uint32, known bool) (*Stream, *atomic.Int32) {
	e.t.Helper()
	e.headers(id)
	e.read(func(kind byte) bool { return kind == frameHeaders })
	var ended atomic.Int32
	return e.wire.Opened(token(1), known, func() { ended.Add(1) }), &ended
}

// read reads until the last frame read is of a kind, and returns the number of bytes.
func (e *ends) read(until func(kind byte) bool) int {
	e.t.Helper()
	buf := make([]byte, 4096)
	for sum := 0; ; {
		n, err := e.wire.Read(buf)
		if err != nil {
			e.t.Fatal(err)
		}
		if sum += n; e.wire.reading.have == 0 && until(e.wire.reading.now.kind) {
			return sum
		}
	}
}

// readAll reads until an error.
func (e *ends) readAll() (n int, err error) {
	buf := make([]byte, 4096)
	for {
		m, err := e.wire.Read(buf)
		if n += m; err != nil {
			return n, err
		}
	}
}

// message is a gRPC message of so many bytes.
func message(n int) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(n)), make([]byte, n)...)
}

// TestWireFindsCalls sends the headers of several calls at once: the server gets them one by
// one, and hears when each has ended, once.
func TestWireFindsCalls(t *testing.T) {
	e := connect(t)
	var b bytes.Buffer
	fr := http2.NewFramer(&b, nil)
	for _, err := range []error{
		fr.WriteSettings(),
		fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("abc"), EndHeaders: true}),
		fr.WriteData(1, true, message(10)),
		fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: []byte("abc")}),
		fr.WriteContinuation(3, true, []byte("def")),
		fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 5, BlockFragment: []byte("abc"), EndHeaders: true}),
		fr.WriteRSTStream(5, http2.ErrCodeCancel),
		fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 7, BlockFragment: []byte("abc"), EndHeaders: true}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	all := b.Len()
	if _, err := e.client.Write(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	streams, ended, sum := map[uint32]*Stream{}, map[uint32]*atomic.Int32{}, 0
	for _, id := range []uint32{1, 3, 5, 7} {
		sum += e.read(func(kind byte) bool {
			return (kind == frameHeaders || kind == frameContinuation) && e.wire.reading.now.stream == id && e.wire.reading.now.flags&flagEndHeaders != 0
		})
		n := new(atomic.Int32)
		streams[id], ended[id] = e.wire.Opened(token(1), true, func() { n.Add(1) }), n
		if e.wire.streams[id] != streams[id] {
			t.Errorf("call %d: got another stream", id)
		}
	}
	if want := all + len(preface); sum != want {
		t.Errorf("got %d bytes; want %d", sum, want)
	}
	if ended[5].Load() != 1 {
		t.Error("the call that was reset has not ended")
	}
	go func() { _, _ = io.Copy(io.Discard, e.client) }() // until the test ends
	answer := http2.NewFramer(e.wire, nil)
	for _, err := range []error{
		answer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("abc"), EndHeaders: true}),
		answer.WriteData(1, false, []byte("abc")),
		answer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("abc"), EndHeaders: true, EndStream: true}),
		answer.WriteRSTStream(1, http2.ErrCodeNo),
		answer.WriteRSTStream(3, http2.ErrCodeRefusedStream),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if a, b, c := ended[1].Load(), ended[3].Load(), ended[7].Load(); a != 1 || b != 1 || c != 0 {
		t.Errorf("got %d, %d, %d ends; want those of the calls that were answered", a, b, c)
	}
	if err := e.wire.Close(); err != nil {
		t.Error(err)
	}
	for id, n := range ended {
		if n.Load() != 1 {
			t.Errorf("call %d: got %d ends; want 1", id, n.Load())
		}
	}
}

// TestWireBoundsWhatWaits has a client send what no handler reads, in several ways. The
// server reads little more of it than the client's share, counting what frames cost.
func TestWireBoundsWhatWaits(t *testing.T) {
	for name, send := range map[string]func(*http2.Framer) error{
		"half a message": func(fr *http2.Framer) error {
			err := fr.WriteData(1, false, message(4 << 20)[:8<<10])
			for err == nil {
				err = fr.WriteData(1, false, make([]byte, 8<<10))
			}
			return err
		},
		"messages": func(fr *http2.Framer) (err error) {
			for err == nil {
				err = fr.WriteData(1, false, message(1<<10))
			}
			return err
		},
		"small messages": func(fr *http2.Framer) (err error) {
			for err == nil {
				err = fr.WriteData(1, false, message(100))
			}
			return err
		},
		"frames of one byte": func(fr *http2.Framer) error {
			err := fr.WriteData(1, false, message(4 << 20)[:5])
			for err == nil {
				err = fr.WriteData(1, false, []byte{0})
			}
			return err
		},
		"padding": func(fr *http2.Framer) (err error) {
			for err == nil {
				err = fr.WriteDataPadded(1, false, nil, make([]byte, 255))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := connect(t)
			e.open(1, true)
			sent := make(chan error, 1)
			go func() { sent <- send(e.frames) }()
			n, err := e.readAll()
			if !errors.Is(err, ErrTooMuch) {
				t.Errorf("got %v; want ErrTooMuch", err)
			}
			most := received + 2*receivedSlab
			if name == "frames of one byte" {
				most = most / frameCost * (headLength + 1)
			}
			if name == "messages" { // gRPC has a buffer of 4 KiB for each
				most /= 3
			}
			if name == "padding" {
				most *= 3
			}
			if n > most {
				t.Errorf("got %d bytes read; want at most %d", n, most)
			}
			if err := e.wire.Close(); err != nil {
				t.Error(err)
			}
			<-sent
		})
	}
}

// TestWireLetsThroughWhatIsRead sends many times the share, while a handler gets the
// messages.
func TestWireLetsThroughWhatIsRead(t *testing.T) {
	e := connect(t)
	e.wire.config.Patience = hang.Limit // the handler may be slow
	s, _ := e.open(1, true)
	const messages = 5000
	sent := make(chan error, 1)
	go func() {
		var err error
		for i := range messages {
			if err = errors.Join(err, e.frames.WriteData(1, i == messages-1, message(i%3000))); err != nil {
				break
			}
		}
		sent <- errors.Join(err, e.client.(*net.TCPConn).CloseWrite())
	}()
	got := make(chan struct{})
	go func() {
		defer close(got)
		for i := range messages {
			for s.received.Load()-s.delivered.Load() < int64(i%3000+messageHead) {
				time.Sleep(time.Microsecond)
			}
			s.Delivered(i % 3000)
		}
	}()
	if _, err := e.readAll(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v; want everything", err)
	}
	<-got
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if n := e.pool.Held(); n != 0 {
		t.Errorf("got %d bytes held after everything was delivered; want none", n)
	}
}

// TestWireOfStrangers bounds what a connection may do before a call was let in.
func TestWireOfStrangers(t *testing.T) {
	t.Run("calls", func(t *testing.T) {
		e := connect(t)
		for id := range uint32(8) {
			e.open(2*id+1, false)
		}
		e.headers(17)
		if _, err := e.readAll(); !errors.Is(err, ErrTooMuch) {
			t.Errorf("a ninth call: got %v; want ErrTooMuch", err)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		e := connect(t)
		e.open(1, false)
		for range 3 {
			if err := e.frames.WriteData(1, false, message(16 << 10)[:16<<10]); err != nil {
				t.Fatal(err)
			}
		}
		n, err := e.readAll()
		if !errors.Is(err, ErrTooMuch) || n > 20<<10 {
			t.Errorf("got %d bytes, %v; want ErrTooMuch", n, err)
		}
	})
	t.Run("known later", func(t *testing.T) {
		e := connect(t)
		for id := range uint32(20) {
			e.open(2*id+1, id > 2)
		}
	})
}

// TestWireReadsSlowlyAfterResets has a client begin and reset calls as fast as it can.
func TestWireReadsSlowlyAfterResets(t *testing.T) {
	e := connect(t)
	sent := make(chan error, 1)
	go func() {
		var err error
		for id := uint32(1); err == nil; id += 2 {
			err = errors.Join(e.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte("abc"), EndHeaders: true}),
				e.frames.WriteRSTStream(id, http2.ErrCodeCancel))
		}
		sent <- err
	}()
	calls, buf := 0, make([]byte, 4096)
	began := time.Now()
	for calls < resetBurst+20 {
		if _, err := e.wire.Read(buf); err != nil {
			t.Fatal(err)
		}
		if e.wire.reading.now.kind == frameHeaders {
			e.wire.Opened(token(1), true, func() {})
			calls++
		}
	}
	if took := time.Since(began); took < 10*resetEvery {
		t.Errorf("read %d calls that were reset in %v; want it to take the time of those beyond %d", calls, took, resetBurst)
	}
	if err := e.client.Close(); err != nil {
		t.Error(err)
	}
	<-sent
}

// TestWirePauses has the server pause a connection: the next read waits, once, and not longer
// than the connection is open.
func TestWirePauses(t *testing.T) {
	const long = time.Hour
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		w := NewWire(&Conn{Conn: server, place: NewPlaces(1, 1).Enter(Client{}, func() {})}, server, WireConfig{Strange: NewPool(1 << 10)})
		go func() { _, _ = io.WriteString(client, preface) }() // until the pipe is closed
		began, buf := time.Now(), make([]byte, 10)
		w.Pause(long)
		w.Pause(time.Second) // the longest counts
		if took := time.Since(began); took != 0 {
			t.Errorf("Pause took %v; want it to wait for nothing itself", took)
		}
		for range 2 {
			if _, err := w.Read(buf); err != nil || time.Since(began) != long {
				t.Errorf("got %v after %v; want a read after %v", err, time.Since(began), long)
			}
		}
		w.Pause(long)
		time.AfterFunc(time.Second, func() { _ = w.Close() }) // by the server's end
		if _, err := w.Read(buf); !errors.Is(err, net.ErrClosed) || time.Since(began) != long+time.Second {
			t.Errorf("got %v after %v; want the pause to end with the connection", err, time.Since(began))
		}
	})
}

// TestWireResetsCostOnePause has a client reset many calls at once: the server reads all the
// resets, and pauses once for them.
func TestWireResetsCostOnePause(t *testing.T) {
	e := connect(t)
	const calls = resetBurst + 50
	for id := range uint32(calls) {
		e.open(2*id+1, true)
	}
	var b bytes.Buffer
	fr := http2.NewFramer(&b, nil)
	for id := range uint32(calls) {
		if err := fr.WriteRSTStream(2*id+1, http2.ErrCodeCancel); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.client.Write(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	open, buf := calls, make([]byte, 4096)
	for open > 0 {
		if e.wire.pause = 0; open < calls {
			t.Fatal("the resets came in pieces; want one read")
		}
		if _, err := e.wire.Read(buf); err != nil {
			t.Fatal(err)
		}
		e.wire.mu.Lock()
		open = len(e.wire.streams)
		e.wire.mu.Unlock()
	}
	if d := e.wire.pause; d < (calls-resetBurst)*resetEvery/2 || d > (calls-resetBurst)*resetEvery {
		t.Errorf("got a pause of %v before the next read; want that of %d resets", d, calls-resetBurst)
	}
}
