package admit

import (
	"bytes"
	"maps"
	"testing"

	"golang.org/x/net/http2"
)

// cut is what frames finds in a stream: for each frame its kind, stream, and how many bytes
// of data it has.
type cut struct {
	kind, flags byte
	stream      uint32
	data        int
}

// cutAll reads a stream in pieces of the lengths given, again and again.
func cutAll(t *testing.T, stream []byte, lengths []byte) []cut {
	var f frames
	var all []cut
	open := false
	for i := 0; len(stream) > 0; i++ {
		n := len(stream)
		if len(lengths) > 0 {
			n = min(n, 1+int(lengths[i%len(lengths)]))
		}
		p := stream[:n]
		stream = stream[n:]
		for len(p) > 0 {
			before := len(p)
			var pc piece
			if pc, p = f.next(p); len(p) == before {
				t.Fatal("got no progress")
			}
			if pc.frame == nil {
				continue
			}
			if pc.first == open {
				t.Fatalf("got first %t while a frame is open %t", pc.first, open)
			}
			if pc.first {
				all = append(all, cut{pc.kind, pc.flags, pc.stream, 0})
			}
			all[len(all)-1].data += len(pc.data)
			open = !pc.last
		}
	}
	if open {
		return all[:max(0, len(all)-1)]
	}
	return all
}

// FuzzFrames holds frames to the framer of x/net, however the stream is cut.
func FuzzFrames(f *testing.F) {
	var b bytes.Buffer
	fr := http2.NewFramer(&b, nil)
	for _, err := range []error{
		fr.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 14}),
		fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("abc"), EndHeaders: true}),
		fr.WriteData(1, false, []byte("hello")),
		fr.WriteDataPadded(1, false, []byte("padded"), make([]byte, 200)),
		fr.WriteDataPadded(1, false, nil, make([]byte, 3)),
		fr.WriteRSTStream(3, http2.ErrCodeCancel),
		fr.WriteData(1<<31-1, true, nil),
		fr.WritePing(false, [8]byte{1}),
	} {
		if err != nil {
			f.Fatal(err)
		}
	}
	f.Add(b.Bytes(), []byte{0})
	f.Add(b.Bytes(), []byte{8, 0, 200})
	f.Fuzz(func(t *testing.T, stream, lengths []byte) {
		fr := http2.NewFramer(nil, bytes.NewReader(stream))
		fr.SetMaxReadFrameSize(1<<24 - 1)
		fr.AllowIllegalReads = true
		var want []cut
		for {
			frame, err := fr.ReadFrame()
			if err != nil {
				break // of the end, or of a frame that its framer refuses
			}
			h := frame.Header()
			c := cut{byte(h.Type), byte(h.Flags), h.StreamID, 0}
			if d, ok := frame.(*http2.DataFrame); ok {
				c.data = len(d.Data())
			}
			want = append(want, c)
		}
		got := cutAll(t, stream, lengths)
		if len(got) < len(want) {
			t.Fatalf("got %d frames; want at least %d", len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("frame %d: got %+v; want %+v", i, got[i], want[i])
			}
		}
	})
}

// counted is what a Wire knows of a call.
type counted struct{ counted, cost, received int64 }

// countAll has a Wire look at a stream in pieces of a length at most.
func countAll(stream []byte, length int) (calls map[uint32]counted, pending int64) {
	w := &Wire{streams: map[uint32]*Stream{}}
	for len(stream) > 0 {
		n, _ := w.scan(stream[:min(length, len(stream))])
		stream = stream[n:]
	}
	calls = map[uint32]counted{}
	for id, s := range w.streams {
		calls[id] = counted{s.counted, s.cost, s.received.Load()}
	}
	return calls, w.pending
}

// FuzzWireCounts checks that a Wire counts the same, however the stream is cut.
func FuzzWireCounts(f *testing.F) {
	var b bytes.Buffer
	fr := http2.NewFramer(&b, nil)
	open := func(id uint32) error {
		return fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte("abc"), EndHeaders: true})
	}
	two := append(message(3), message(4)...)
	for _, err := range []error{
		open(1), open(3),
		fr.WriteData(1, false, message(100)), fr.WriteData(1, false, message(2000)), fr.WriteData(3, false, message(100)),
		fr.WriteData(3, false, two), fr.WriteData(3, false, message(0)), fr.WriteData(3, false, nil), fr.WriteData(3, false, message(7)),
		fr.WriteData(3, false, message(100)[:50]), fr.WriteData(3, false, message(100)[50:]), fr.WriteData(3, false, message(100)[:3]),
		fr.WriteData(1, false, message(8)), fr.WriteData(3, false, message(100)[3:]), fr.WriteData(3, false, message(1)),
		fr.WriteDataPadded(3, false, message(30), make([]byte, 9)), fr.WriteData(3, false, message(2)), fr.WriteRSTStream(1, http2.ErrCodeCancel),
		fr.WriteData(1, false, message(10)), fr.WriteData(1, false, message(10)), fr.WriteData(5, false, message(10)), fr.WriteData(3, true, message(9)),
	} {
		if err != nil {
			f.Fatal(err)
		}
	}
	f.Add(b.Bytes(), 20)
	f.Fuzz(func(t *testing.T, stream []byte, length int) {
		calls, pending := countAll(stream, len(stream))
		for _, n := range []int{1, 1 + length&0xff} {
			others, n2 := countAll(stream, n)
			if !maps.Equal(calls, others) || pending != n2 {
				t.Fatalf("pieces of %d bytes: got %+v, %d pending; want %+v, %d", n, others, n2, calls, pending)
			}
		}
	})
}
