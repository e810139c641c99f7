package pebblestore

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"testing"
	"time"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

func sampleRecord() sched.Record {
	return sched.Record{
		Key: store.Key{0xaa, 15: 0xbb}, URL: "http://a/", Meta: []byte("m"), Due: 1_577_836_801_000,
		Created: 1_577_836_800_999, Seq: 300, Attempts: 2, Priority: 3,
	}
}

func sampleCrawl() *crawl {
	c := &crawl{num: 9, queues: crawlQueues{Crawl: new(sched.Sched).NewCrawl("c")}}
	c.queues.Owner = c
	return c
}

func sampleQueue() *queue {
	q := newQueue(sampleCrawl(), "q", 5, 2)
	q.SetPast(sched.Past{Completed: 3, Fetched: 3, LastTake: 4, LastDelay: 1000, NotBefore: 6})
	q.SetSettings(&store.QueueSettings{
		Delay: -time.Second, MaxInFlight: 2, BlockedUntil: time.UnixMilli(77).UTC(), Limit: 9, Weight: 4, Paused: true,
	})
	q.SetHead(0, sched.Head{Due: 10, Seq: 1})
	q.SetHead(7, sched.Head{Due: 11, Seq: 2})
	return q
}

// TestRows holds the rows to bytes that were written down.
func TestRows(t *testing.T) {
	rec := sampleRecord()
	lease := &sched.Lease{Record: rec, Queue: &sampleQueue().Queue, Token: 7, Until: 128}
	again, failed := rec, sampleQueue()
	again.Earlier, again.Respelled = []uint64{3, 300}, true
	failed.Fetched, failed.Failed = 4, 1
	failed.SetSettings(nil)
	grouped := sampleQueue()
	grouped.Settings().Group = "g"
	set := sampleCrawl()
	set.queues.Counts = sched.Counts{Held: 2, Completed: 3, Dropped: 1, Fetched: 4, Failed: 1, Queues: 1, Active: 1}
	set.queues.Settings = store.CrawlSettings{QueueSettings: store.QueueSettings{Limit: 9}, QueueLimit: 8, Retention: time.Second}
	for _, c := range []struct {
		name string
		got  []byte
		want string
	}{
		{"Q key", appendOrderRow(nil, 1, 2, 3, rec.Place()), "51 00000001 00000002 04 016f5e66ebe8 00000000012c"},
		{"record", appendRecord(nil, &rec), "aa0000000000000000000000000000bb 02 02 01 6d 687474703a2f2f612f"},
		{"pointer", appendPointer(nil, pointer{2, 3, rec.Place()}), "02 837d ac02"},
		{"H key", appendQueueRow(nil, 1, "q"), "48 00000001 71"},
		{"queue", appendQueue(nil, sampleQueue(), 128), "05 8001 02 03 04 e807 06 8101 0a01 0b02 cf0f 04 4d 09 04 01"},
		{"queue in a group", appendQueue(nil, grouped, 128), "05 8001 02 03 04 e807 06 8101 0a01 0b02 cf0f 04 4d 09 04 01 67"},
		{"N key", appendOfQueue(nil, tableName, 1, 2), "4e 00000001 00000002"},
		{"L key", appendLongRow(nil, tableLease, 7), "4c 0000000000000007"},
		{"lease", appendLease(nil, lease), "09 05 8001 03 e8d79bf3f52d ac02 aa0000000000000000000000000000bb 02 02 01 6d 687474703a2f2f612f"},
		{"record of a later lease", appendRecord(nil, &again), "aa0000000000000000000000000000bb 02 8280 8080 0c 02 03 a902 01 6d 687474703a2f2f612f"},
		{"queue with failures", appendQueue(nil, failed, 128), "05 8001 02 03 04 e807 06 8105 04 01 0a01 0b02"},
		{"K row", appendCrawlQueues(nil, &set.queues), "00 02 00 03 01 01 00 00 00 09 00 00 01 04 01 08 e807"},
		{"overtaken lease", appendLease(nil, sampleQueue().RestoreOvertaken(rec.Key, 7, 28, 128, 28)), "09 05 8001 81 64 aa0000000000000000000000000000bb"},
		{"V key", appendMarkRow(nil, 1, 2), "56 00000001 0000000000000002"},
		{"D key", appendDoneRow(nil, 1, 2, &rec.Key), "44 00000001 00000002 aa0000000000000000000000000000bb"},
	} {
		want, err := hex.DecodeString(string(bytes.ReplaceAll([]byte(c.want), []byte(" "), nil)))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(c.got, want) {
			t.Errorf("%s: got %x; want %x", c.name, c.got, want)
		}
	}
}

// TestRowsComeBack checks that each row is read as it was written.
func TestRowsComeBack(t *testing.T) {
	rec := sampleRecord()
	if got, err := recordAt(appendOrderRow(nil, 1, 2, 3, rec.Place()), appendRecord(nil, &rec)); err != nil || !reflect.DeepEqual(got, rec) {
		t.Errorf("got %+v, %v; want %+v", got, err, rec)
	}
	again := rec
	again.Respelled = true
	for token := uint64(5); len(again.Earlier) < sched.EarlierTokens; token *= 3 {
		again.Earlier = append(again.Earlier, token)
	}
	if got, err := recordAt(appendOrderRow(nil, 1, 2, 3, rec.Place()), appendRecord(nil, &again)); err != nil || !reflect.DeepEqual(got, again) {
		t.Errorf("got %+v, %v; want %+v", got, err, again)
	}
	if got, err := parsePlaced(appendPlaced(nil, &rec)); err != nil || !reflect.DeepEqual(got, rec) {
		t.Errorf("got %+v, %v; want %+v", got, err, rec)
	}
	for _, p := range []pointer{{2, 3, rec.Place()}, {1 << 31, 7, sched.Head{Due: 1, Seq: 1 << 40}}, {queue: 1}} {
		if got, err := parsePointer(appendPointer(nil, p)); err != nil || got != p {
			t.Errorf("got %+v, %v; want %+v", got, err, p)
		}
	}
	q := sampleQueue()
	got, err := parseQueue(q.crawl(), "q", appendQueue(nil, q, 9))
	if err != nil || got.Queued != q.Queued || *got.Past != *q.Past || *got.Settings() != *q.Settings() || got.id != q.id || got.Levels() != q.Levels() ||
		got.Head(0) != q.Head(0) || got.Head(7) != q.Head(7) {
		t.Errorf("got %+v, %v; want %+v", got, err, q)
	}
	q.Fetched, q.Failed, q.Dropped = 1, 2, 3
	if got, err := parseQueue(q.crawl(), "q", appendQueue(nil, q, 9)); err != nil || got.Queued != q.Queued || *got.Past != *q.Past {
		t.Errorf("got %+v, %v; want %+v", got, err, q)
	}
	over, err := parseLease(appendLongRow(nil, tableLease, 7), appendLease(nil, q.RestoreOvertaken(rec.Key, 7, 28, 128, 28)))
	if err != nil || !over.over || over.given != 28 || over.until != 128 || over.rec.Key != rec.Key || over.queue != 5 {
		t.Errorf("got %+v, %v; want the overtaken lease", over, err)
	}
	lease := &sched.Lease{Record: rec, Queue: &q.Queue, Token: 7, Until: 128}
	l, err := parseLease(appendLongRow(nil, tableLease, 7), appendLease(nil, lease))
	if err != nil || l.token != 7 || l.until != 128 || l.queue != 5 || !reflect.DeepEqual(l.rec, rec) {
		t.Errorf("got %+v, %v; want %+v", l, err, lease)
	}
}

// FuzzRows feeds the readers of rows with anything: they return what they
// would write, or an error.
func FuzzRows(f *testing.F) {
	rec := sampleRecord()
	f.Add(appendRecord(nil, &rec))
	f.Add(appendPlaced(nil, &rec))
	rec.Earlier, rec.Respelled = []uint64{3, 300}, true
	f.Add(appendPlaced(nil, &rec))
	f.Add(appendQueue(nil, sampleQueue(), 1))
	f.Add(appendPointer(nil, pointer{2, 3, rec.Place()}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		c := sampleCrawl()
		if q, err := parseQueue(c, "q", b); err == nil && q.id > 0 {
			again, err := parseQueue(c, "q", appendQueue(nil, q, 1))
			if err != nil || again.Queued != q.Queued || *again.Past != *q.Past {
				t.Errorf("got %+v, %v; want %+v", again, err, q)
			}
		}
		if rec, err := parsePlaced(b); err == nil {
			again, err := parsePlaced(appendPlaced(nil, &rec))
			if err != nil || !reflect.DeepEqual(again, rec) {
				t.Errorf("got %+v, %v; want %+v", again, err, rec)
			}
		}
		_, _ = parsePointer(b)
		_, _ = parseLease(appendLongRow(nil, tableLease, 1), b)
	})
}
