package server

import (
	"fmt"
	"unicode/utf8"

	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/frontierpb"
)

// codec is protobuf, with ways of its own for the messages that come and go by
// the million.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(encodingproto.Name)} }

// Unmarshal implements encoding.CodecV2. Of messages that come by the million it copies the
// bytes only: a call takes its share of memory before it decodes them.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	switch m := v.(type) {
	case *putItem:
		m.from.item(data, m)
		return nil
	case *putBatch:
		m.from.batch(data, m)
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(*encoded); ok {
		return m.buffers[:], nil
	}
	return c.CodecV2.Marshal(v)
}

// encoded is a message that is ready to be sent. Those of a batch share a slab:
// the transport drops them at about the same time.
type encoded struct {
	data    mem.SliceBuffer
	buffers [1]mem.Buffer
}

// answers are messages that are ready to be sent.
type answers []encoded

// size returns about the bytes that the answers take in memory.
func (a answers) size() int64 {
	n := int64(0)
	for i := range a {
		n += perAnswer + int64(len(a[i].data))
	}
	return n
}

// perAnswer is about what an answer takes besides its bytes.
const perAnswer = 64

// encodeAll encodes n messages, each appended by one call. One that is longer than the rest of
// the slab grows by itself: a slab that grew would copy the messages before it, and each of its
// copies would stay in memory.
func encodeAll(n, sizeHint int, appendOne func(dst []byte, i int) []byte) answers {
	out := make(answers, n)
	slab := make([]byte, 0, n*sizeHint)
	for i := range out {
		if cap(slab)-len(slab) < sizeHint {
			slab = make([]byte, 0, (n-i)*sizeHint)
		}
		one := appendOne(slab[len(slab):], i)
		if len(one) <= cap(slab)-len(slab) {
			slab = slab[:len(slab)+len(one)]
		}
		out[i].data = one[:len(one):len(one)]
		out[i].buffers[0] = &out[i].data
	}
	return out
}

// appendAck appends an AckMessage.
func appendAck(dst []byte, id string, st frontierpb.AckMessage_Status) []byte {
	dst = appendString(dst, 1, id)
	if st != 0 {
		dst = append(dst, varint2, byte(st))
	}
	return dst
}

// appendBatchAck appends a BatchAck.
func appendBatchAck(dst []byte, id string, statuses []frontierpb.AckMessage_Status) []byte {
	dst = appendString(dst, 1, id)
	if len(statuses) == 0 {
		return dst
	}
	dst = protowire.AppendVarint(append(dst, bytes2), uint64(len(statuses)))
	for _, st := range statuses {
		dst = append(dst, byte(st))
	}
	return dst
}

// appendLease appends the URLInfo of a lease.
func appendLease(dst []byte, l *frontier.Lease) []byte {
	dst = appendString(dst, 1, wireURL(l.URL))
	dst = appendString(dst, 2, l.Queue)
	if isMetadata(l.Meta) {
		dst = append(dst, l.Meta...)
	}
	return appendString(dst, 4, l.Crawl)
}

// appendString appends a string field, as proto3 does: not at all if empty.
func appendString(dst []byte, number byte, s string) []byte {
	if s == "" {
		return dst
	}
	dst = protowire.AppendVarint(append(dst, number<<3|byte(protowire.BytesType)), uint64(len(s)))
	return append(dst, s...)
}

// wireURL returns a URL as protobuf and JSON text can carry it: of one that is not UTF-8, with
// its invalid bytes escaped, as browsers do. In crawls with canonical dedup that is a
// variant of the same page, so a client that fetches it and states the result is understood.
func wireURL(url string) string {
	if utf8.ValidString(url) {
		return url
	}
	out := make([]byte, 0, len(url)+16)
	for len(url) > 0 {
		r, size := utf8.DecodeRuneInString(url)
		if r == utf8.RuneError && size == 1 {
			out = fmt.Appendf(out, "%%%02X", url[0])
		} else {
			out = append(out, url[:size]...)
		}
		url = url[size:]
	}
	return string(out)
}
