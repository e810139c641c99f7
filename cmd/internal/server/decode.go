package server

import (
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
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

	raw    []byte // the message that was received, until it is decoded
	items  int    // of raw, if it is a batch
	costly bool   // raw is left to the generated code
}

const (
	chunkBytes  = 8 << 10
	chunkedUpTo = 1 << 10
	// costOfGenerated is what a byte of a message costs at most in memory when the
	// generated code decodes it: an empty URLInfo has two bytes.
	costOfGenerated = 128
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

// item receives a URLItem, which openItem decodes.
func (r *messageReader) item(data mem.BufferSlice, it *putItem) {
	r.raw, r.items, r.costly = r.own(data), 0, false
	*it = putItem{from: r, size: r.cost()}
}

// batch receives a DiscoveredBatch, which openBatch decodes.
func (r *messageReader) batch(data mem.BufferSlice, batch *putBatch) {
	r.raw, r.costly = r.own(data), false
	r.items = countItems(r.raw)
	*batch = putBatch{from: r, size: r.cost()}
}

// cost is about what the message costs in memory once it is decoded.
func (r *messageReader) cost() int {
	if r.costly {
		return perMessage + costOfGenerated*len(r.raw)
	}
	return len(r.raw) + perMessage*(1+r.items)
}

// openItem decodes the item that was received, or returns false when it costs
// more than was thought: then its size says so, and the next call decodes it.
func (r *messageReader) openItem(it *putItem) (opened bool, err error) {
	if !r.costly && r.fastItem(r.raw, it) {
		r.raw = nil
		return true, nil
	}
	if !r.costly {
		r.costly = true
		it.size = r.cost()
		return false, nil
	}
	var m frontierpb.URLItem
	if err := r.generated(&m); err != nil {
		return false, err
	}
	*it = *r.s.itemOf(&m)
	return true, nil
}

// openBatch is openItem for a batch.
func (r *messageReader) openBatch(batch *putBatch) (opened bool, err error) {
	if !r.costly && r.fastBatch(r.raw, batch) {
		r.raw, batch.n = nil, len(batch.urls)
		return true, nil
	}
	if !r.costly {
		r.s.recycle(batch)
		r.costly = true
		batch.size = r.cost()
		return false, nil
	}
	var m frontierpb.DiscoveredBatch
	if err := r.generated(&m); err != nil {
		return false, err
	}
	*batch = *r.s.batchOf(&m)
	return true, nil
}

// generated decodes the message with the generated code.
func (r *messageReader) generated(m proto.Message) error {
	raw := r.raw
	if r.raw = nil; proto.Unmarshal(raw, m) != nil {
		return errUnreadable
	}
	return nil
}

// errUnreadable has the code that gRPC gives to such messages.
var errUnreadable = status.Error(codes.Internal, "cannot read message; got bytes that aren't of its kind")

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
	batch.urls = r.s.offerList(r.items)
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

// takes reports whether a URL may go to the frontier: it has a text, is within the
// limits, and is not of the server's own crawl.
func (s *Server) takes(u *frontier.URL) bool {
	return u.URL != "" && u.Crawl != controlCrawl && len(u.URL) <= s.cfg.MaxURL && len(u.Meta) <= s.cfg.MaxMetadata
}
