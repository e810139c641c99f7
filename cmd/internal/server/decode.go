package server

import (
	"strings"
	"unicode/utf8"

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
		batch.n = len(batch.urls)
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
	if o.ok = r.s.takes(u); o.ok && u.Queue == "" {
		u.URL = strings.Clone(u.URL) // its host may become the name of a queue
	}
	return true
}

// fastBatch reads a DiscoveredBatch.
func (r *messageReader) fastBatch(b []byte, batch *putBatch) bool {
	batch.urls = r.s.offerList(countItems(b))
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
