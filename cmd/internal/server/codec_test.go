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

var codecServer = &Server{cfg: Config{MaxURL: 100, MaxMetadata: 100}}

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

// sortedMeta is stored metadata in the order of the generated code.
func sortedMeta(meta []byte) []byte {
	var m pb.URLInfo
	if err := proto.Unmarshal(meta, &m); err != nil {
		return []byte(err.Error())
	}
	b, _ := codecServer.packMeta(m.Metadata) // larger metadata is compared by ok
	return b
}

// checkItem reads b by hand and by the generated code and compares.
func checkItem(t *testing.T, b []byte) (fast bool) {
	t.Helper()
	var got putItem
	reader := &messageReader{s: codecServer}
	reader.item(cut(b), &got)
	fast, err := reader.openItem(&got)
	if !fast && err == nil {
		_, err = reader.openItem(&got)
	}
	var m pb.URLItem
	wantErr := proto.Unmarshal(b, &m)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%x: got %v; the generated code %v", b, err, wantErr)
	}
	if err != nil {
		return false
	}
	want := codecServer.itemOf(&m)
	if got.ok != want.ok || got.ok && !reflect.DeepEqual(plainItem(got), plainItem(*want)) || got.id != want.id {
		t.Fatalf("%x: got %+v; want %+v", b, got, want)
	}
	return fast
}

// items are messages as clients write them; fast means that the generated code is not needed.
var items = []struct {
	fast bool
	text string
}{
	{true, ``},
	{true, `ID: "x"`},
	{true, `discovered {}`},
	{true, `discovered { info {} } creation_date: 300`},
	{true, `discovered { info { url: "http://a.com/" } }`},
	{true, `discovered { info { url: "http://a.com/" key: "a.com" crawlID: "c" } } ID: "1"`},
	{true, `discovered { info { url: "http://a.com/é" key: "" crawlID: "  " } }`},
	{true, `known { info { url: "http://a.com/" key: "k" } refetchable_from_date: 1700000000 }`},
	{true, `known { info { url: "u" metadata { key: "a" value { values: "1" values: "" } } metadata { key: "b" value {} } } }`},
	{true, `discovered { info { url: "u" metadata { key: "" } key: "k" } }`},
}

func TestItemsByHand(t *testing.T) {
	for _, c := range items {
		var m pb.URLItem
		if err := prototext.Unmarshal([]byte(c.text), &m); err != nil {
			t.Fatal(err)
		}
		b, err := proto.Marshal(&m)
		if err != nil {
			t.Fatal(err)
		}
		if got := checkItem(t, b); got != c.fast {
			t.Errorf("%s: read by hand: %t; want %t", c.text, got, c.fast)
		}
	}
}

// TestItemsUnusual reads what the fast path leaves to the generated code.
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
		t.Run(name, func(t *testing.T) {
			if checkItem(t, b) {
				t.Errorf("%x was read by hand", b)
			}
		})
	}
}

func checkBatch(t *testing.T, b []byte) {
	t.Helper()
	var got putBatch
	reader := &messageReader{s: codecServer}
	reader.batch(cut(b), &got)
	opened, err := reader.openBatch(&got)
	if !opened && err == nil {
		_, err = reader.openBatch(&got)
	}
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

// TestBatchCost checks that the cost of a batch is known before it is decoded,
// however it is read.
func TestBatchCost(t *testing.T) {
	const n = 1000
	empty := strings.Repeat("\x12\x00", n)
	for name, c := range map[string]struct {
		message string
		each    uintptr
	}{
		"by hand":               {empty, unsafe.Sizeof(offered{})},
		"by the generated code": {empty + "\x7a\x00", unsafe.Sizeof(offered{}) + unsafe.Sizeof(pb.URLInfo{}) + unsafe.Sizeof(&pb.URLInfo{})},
	} {
		t.Run(name, func(t *testing.T) {
			var b putBatch
			reader := &messageReader{s: codecServer}
			reader.batch(cut([]byte(c.message)), &b)
			for opened := false; !opened; {
				if b.urls != nil {
					t.Fatal("decoded before its cost was told")
				}
				told := b.size
				var err error
				if opened, err = reader.openBatch(&b); err != nil {
					t.Fatal(err)
				}
				if opened && (told < n*int(c.each) || len(b.urls) != n) {
					t.Errorf("told %d bytes, got %d items; want at least %d bytes, %d items", told, len(b.urls), n*c.each, n)
				}
			}
		})
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
		if opened, err := reader.openBatch(&b); opened || status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: got %t, %v; want InvalidArgument", name, opened, err)
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
	for name, raw := range map[string][]byte{"by hand": raw, "by the generated code": append(raw, "\x7a\x00"...)} {
		var b putBatch
		reader := &messageReader{s: codecServer}
		reader.batch(cut(raw), &b)
		opened, err := reader.openBatch(&b)
		if !opened && err == nil {
			_, err = reader.openBatch(&b)
		}
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
		if err := prototext.Unmarshal([]byte(c.text), &m); err != nil {
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

// batchOf is a DiscoveredBatch that was decoded by the generated code.
func (s *Server) batchOf(m *pb.DiscoveredBatch) *putBatch {
	n := len(m.GetItems())
	b := &putBatch{id: m.GetID(), urls: make([]offered, n), n: n}
	for i, info := range m.GetItems() {
		b.urls[i].url, b.urls[i].ok = s.urlOf(info)
	}
	return b
}
