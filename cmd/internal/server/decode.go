package server

import (
	"strings"
	"unicode/utf8"
	"unsafe"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/frontierpb"
)

// messageReader decodes the messages of one stream that carries URLs: one copy
// of a message, whose parts its URLs share, where the generated code makes four
// allocations a URL. It reads messages as clients write them; any other, such as
// one with fields of a later protocol or one that is broken, is left to the
// generated code, so that what is accepted is the same.
type messageReader struct {
	s     *Server
	names interner
	chunk []byte // room for small messages
}

const (
	chunkBytes  = 8 << 10
	chunkedUpTo = 1 << 10
)

// own copies a message.
func (r *messageReader) own(data mem.BufferSlice) []byte {
	n := data.Len()
	if n > chunkedUpTo {
		b := make([]byte, n)
		data.CopyTo(b)
		return b
	}
	if len(r.chunk) < n {
		r.chunk = make([]byte, chunkBytes)
	}
	b := r.chunk[:n:n]
	r.chunk = r.chunk[n:]
	data.CopyTo(b)
	return b
}

func (r *messageReader) item(data mem.BufferSlice, it *putItem) error {
	b := r.own(data)
	*it = putItem{from: r, size: len(b) + perMessage}
	if r.fastItem(b, it) {
		return nil
	}
	var m frontierpb.URLItem
	if err := proto.Unmarshal(b, &m); err != nil {
		return err
	}
	*it = *r.s.itemOf(&m)
	return nil
}

func (r *messageReader) batch(data mem.BufferSlice, batch *putBatch) error {
	b := r.own(data)
	*batch = putBatch{from: r, size: len(b) + perMessage}
	if r.fastBatch(b, batch) {
		batch.size += perMessage * len(batch.urls)
		return nil
	}
	var m frontierpb.DiscoveredBatch
	if err := proto.Unmarshal(b, &m); err != nil {
		return err
	}
	*batch = *r.s.batchOf(&m)
	return nil
}

// field cuts the first field off b: its one-byte tag, and its value when it has
// a length. ok is false at what the fast path doesn't read.
func field(b []byte) (tag byte, value, rest []byte, ok bool) {
	if tag = b[0]; tag >= 0x80 {
		return 0, nil, nil, false
	}
	switch protowire.Type(tag & 7) {
	case protowire.BytesType:
		n, used := protowire.ConsumeVarint(b[1:])
		if used < 0 || n > uint64(len(b)-1-used) {
			return 0, nil, nil, false
		}
		at := 1 + used
		end := at + int(n)
		return tag, b[at:end:end], b[end:], true
	case protowire.VarintType:
		_, used := protowire.ConsumeVarint(b[1:])
		if used < 0 {
			return 0, nil, nil, false
		}
		return tag, b[1 : 1+used], b[1+used:], true
	}
	return 0, nil, nil, false
}

// Tags: the number of a field, and how its value is written.
const (
	bytes1  = 1<<3 | byte(protowire.BytesType)
	bytes2  = 2<<3 | byte(protowire.BytesType)
	bytes3  = 3<<3 | byte(protowire.BytesType)
	bytes4  = 4<<3 | byte(protowire.BytesType)
	varint2 = 2<<3 | byte(protowire.VarintType)
	varint4 = 4<<3 | byte(protowire.VarintType)
)

// asText is a string field's value, which shares b's memory.
func asText(b []byte) (string, bool) {
	return unsafe.String(unsafe.SliceData(b), len(b)), utf8.Valid(b)
}

func (r *messageReader) fastItem(b []byte, it *putItem) bool {
	var body []byte
	for len(b) > 0 {
		tag, value, rest, ok := field(b)
		if !ok {
			return false
		}
		switch tag {
		case bytes1, bytes2:
			if body != nil {
				return false
			}
			body, it.known = value, tag == bytes2
		case bytes3:
			it.id, ok = asText(value)
		case varint4: // creation_date, which is ours to say
		default:
			ok = false
		}
		if !ok {
			return false
		}
		b = rest
	}
	return r.fastBody(body, it)
}

// fastBody reads a DiscoveredURLItem or a KnownURLItem.
func (r *messageReader) fastBody(b []byte, it *putItem) bool {
	var info []byte
	for len(b) > 0 {
		tag, value, rest, ok := field(b)
		switch {
		case !ok:
			return false
		case tag == bytes1 && info == nil:
			info = value
		case tag == varint2 && it.known:
			it.date, _ = protowire.ConsumeVarint(value)
		default:
			return false
		}
		b = rest
	}
	if !r.fastInfo(info, &it.offered) {
		return false
	}
	if it.id == "" {
		it.id = it.url.URL
	}
	return true
}

// fastInfo reads a URLInfo.
func (r *messageReader) fastInfo(whole []byte, o *offered) bool {
	u := &o.url
	var key, crawl []byte
	metaAt, metaEnd := 0, 0
	for b := whole; len(b) > 0; {
		tag, value, rest, ok := field(b)
		if !ok {
			return false
		}
		at, end := len(whole)-len(b), len(whole)-len(rest)
		switch tag {
		case bytes1:
			u.URL, ok = asText(value)
		case bytes2:
			key, ok = value, utf8.Valid(value)
		case bytes3:
			if metaEnd == 0 {
				metaAt = at
			} else if metaEnd != at {
				return false // clients write the entries of a map one after the other
			}
			metaEnd, ok = end, isEntry(value)
		case bytes4:
			crawl, ok = value, utf8.Valid(value)
		default:
			ok = false
		}
		if !ok {
			return false
		}
		b = rest
	}
	if metaEnd > 0 {
		u.Meta = whole[metaAt:metaEnd:metaEnd]
	}
	u.Queue, u.Crawl = r.names.get(key), crawlName(r.names.get(crawl))
	if u.Queue == "" {
		u.URL = strings.Clone(u.URL) // its host may become the name of a queue
	}
	o.ok = r.s.takes(u)
	return true
}

// isEntry says whether b is an entry of the metadata as clients write them: a
// name, then a list of values.
func isEntry(b []byte) bool {
	for last := byte(0); len(b) > 0; {
		tag, value, rest, ok := field(b)
		if !ok || tag <= last || tag == bytes1 && !utf8.Valid(value) || tag == bytes2 && !isList(value) || tag > bytes2 {
			return false
		}
		last, b = tag, rest
	}
	return true
}

// isList says whether b is a StringList.
func isList(b []byte) bool {
	for len(b) > 0 {
		tag, value, rest, ok := field(b)
		if !ok || tag != bytes1 || !utf8.Valid(value) {
			return false
		}
		b = rest
	}
	return true
}

// fastBatch reads a DiscoveredBatch.
func (r *messageReader) fastBatch(b []byte, batch *putBatch) bool {
	batch.urls = make([]offered, 0, countItems(b))
	for len(b) > 0 {
		tag, value, rest, ok := field(b)
		switch {
		case !ok:
			return false
		case tag == bytes1:
			if batch.id, ok = asText(value); !ok {
				return false
			}
		case tag == bytes2:
			batch.urls = append(batch.urls, offered{})
			if !r.fastInfo(value, &batch.urls[len(batch.urls)-1]) {
				return false
			}
		default:
			return false
		}
		b = rest
	}
	return true
}

// countItems counts the items of a DiscoveredBatch, as far as it can be read.
func countItems(b []byte) int {
	n := 0
	for len(b) > 0 {
		tag, _, rest, ok := field(b)
		if !ok {
			return n
		}
		if tag == bytes2 {
			n++
		}
		b = rest
	}
	return n
}

// takes says whether a URL is one to look at: it has a text and is within the
// limits.
func (s *Server) takes(u *frontier.URL) bool {
	return u.URL != "" && len(u.URL) <= s.cfg.MaxURL && len(u.Meta) <= s.cfg.MaxMetadata
}

// interner gives equal names one string that holds no message in memory:
// queues keep their names for as long as they live.
type interner struct {
	young, old map[string]string
}

// internedNames bounds each generation.
const internedNames = 4096

func (in *interner) get(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if s, ok := in.young[string(b)]; ok {
		return s
	}
	s, ok := in.old[string(b)]
	if !ok {
		s = string(b)
	}
	if len(in.young) >= internedNames || in.young == nil {
		in.old, in.young = in.young, make(map[string]string)
	}
	in.young[s] = s
	return s
}
