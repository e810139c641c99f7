package server

import (
	"cmp"
	"encoding/binary"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/store"
)

// messageReader decodes the messages of one stream that carries URLs: one copy
// of a message, whose parts its URLs share, where the generated code makes four
// allocations a URL. It reads messages as clients write them. The generated
// code reads any other, such as one with fields of a later protocol, so that both
// accept the same messages.
type messageReader struct {
	s     *Server
	crawl string // of the URL before, if it has one
	chunk []byte // room for small messages

	raw    []byte // the message that was received, until it is decoded
	items  int    // of raw, if it is a batch
	costly bool   // raw is left to the generated code
}

const (
	chunkBytes  = 8 << 10
	chunkedUpTo = 1 << 10
	// costOfGenerated is about what a byte of a message costs in memory while the
	// generated code decodes it. It decodes one item at a time.
	costOfGenerated = 24
	// maxItems and maxCrawls bound a DiscoveredBatch.
	maxItems, maxCrawls = 1 << 15, 1 << 10
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
	r.raw, r.items, r.costly = nil, maxItems+2, false
	if !tooManyFields(data) {
		r.raw = r.own(data)
		r.items = countFields(r.raw) // the ID may be one of them
	}
	*batch = putBatch{from: r, size: r.cost()}
}

// cost is about what the message costs in memory once it is decoded. A batch that openBatch
// refuses is not even copied.
func (r *messageReader) cost() int {
	n := len(r.raw) + perURL
	if r.items <= maxItems+1 {
		n += perURL * r.items
	}
	if r.costly {
		n += costOfGenerated * min(len(r.raw), r.s.maxInfo())
	}
	return n
}

// maxInfo bounds a URLInfo in bytes. A larger one has a URL or metadata that is too long.
func (s *Server) maxInfo() int { return s.cfg.MaxURL + s.cfg.MaxMetadata + 64<<10 }

// openItem decodes the item that was received, or returns false when it costs
// more than its estimate: then it sets the real size, and the next call decodes it.
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
	raw := r.raw
	r.raw = nil
	if len(raw) > r.s.maxInfo() {
		*it, err = tooLongItem(raw)
		return err == nil, err
	}
	var m frontierpb.URLItem
	if proto.Unmarshal(raw, &m) != nil {
		return false, errUnreadable
	}
	*it = *r.s.itemOf(&m)
	return true, nil
}

// tooLongItem reads of an item that is too long to be decoded what its answer and, if it
// states a result, the frontier need. Its metadata is longer than it may be.
func tooLongItem(raw []byte) (it putItem, err error) {
	it.size = perURL + len(raw)
	it.url.Meta = raw
	info := func(number protowire.Number, value []byte) error {
		switch number {
		case 1:
			it.url.URL = string(value)
		case 2:
			it.url.Queue = string(value)
		case 4:
			it.url.Crawl = string(value)
		}
		return nil
	}
	err = eachField(raw, func(number protowire.Number, body []byte) error {
		switch number {
		case 1, 2:
			it.known = number == 2
			it.date = dateIn(body)
			return eachField(body, func(number protowire.Number, value []byte) error {
				if number != 1 {
					return nil
				}
				return eachField(value, info)
			})
		case 3:
			it.id = string(body)
		}
		return nil
	})
	it.id, it.url.Crawl = cmp.Or(it.id, it.url.URL), crawlName(it.url.Crawl)
	if !utf8.ValidString(it.id + it.url.URL + it.url.Queue + it.url.Crawl) {
		err = cmp.Or(err, errUnreadable)
	}
	return it, err
}

// dateIn returns the date in the body of a KnownURLItem.
func dateIn(body []byte) (date uint64) {
	for len(body) > 0 {
		number, kind, n := protowire.ConsumeTag(body)
		m := -1
		if n >= 0 {
			m = protowire.ConsumeFieldValue(number, kind, body[n:])
		}
		if m < 0 {
			return date
		}
		if number == 2 && kind == protowire.VarintType {
			date, _ = protowire.ConsumeVarint(body[n:])
		}
		body = body[n+m:]
	}
	return date
}

// openBatch is openItem for a batch.
func (r *messageReader) openBatch(batch *putBatch) (opened bool, err error) {
	if r.items > maxItems+1 {
		return false, status.Errorf(codes.InvalidArgument, "cannot take batch; got more fields than an ID and %d items", maxItems)
	}
	if !r.costly {
		if fast, err := r.fastBatch(r.raw, batch); fast || err != nil {
			r.raw, batch.n = nil, len(batch.urls)
			return fast, err
		}
		r.s.recycle(batch)
		r.costly, r.items = true, 0
		err := eachField(r.raw, func(number protowire.Number, _ []byte) error {
			if number == 2 {
				r.items++
			}
			return nil
		})
		batch.size = r.cost()
		return false, err
	}
	raw := r.raw
	r.raw = nil
	err = r.slowBatch(raw, batch)
	return err == nil, err
}

// slowBatch reads a DiscoveredBatch with the generated code, one item after the other: an
// item may cost many times its bytes while it is decoded.
func (r *messageReader) slowBatch(raw []byte, batch *putBatch) error {
	urls := r.s.offerList(r.items)
	var crawls crawlCount
	err := eachField(raw, func(number protowire.Number, value []byte) error {
		switch number {
		case 1:
			if !utf8.Valid(value) {
				return errUnreadable
			}
			batch.id = string(value)
		case 2:
			var o offered
			if len(value) <= r.s.maxInfo() {
				var info frontierpb.URLInfo
				if proto.Unmarshal(value, &info) != nil {
					return errUnreadable
				}
				o.url, o.ok = r.s.urlOf(&info)
			}
			urls = append(urls, o)
			return crawls.add(o.url.Crawl)
		}
		return nil
	})
	batch.urls, batch.n = urls, len(urls)
	return err
}

// eachField calls do with the fields of a message that are bytes.
func eachField(b []byte, do func(number protowire.Number, value []byte) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 || number > protowire.MaxValidNumber {
			return errUnreadable
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
			return errUnreadable
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(b)
			if err := do(number, value); err != nil {
				return err
			}
		}
		b = b[n:]
	}
	return nil
}

// errUnreadable has the code that gRPC returns for such messages.
var errUnreadable = status.Error(codes.Internal, "cannot read message; got bytes that aren't of its kind")

// crawlCount counts the crawls of a batch: each is written in a step of its own.
type crawlCount struct {
	last  string
	names map[string]struct{}
}

// add adds the crawl of an item, and returns an error if the batch has too many.
func (c *crawlCount) add(name string) error {
	if c.names == nil {
		c.names = make(map[string]struct{}, 1)
	} else if name == c.last {
		return nil
	}
	c.last = name
	if c.names[name] = struct{}{}; len(c.names) > maxCrawls {
		return status.Errorf(codes.InvalidArgument, "cannot take batch; got more than %d crawls", maxCrawls)
	}
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
	var crawl []byte
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
			u.Queue, ok = asText(value)
		case bytes3:
			if metaEnd == 0 {
				metaAt = at
			} else if metaEnd != at {
				return false // clients write the entries of a map in sequence
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
	u.Crawl = crawlName(r.crawlOf(crawl))
	o.ok = r.s.takes(u)
	return true
}

// crawlOf returns the name of a crawl, which keeps no message in memory as long as the crawl is known.
func (r *messageReader) crawlOf(name []byte) string {
	switch {
	case len(name) > store.MaxQueueKey: // it will be refused
		long, _ := asText(name)
		return long
	case string(name) != r.crawl:
		r.crawl = string(name)
	}
	return r.crawl
}

// fastBatch reads a DiscoveredBatch. It returns false if it can't, and an error if no other code
// may either.
func (r *messageReader) fastBatch(b []byte, batch *putBatch) (bool, error) {
	batch.urls = r.s.offerList(r.items)
	var crawls crawlCount
	for len(b) > 0 {
		tag, value, rest, ok := field(b)
		switch {
		case !ok:
			return false, nil
		case tag == bytes1:
			if batch.id, ok = asText(value); !ok {
				return false, nil
			}
		case tag == bytes2 && len(value) <= r.s.maxInfo():
			batch.urls = append(batch.urls, offered{})
			o := &batch.urls[len(batch.urls)-1]
			if !r.fastInfo(value, o) {
				return false, nil
			}
			if err := crawls.add(o.url.Crawl); err != nil {
				return false, err
			}
		default:
			return false, nil
		}
		b = rest
	}
	return true, nil
}

// countFields counts the fields of a message, as far as it can be read and up to two more than
// maxItems: to read millions of tiny fields takes long, whatever they are.
func countFields(b []byte) int {
	n := 0
	for len(b) > 0 && n <= maxItems+1 {
		_, _, size := protowire.ConsumeField(b)
		if size < 0 {
			return n
		}
		b = b[size:]
		n++
	}
	return n
}

// tooManyFields reports whether a large message, which was not copied yet, has more fields than
// countFields may return for a batch that is taken. The fields of a group count, too.
func tooManyFields(data mem.BufferSlice) bool {
	if data.Len() <= 2*(maxItems+1) { // a field has two bytes at least
		return false
	}
	r := data.Reader()
	defer func() { _ = r.Close() }() // frees its references
	for range maxItems + 2 {
		tag, err := binary.ReadUvarint(r)
		if err == nil {
			err = skipValue(r, protowire.Type(tag&7))
		}
		if err != nil {
			return false
		}
	}
	return true
}

// skipValue skips the value of a field.
func skipValue(r *mem.Reader, kind protowire.Type) (err error) {
	var n uint64
	switch kind {
	case protowire.VarintType:
		_, err = binary.ReadUvarint(r)
	case protowire.BytesType:
		n, err = binary.ReadUvarint(r)
	case protowire.Fixed32Type:
		n = 4
	case protowire.Fixed64Type:
		n = 8
	}
	if err != nil || n == 0 {
		return err
	}
	if n > uint64(r.Remaining()) {
		return errUnreadable
	}
	_, err = r.Discard(int(n))
	return err
}

// takes reports whether a URL may go to the frontier: it has a text, is within the
// limits, and is not of the server's own crawl.
func (s *Server) takes(u *frontier.Link) bool {
	return u.URL != "" && u.Crawl != controlCrawl && len(u.URL) <= s.cfg.MaxURL && len(u.Meta) <= s.cfg.MaxMetadata
}
