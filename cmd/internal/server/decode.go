package server

import (
	"cmp"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/zerocopy"
	"github.com/firstseen/firstseen/store"
)

// One decoder reads what clients offer. The generated code makes four allocations a URL and decodes metadata, of
// which the frontier only keeps the bytes; it takes about 24 times their length for it. There was a fast way for messages as clients
// write them beside it, with a second estimate of memory for what was left to the generated code, and a third way
// for messages that are too long for either. This one accepts what the generated code accepts, in whatever order
// and in whatever parts, leaves metadata as it is, and copies nothing but metadata that is not written in one piece. A
// test and a fuzz target hold it to the generated code.

// offered is a URL as a client sent it, in the frontier's terms. ok is false
// for one that is refused before anybody looks at it.
type offered struct {
	url frontier.Link
	ok  bool
}

// putItem is a URLItem.
type putItem struct {
	offered
	id    string
	known bool   // it states the result of a URL rather than offering one
	date  uint64 // refetchable_from_date, when known
	// imported is set for items that state a URL's present state, not the result of a fetch.
	imported bool
	size     int // about its bytes in memory

	from *messageReader // reads it
}

// putBatch is a DiscoveredBatch.
type putBatch struct {
	id   string
	urls []offered // until they are in an addList
	n    int       // how many there were
	size int

	from *messageReader
}

// messageReader reads the messages of one stream. It copies each once, and its URLs share the copy.
type messageReader struct {
	s     *service
	crawl string // of the URL before, if it has one
	chunk []byte // room for small messages
	raw   []byte // the message that was received, until it is decoded
	items int    // fields of a batch, tooMany for more than it may have
}

const (
	chunkBytes  = 8 << 10
	chunkedUpTo = 1 << 10
	// perURL is about what a URL costs in memory besides its texts, from its message to its commit.
	perURL = 1 << 10
	// maxItems and maxCrawls bound a DiscoveredBatch. tooMany stands for more fields than an ID and maxItems.
	maxItems, maxCrawls, tooMany = 1 << 15, 1 << 10, -1
)

// errUnreadable has the code that gRPC returns for such messages.
var errUnreadable = status.Error(codes.Internal, "cannot read message; got bytes that aren't of its kind")

// copy copies a message.
func (r *messageReader) copy(data mem.BufferSlice) {
	n := data.Len()
	if n > chunkedUpTo {
		r.raw = make([]byte, n)
	} else {
		if len(r.chunk) < n {
			r.chunk = make([]byte, chunkBytes)
		}
		r.raw, r.chunk = r.chunk[:n:n], r.chunk[n:]
	}
	data.CopyTo(r.raw)
}

// item receives a URLItem, which openItem decodes once its share of memory was taken.
func (r *messageReader) item(data mem.BufferSlice, it *putItem) {
	r.copy(data)
	*it = putItem{from: r, size: len(r.raw) + perURL}
}

// batch receives a DiscoveredBatch, which openBatch decodes.
func (r *messageReader) batch(data mem.BufferSlice, batch *putBatch) {
	r.copy(data)
	*batch = putBatch{from: r, size: len(r.raw) + perURL}
	r.items = 0
	for b := r.raw; len(b) > 0; r.items++ {
		if r.items > maxItems { // an ID and as many items
			r.raw, r.items = nil, tooMany
			return
		}
		_, _, n := protowire.ConsumeField(b)
		if n < 0 {
			break // openBatch says so
		}
		b = b[n:]
	}
	batch.size += perURL * r.items
}

// openItem decodes the item that was received.
func (r *messageReader) openItem(it *putItem) error {
	raw := r.raw
	r.raw = nil
	var p infoParts
	for b := raw; len(b) > 0; {
		f, rest, ok := cutField(b)
		if !ok {
			return errUnreadable
		}
		b = rest
		switch f.tag {
		case bytes1, bytes2:
			if known := f.tag == bytes2; known != it.known {
				it.known, it.date, p = known, 0, infoParts{} // the other kind of item takes its place
			}
			if err := r.readBody(f.value, it, &p); err != nil {
				return err
			}
		case bytes3:
			if it.id, ok = asText(f.value); !ok {
				return errUnreadable
			}
		}
	}
	r.complete(&it.offered, &p)
	it.id = cmp.Or(it.id, it.url.URL)
	return nil
}

// readBody reads a DiscoveredURLItem or a KnownURLItem.
func (r *messageReader) readBody(b []byte, it *putItem, p *infoParts) error {
	for len(b) > 0 {
		f, rest, ok := cutField(b)
		if !ok {
			return errUnreadable
		}
		b = rest
		switch {
		case f.tag == bytes1:
			if err := p.read(f.value, r.s.cfg.MaxMetadata); err != nil {
				return err
			}
		case f.tag == varint2 && it.known:
			it.date, _ = protowire.ConsumeVarint(f.value)
		}
	}
	return nil
}

// openBatch is openItem for a batch.
func (r *messageReader) openBatch(batch *putBatch) error {
	if r.items == tooMany {
		return status.Errorf(codes.InvalidArgument, "cannot take batch; got more fields than an ID and %d items", maxItems)
	}
	raw := r.raw
	r.raw = nil
	batch.urls = r.s.offerList(r.items)
	defer func() { batch.n = len(batch.urls) }()
	crawls, last := map[string]struct{}{}, "" // each crawl is written in a step of its own
	for b := raw; len(b) > 0; {
		f, rest, ok := cutField(b)
		if !ok {
			return errUnreadable
		}
		b = rest
		switch f.tag {
		case bytes1:
			if batch.id, ok = asText(f.value); !ok {
				return errUnreadable
			}
		case bytes2:
			var p infoParts
			if err := p.read(f.value, r.s.cfg.MaxMetadata); err != nil {
				return err
			}
			batch.urls = append(batch.urls, offered{})
			o := &batch.urls[len(batch.urls)-1]
			r.complete(o, &p)
			if o.url.Crawl != last {
				last = o.url.Crawl
				crawls[last] = struct{}{}
			}
			if len(crawls) > maxCrawls {
				return status.Errorf(codes.InvalidArgument, "cannot take batch; got more than %d crawls", maxCrawls)
			}
		}
	}
	return nil
}

// complete assembles a URL from the parts that were read.
func (r *messageReader) complete(o *offered, p *infoParts) {
	o.url = frontier.Link{URL: p.url, Queue: p.queue, Meta: p.meta, Crawl: crawlName(r.crawlOf(p.crawl))}
	o.ok = r.s.takes(&o.url)
}

// crawlOf returns the name of a crawl, which keeps no message in memory as long as the crawl is known.
func (r *messageReader) crawlOf(name string) string {
	switch {
	case len(name) > store.MaxQueueKey: // it will be refused
		return name
	case name != r.crawl:
		r.crawl = string([]byte(name)) // a copy
	}
	return r.crawl
}

// takes reports whether a URL may go to the frontier: it has a text, is within the
// limits, and is not of the server's own crawl.
func (s *service) takes(u *frontier.Link) bool {
	return u.URL != "" && u.Crawl != frontier.OwnCrawl && len(u.URL) <= s.cfg.MaxURL && len(u.Meta) <= s.cfg.MaxMetadata
}

// infoParts collects the fields of a URLInfo, which the wire format may split into several parts.
type infoParts struct {
	url, queue, crawl string
	meta              []byte // entries of the map, as isMetadata has them: of the message, or a copy
}

// read reads a part. Metadata that is longer than it may be is not copied to the end: it will be refused.
func (p *infoParts) read(whole []byte, maxMeta int) (err error) {
	metaEnd := -1 // where the entries that are p.meta end in the message
	for at := 0; at < len(whole); {
		f, rest, ok := cutField(whole[at:])
		if !ok {
			return errUnreadable
		}
		end := len(whole) - len(rest)
		switch f.tag {
		case bytes1:
			p.url, ok = asText(f.value)
		case bytes2:
			p.queue, ok = asText(f.value)
		case bytes4:
			p.crawl, ok = asText(f.value)
		case bytes3:
			entry, asWritten := whole[at:end:end], isEntry(f.value)
			if !asWritten {
				if entry, err = plainEntry(f.value); err != nil {
					return err
				}
			}
			switch {
			case p.meta == nil && asWritten:
				p.meta, metaEnd = entry, end
			case metaEnd == at && asWritten:
				p.meta, metaEnd = whole[at-len(p.meta):end:end], end
			case len(p.meta) <= maxMeta:
				p.meta, metaEnd = append(p.meta, entry...), -1
			}
		}
		if !ok {
			return errUnreadable
		}
		at = end
	}
	return nil
}

// plainEntry returns an entry of the metadata, in any form that protobuf has for it, as clients write it.
func plainEntry(b []byte) ([]byte, error) {
	var name, list []byte
	for len(b) > 0 {
		f, rest, ok := cutField(b)
		switch {
		case !ok || f.tag == bytes1 && !utf8.Valid(f.value):
			return nil, errUnreadable
		case f.tag == bytes1:
			name = f.value
		case f.tag == bytes2:
			for values := f.value; len(values) > 0; {
				v, rest, ok := cutField(values)
				if !ok || v.tag == bytes1 && !utf8.Valid(v.value) {
					return nil, errUnreadable
				}
				if v.tag == bytes1 {
					list = protowire.AppendBytes(append(list, bytes1), v.value)
				}
				values = rest
			}
		}
		b = rest
	}
	return appendEntry(nil, name, list), nil
}

// appendEntry appends an entry of the metadata: a name, and a StringList.
func appendEntry(dst, name, list []byte) []byte {
	entry := protowire.AppendBytes([]byte{bytes1}, name)
	entry = protowire.AppendBytes(append(entry, bytes2), list)
	return protowire.AppendBytes(append(dst, bytes3), entry)
}

// field is a field of a message: its tag as one byte, and its value if it has a length or is a varint.
type field struct {
	tag   byte
	value []byte
}

// cutField cuts the first field off b. One with a number beyond 15, or of another kind, is of a later protocol, and has tag 0.
func cutField(b []byte) (f field, rest []byte, ok bool) {
	if tag := b[0]; tag < 0x80 && tag >= 1<<3 {
		switch protowire.Type(tag & 7) {
		case protowire.BytesType:
			n, used := protowire.ConsumeVarint(b[1:])
			if used < 0 || n > uint64(len(b)-1-used) {
				return f, nil, false
			}
			end := 1 + used + int(n)
			return field{tag, b[1+used : end : end]}, b[end:], true
		case protowire.VarintType:
			_, used := protowire.ConsumeVarint(b[1:])
			if used < 0 {
				return f, nil, false
			}
			return field{tag, b[1 : 1+used]}, b[1+used:], true
		}
	}
	number, kind, n := protowire.ConsumeTag(b)
	if n < 0 || number > protowire.MaxValidNumber {
		return f, nil, false
	}
	m := protowire.ConsumeFieldValue(number, kind, b[n:])
	if m < 0 {
		return f, nil, false
	}
	if number < 16 && (kind == protowire.BytesType || kind == protowire.VarintType) { // a tag that is written longer than need be
		f = field{byte(number)<<3 | byte(kind), b[n : n+m]}
		if kind == protowire.BytesType {
			f.value, _ = protowire.ConsumeBytes(f.value)
		}
	}
	return f, b[n+m:], true
}

// Tags: the number of a field, and how its value is written.
const (
	bytes1  = 1<<3 | byte(protowire.BytesType)
	bytes2  = 2<<3 | byte(protowire.BytesType)
	bytes3  = 3<<3 | byte(protowire.BytesType)
	bytes4  = 4<<3 | byte(protowire.BytesType)
	varint2 = 2<<3 | byte(protowire.VarintType)
)

// asText is a string field's value, which shares b's memory.
func asText(b []byte) (string, bool) {
	return zerocopy.String(b), utf8.Valid(b)
}

// isEntry reports whether b is an entry of the metadata as clients write them: a
// name, then a list of values.
func isEntry(b []byte) bool {
	for last := byte(0); len(b) > 0; {
		f, rest, ok := cutField(b)
		if !ok || f.tag <= last || f.tag == bytes1 && !utf8.Valid(f.value) || f.tag == bytes2 && !isList(f.value) || f.tag != bytes1 && f.tag != bytes2 {
			return false
		}
		last, b = f.tag, rest
	}
	return true
}

// isList reports whether b is a StringList.
func isList(b []byte) bool {
	for len(b) > 0 {
		f, rest, ok := cutField(b)
		if !ok || f.tag != bytes1 || !utf8.Valid(f.value) {
			return false
		}
		b = rest
	}
	return true
}

// isMetadata reports whether a URL's data is metadata as this package stores it.
// What isn't, such as that of a URL added by other means, is not for the wire.
func isMetadata(b []byte) bool {
	for len(b) > 0 {
		f, rest, ok := cutField(b)
		if !ok || f.tag != bytes3 || !isEntry(f.value) {
			return false
		}
		b = rest
	}
	return true
}
