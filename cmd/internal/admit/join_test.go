package admit

import (
	"bytes"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"
)

// sink keeps what is written to it, up to a number of bytes.
type sink struct {
	net.Conn
	written bytes.Buffer
	room    int
}

var errSink = errors.New("no room")

func (s *sink) Write(b []byte) (int, error) {
	n := min(len(b), s.room-s.written.Len())
	s.written.Write(b[:n])
	if n < len(b) {
		return n, errSink
	}
	return n, nil
}

// rawFrame is a frame as it was sent; the last of a stream may be a part of one.
type rawFrame struct{ head, body string }

// cutRaw cuts a stream into frames, without those of other tests' code.
func cutRaw(stream []byte) (all []rawFrame) {
	for len(stream) >= headLength {
		n := min(headLength+(int(stream[0])<<16|int(stream[1])<<8|int(stream[2])), len(stream))
		all = append(all, rawFrame{string(stream[:headLength]), string(stream[headLength:n])})
		stream = stream[n:]
	}
	return append(all, rawFrame{string(stream), ""})
}

// whole makes one of consecutive DATA frames of a call, whatever their lengths.
func whole(all []rawFrame) (some []rawFrame) {
	for i, f := range all {
		if f.head != "" && (len(f.head) < headLength || len(f.body) < payload([]byte(f.head))) {
			return append(some, all[i:]...) // the last one, cut
		}
		if len(f.head) == headLength && f.head[3] == frameData && f.head[4] == 0 && f.body != "" {
			f.head = "the length" + f.head[3:]
			if last := len(some) - 1; last >= 0 && some[last].head == f.head {
				some[last].body += f.body
				continue
			}
		}
		some = append(some, f)
	}
	return some
}

// written writes a stream to a Wire in pieces, and returns what the client gets.
func written(t *testing.T, stream, lengths []byte) []byte {
	t.Helper()
	to := &sink{room: len(stream)}
	w := &Wire{inner: to}
	sent := bytes.Clone(stream)
	for i, p := 0, stream; len(p) > 0; i++ {
		n := len(p)
		if len(lengths) > 0 {
			n = min(n, 1+int(lengths[i%len(lengths)])*8)
		}
		if k, err := w.Write(p[:n]); k != n || err != nil {
			t.Fatalf("got %d, %v; want %d written", k, err, n)
		}
		p = p[n:]
	}
	if !bytes.Equal(sent, stream) {
		t.Fatal("Write changed what it was given")
	}
	return to.written.Bytes()
}

// FuzzWireJoins checks that the client gets the same calls and the same bytes of each, in the same order,
// however the stream is cut.
func FuzzWireJoins(f *testing.F) {
	var b bytes.Buffer
	fr := http2.NewFramer(&b, nil)
	for _, err := range []error{
		fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("abc"), EndHeaders: true}),
		fr.WriteData(1, false, message(3)), fr.WriteData(1, false, message(4)), fr.WriteData(3, false, message(5)), fr.WriteData(3, false, nil),
		fr.WriteData(3, false, message(6)), fr.WriteData(3, false, message(7)), fr.WritePing(false, [8]byte{1}), fr.WriteData(3, false, message(8)),
		fr.WriteDataPadded(3, false, message(9), make([]byte, 9)), fr.WriteData(3, false, message(10)), fr.WriteData(3, true, message(11)),
		fr.WriteData(1, false, message(900)), fr.WriteData(1, false, message(1000)), fr.WriteData(1, false, message(12)),
	} {
		if err != nil {
			f.Fatal(err)
		}
	}
	f.Add(b.Bytes(), []byte{})
	f.Add(b.Bytes(), []byte{0, 3, 90, 1})
	f.Fuzz(func(t *testing.T, stream, lengths []byte) {
		before, after := cutRaw(stream), cutRaw(written(t, stream, lengths))
		if len(after) > len(before) || !slices.Equal(whole(after), whole(before)) {
			t.Fatalf("got %q; want %q", after, before)
		}
	})
}

// TestWireJoins: acknowledgements that are written at once become one frame for each 16 KiB, and
// nothing else changes.
func TestWireJoins(t *testing.T) {
	var b bytes.Buffer
	fr := http2.NewFramer(&b, nil)
	many := func(id uint32, n, size int) {
		for range n {
			if err := fr.WriteData(id, false, []byte(strings.Repeat("x", size))); err != nil {
				t.Fatal(err)
			}
		}
	}
	many(1, 100, 20)
	many(3, 2, 20)
	many(1, 33, 1000)
	many(5, 2, joinedMost)
	var sizes []int
	for _, f := range cutRaw(written(t, b.Bytes(), nil)) {
		sizes = append(sizes, len(f.body))
	}
	if want := []int{2000, 40, 16000, 16000, 1000, joinedMost, joinedMost, 0}; !slices.Equal(sizes, want) {
		t.Errorf("got frames of %d bytes; want %d", sizes, want)
	}
}

// TestWireJoinsUntilAnError: a write that fails says that not all was written.
func TestWireJoinsUntilAnError(t *testing.T) {
	var b bytes.Buffer
	fr := http2.NewFramer(&b, nil)
	for range 2 {
		if err := fr.WriteData(1, false, message(10)); err != nil {
			t.Fatal(err)
		}
	}
	w := &Wire{inner: &sink{room: 20}}
	if n, err := w.Write(b.Bytes()); n != 20 || !errors.Is(err, errSink) {
		t.Errorf("got %d, %v; want 20 bytes and the error", n, err)
	}
}
