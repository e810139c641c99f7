package server

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/firstseen/firstseen/frontier"
	pb "github.com/firstseen/firstseen/frontier/frontierpb"
)

// put commits items as PutURLs does.
func (r *running) put(t testing.TB, items ...*pb.URLItem) []*pb.AckMessage {
	t.Helper()
	mine := make([]*putItem, len(items))
	for i, m := range items {
		mine[i] = r.itemOf(m)
	}
	acks := make([]*pb.AckMessage, len(items))
	for i, st := range r.putItems(t.Context(), mine) {
		acks[i] = &pb.AckMessage{ID: mine[i].id, Status: st}
	}
	return acks
}

var codecServer = newService(Config{MaxURL: 100, MaxMetadata: 100}, guard{})

// cut is a message in pieces, as the transport may hand it over.
func cut(b []byte) mem.BufferSlice {
	half := len(b) / 2
	return mem.BufferSlice{mem.SliceBuffer(b[:half]), mem.SliceBuffer(b[half:])}
}

// plainItem is an item without the fields that record how it was read.
func plainItem(it putItem) putItem {
	it.from, it.size = nil, 0
	it.url.Meta = sortedMeta(it.url.Meta)
	return it
}

// sortedMeta is stored metadata in the order of the generated code. Fields of a later protocol are not stored: what has
// some is not handed out.
func sortedMeta(meta []byte) []byte {
	var m pb.URLInfo
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(meta, &m); err != nil {
		return []byte(err.Error())
	}
	b, _ := codecServer.packMeta(m.Metadata) // larger metadata is compared by ok
	return b
}

// checkItem reads b by hand and by the generated code and compares.
func checkItem(t *testing.T, b []byte) {
	t.Helper()
	var got putItem
	reader := &messageReader{s: codecServer}
	reader.item(cut(b), &got)
	err := reader.openItem(&got)
	var m pb.URLItem
	wantErr := proto.Unmarshal(b, &m)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%x: got %v; the generated code %v", b, err, wantErr)
	}
	if err != nil {
		return
	}
	want := codecServer.itemOf(&m)
	if got.ok != want.ok || got.ok && !reflect.DeepEqual(plainItem(got), plainItem(*want)) || got.id != want.id {
		t.Fatalf("%x: got %+v; want %+v", b, got, want)
	}
}

// items are messages as clients write them.
var items = []string{
	``,
	`ID: "x"`,
	`discovered {}`,
	`discovered { info {} } creation_date: 300`,
	`discovered { info { url: "http://a.com/" } }`,
	`discovered { info { url: "http://a.com/" key: "a.com" crawlID: "c" } } ID: "1"`,
	`discovered { info { url: "http://a.com/é" key: "" crawlID: "  " } }`,
	`known { info { url: "http://a.com/" key: "k" } refetchable_from_date: 1700000000 }`,
	`known { info { url: "u" metadata { key: "a" value { values: "1" values: "" } } metadata { key: "b" value {} } } }`,
	`discovered { info { url: "u" metadata { key: "" } key: "k" } }`,
}

func TestItemsByHand(t *testing.T) {
	for _, c := range items {
		var m pb.URLItem
		if err := prototext.Unmarshal([]byte(c), &m); err != nil {
			t.Fatal(err)
		}
		b, err := proto.Marshal(&m)
		if err != nil {
			t.Fatal(err)
		}
		checkItem(t, b)
	}
}

// TestItemsUnusual reads messages as no client writes them.
func TestItemsUnusual(t *testing.T) {
	info := []byte("\x0a\x01u")
	item := func(number protowire.Number, info []byte) []byte {
		body := protowire.AppendBytes([]byte{bytes1}, info)
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), body)
	}
	entry := func(b string) []byte { return protowire.AppendBytes([]byte{bytes3}, []byte(b)) }
	for name, b := range map[string][]byte{
		"two items":           append(item(1, info), item(2, info)...),
		"an item in parts":    append(item(1, info), item(1, []byte("\x12\x01k"))...),
		"a field to come":     append(item(1, info), 0x4a, 1, 'x'),
		"another wire type":   append(item(1, info), 0x18, 1),
		"a group":             append(item(1, info), 0x4b, 0x4c),
		"field 0":             append(item(1, info), 0x02, 0),
		"a long tag":          append(item(1, info), 0x82, 0x7d, 0),
		"not UTF-8":           item(1, []byte("\x0a\x01\xff")),
		"an ID not UTF-8":     append(item(1, info), 0x1a, 1, 0xff),
		"cut short":           item(1, info)[:4],
		"a varint cut short":  append(item(1, info), 0x20, 0x80),
		"a varint too long":   append(append(item(1, info), 0x20), strings.Repeat("\xff", 10)+"\x01"...),
		"a length too great":  append(item(1, info), 0x1a, 0xff, 0xff, 0xff, 0xff, 0x0f),
		"metadata apart":      item(1, append(append(entry("\x0a\x01a"), info...), entry("\x0a\x01b")...)),
		"an entry backwards":  item(1, append(info, entry("\x12\x00\x0a\x01a")...)),
		"an entry twice":      item(1, append(info, entry("\x0a\x01a\x0a\x01b")...)),
		"a list not UTF-8":    item(1, append(info, entry("\x0a\x01a\x12\x03\x0a\x01\xff")...)),
		"a name not UTF-8":    item(1, append(info, entry("\x0a\x01\xff")...)),
		"a list of a number":  item(1, append(info, entry("\x0a\x01a\x12\x02\x08\x01")...)),
		"a field in an entry": item(1, append(info, entry("\x0a\x01a\x1a\x01a")...)),
	} {
		t.Run(name, func(t *testing.T) { checkItem(t, b) })
	}
}

func checkBatch(t *testing.T, b []byte) {
	t.Helper()
	var got putBatch
	reader := &messageReader{s: codecServer}
	reader.batch(cut(b), &got)
	err := reader.openBatch(&got)
	var m pb.DiscoveredBatch
	wantErr := proto.Unmarshal(b, &m)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%x: got %v; the generated code %v", b, err, wantErr)
	}
	if err != nil {
		return
	}
	want := codecServer.batchOf(&m)
	if got.id != want.id || len(got.urls) != len(want.urls) {
		t.Fatalf("%x: got %+v; want %+v", b, got, want)
	}
	for i := range got.urls {
		g, w := plainItem(putItem{offered: got.urls[i]}), plainItem(putItem{offered: want.urls[i]})
		if g.ok != w.ok || g.ok && !reflect.DeepEqual(g, w) {
			t.Fatalf("%x: item %d: got %+v; want %+v", b, i, g, w)
		}
	}
}

// TestBatchCost checks that the cost of a batch is known before it is decoded, also of one with fields of a later protocol.
func TestBatchCost(t *testing.T) {
	const n = 1000
	for _, message := range []string{strings.Repeat("\x12\x00", n), strings.Repeat("\x12\x00", n) + "\x7a\x00"} {
		var b putBatch
		reader := &messageReader{s: codecServer}
		reader.batch(cut([]byte(message)), &b)
		if b.urls != nil {
			t.Fatal("decoded before its cost was told")
		}
		told := b.size
		if err := reader.openBatch(&b); err != nil {
			t.Fatal(err)
		}
		if told < n*int(unsafe.Sizeof(offered{})) || len(b.urls) != n {
			t.Errorf("told %d bytes, got %d items; want at least %d bytes, %d items", told, len(b.urls), n*unsafe.Sizeof(offered{}), n)
		}
	}
}

// TestTooManyFields refuses batches of millions of tiny fields, whatever these are, without taking
// memory for more than their bytes.
func TestTooManyFields(t *testing.T) {
	for name, field := range map[string]string{"items": "\x12\x00", "IDs": "\x0a\x00", "numbers": "\x18\x00", "of a later protocol": "\x82\x01\x00"} {
		raw := strings.Repeat(field, 1<<20)
		var b putBatch
		reader := &messageReader{s: codecServer}
		reader.batch(cut([]byte(raw)), &b)
		if b.size > len(raw)+perURL || reader.raw != nil {
			t.Errorf("%s: got a cost of %d bytes and %d bytes copied; want that of %d bytes alone, and none", name, b.size, len(reader.raw), len(raw))
		}
		if err := reader.openBatch(&b); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: got %v; want InvalidArgument", name, err)
		}
	}
}

// TestTooManyCrawls refuses a batch of more crawls than it may have, and decodes no item beyond.
func TestTooManyCrawls(t *testing.T) {
	batch := &pb.DiscoveredBatch{}
	for i := range 3 * maxCrawls {
		batch.Items = append(batch.Items, &pb.URLInfo{Url: "http://a.example/", CrawlID: fmt.Sprint("c", i)})
	}
	raw, err := proto.Marshal(batch)
	if err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string][]byte{"plain": raw, "with a field of a later protocol": append(raw, "\x7a\x00"...)} {
		var b putBatch
		reader := &messageReader{s: codecServer}
		reader.batch(cut(raw), &b)
		err := reader.openBatch(&b)
		if status.Code(err) != codes.InvalidArgument || len(b.urls) != maxCrawls+1 {
			t.Errorf("%s: got %v after %d items; want InvalidArgument after %d", name, err, len(b.urls), maxCrawls+1)
		}
	}
}

// FuzzCodec holds the reading by hand to the generated code, message by
// message.
func FuzzCodec(f *testing.F) {
	for _, c := range items {
		var m pb.URLItem
		if err := prototext.Unmarshal([]byte(c), &m); err != nil {
			f.Fatal(err)
		}
		b, _ := proto.Marshal(&m) // it came from text
		f.Add(b)
		batch := &pb.DiscoveredBatch{ID: m.ID, Items: []*pb.URLInfo{m.GetDiscovered().GetInfo(), m.GetKnown().GetInfo(), {Url: "v"}}}
		b, _ = proto.Marshal(batch)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		checkItem(t, b)
		checkBatch(t, b)
	})
}

// TestMessagesOut compares the hand-written encoder with the generated code.
func TestMessagesOut(t *testing.T) {
	meta, _ := codecServer.packMeta(map[string]*pb.StringList{"a": {Values: []string{"1", "2"}}, "b": nil})
	for _, c := range []struct {
		got  []byte
		want proto.Message
	}{
		{appendAck(nil, "x", pb.AckMessage_OK), &pb.AckMessage{ID: "x"}},
		{appendAck(nil, "", pb.AckMessage_FAIL), &pb.AckMessage{Status: pb.AckMessage_FAIL}},
		{appendAck(nil, strings.Repeat("x", 300), pb.AckMessage_SKIPPED), &pb.AckMessage{ID: strings.Repeat("x", 300), Status: pb.AckMessage_SKIPPED}},
		{appendBatchAck(nil, "", nil), &pb.BatchAck{}},
		{appendBatchAck(nil, "b", []pb.AckMessage_Status{0, 1, 2}), &pb.BatchAck{ID: "b", Statuses: []pb.AckMessage_Status{0, 1, 2}}},
		{appendLease(nil, &frontier.Lease{URL: "u", Queue: "q", Crawl: "c"}), &pb.URLInfo{Url: "u", Key: "q", CrawlID: "c"}},
		{appendLease(nil, &frontier.Lease{URL: "u", Queue: "q", Crawl: "c", Meta: meta}),
			&pb.URLInfo{Url: "u", Key: "q", CrawlID: "c", Metadata: map[string]*pb.StringList{"a": {Values: []string{"1", "2"}}, "b": {}}}},
		{appendLease(nil, &frontier.Lease{URL: "u", Queue: "q", Crawl: "c", Meta: []byte("mine")}), &pb.URLInfo{Url: "u", Key: "q", CrawlID: "c"}},
	} {
		got := c.want.ProtoReflect().New().Interface()
		if err := proto.Unmarshal(c.got, got); err != nil || !proto.Equal(got, c.want) {
			t.Errorf("got %v, %v; want %v", got, err, c.want)
		}
	}
}

// TestEncodeAll checks that messages of one slab don't touch each other.
func TestEncodeAll(t *testing.T) {
	all := encodeAll(500, 4, func(dst []byte, i int) []byte { return fmt.Appendf(dst, "%*d", i%9, i) })
	for i := range all {
		data, err := newCodec().Marshal(&all[i])
		if want := fmt.Sprintf("%*d", i%9, i); err != nil || string(data.Materialize()) != want {
			t.Fatalf("message %d: got %q, %v; want %q", i, data.Materialize(), err, want)
		}
	}
}

// TestEncodeAllCopiesOnce checks that messages that are larger than expected take about their
// size: a slab that grew for each of them would copy those before it.
func TestEncodeAllCopiesOnce(t *testing.T) {
	const messages, size = 64, 60_000
	data := make([]byte, size)
	least := uint64(math.MaxUint64)
	for range 3 { // other goroutines may allocate, too
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		all := encodeAll(messages, 128, func(dst []byte, i int) []byte { return append(dst, data...) })
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
		for i := range all {
			if len(all[i].data) != size {
				t.Fatalf("message %d: got %d bytes; want %d", i, len(all[i].data), size)
			}
		}
	}
	if most := uint64(messages * size * 3 / 2); least > most {
		t.Errorf("got %d bytes allocated for %d messages of %d; want at most %d", least, messages, size, most)
	}
}

// itemOf is a URLItem that was decoded by the generated code.
func (s *service) itemOf(m *pb.URLItem) *putItem {
	it := &putItem{id: m.GetID()}
	info := m.GetDiscovered().GetInfo()
	if known := m.GetKnown(); known != nil {
		it.known, it.date = true, known.RefetchableFromDate
		info = known.GetInfo()
	}
	it.url, it.ok = s.urlOf(info)
	if it.id == "" {
		it.id = info.GetUrl()
	}
	return it
}

// urlOf returns the link of a message. ok is false if the server refuses it before it
// reaches the frontier.
func (s *service) urlOf(info *pb.URLInfo) (u frontier.Link, ok bool) {
	meta, ok := s.packMeta(info.GetMetadata())
	u = frontier.Link{URL: info.GetUrl(), Queue: info.GetKey(), Crawl: crawlName(info.GetCrawlID()), Meta: meta}
	return u, ok && s.takes(&u)
}

// packMeta is the wire form of a URLInfo with nothing but metadata, so that
// unpacking is one merge into the answer.
func (s *service) packMeta(m map[string]*pb.StringList) ([]byte, bool) {
	if len(m) == 0 {
		return nil, true
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(&pb.URLInfo{Metadata: m})
	return b, err == nil && len(b) <= s.cfg.MaxMetadata
}

// batchOf is a DiscoveredBatch that was decoded by the generated code.
func (s *service) batchOf(m *pb.DiscoveredBatch) *putBatch {
	n := len(m.GetItems())
	b := &putBatch{id: m.GetID(), urls: make([]offered, n), n: n}
	for i, info := range m.GetItems() {
		b.urls[i].url, b.urls[i].ok = s.urlOf(info)
	}
	return b
}
