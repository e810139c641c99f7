package admit

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
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
			if pc.last && pc.kind == frameData {
				all[len(all)-1].data = pc.length - pc.padding
			}
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

// TestWireCountsWhatIsNotDelivered sends large frames, frames of one byte and padding in any order, and delivers a part of
// them: what pends is what the other frames cost, whatever those before them did.
func TestWireCountsWhatIsNotDelivered(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var b bytes.Buffer
		fr := http2.NewFramer(&b, nil)
		err := fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("abc"), EndHeaders: true})
		var sizes, costs []int
		sum := 0
		for range 1 + rng.IntN(60) {
			n, pad := 1, 0
			switch rng.IntN(4) {
			case 0:
				n = 1 + rng.IntN(15<<10)
			case 1:
				n, pad = rng.IntN(3), 1+rng.IntN(200)
			}
			length := n
			if pad > 0 {
				length += 1 + pad
				err = errors.Join(err, fr.WriteDataPadded(1, false, make([]byte, n), make([]byte, pad)))
			} else {
				err = errors.Join(err, fr.WriteData(1, false, make([]byte, n)))
			}
			sizes, costs, sum = append(sizes, n), append(costs, frameCost+bufferOf(length)), sum+n
		}
		if err != nil {
			t.Fatal(err)
		}
		w := &Wire{streams: map[uint32]*Stream{}}
		for rest := b.Bytes(); len(rest) > 0; {
			n, _ := w.scan(rest[:min(len(rest), 1+rng.IntN(3000))])
			rest = rest[n:]
		}
		for read := 0; ; {
			left, least, most := read, 0, 0
			for i, n := range sizes {
				if most += costs[i]; left < n || read == 0 {
					least += costs[i]
				}
				if left >= n && left > 0 { // an empty frame goes with the next one
					most -= costs[i]
				}
				left = max(0, left-n)
			}
			if least > 0 && read > 0 {
				least -= 16<<10 + 2*frameCost // the frame that is read in part
			}
			if got := int(w.count()); got < least || got > most {
				t.Fatalf("frames of %v bytes, %d delivered: got %d bytes pending; want %d to %d", sizes, read, got, least, most)
			}
			if read == sum {
				break
			}
			step := 1 + rng.IntN(sum-read)
			read += step
			w.streams[1].delivered.Add(int64(step))
		}
	}
}
