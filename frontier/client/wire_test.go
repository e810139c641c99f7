package client

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/wire"
)

// TestLinesAreTheWireTypes compares the encoder that is written by hand, for speed, with the types
// of the daemon's interface.
func TestLinesAreTheWireTypes(t *testing.T) {
	at := time.Date(2026, 11, 22, 1, 2, 3, 4, time.UTC)
	line, err := appendURL(nil, &frontier.Link{URL: "http://a.example/\"\\\x01ü", Queue: "q", Meta: []byte{0, 255}, Due: at, Priority: 3, Depth: 2,
		Discriminator: "d", Force: true, SkipTraps: true}, "c")
	if err != nil {
		t.Fatal(err)
	}
	strictly(t, line, wire.URLLine{URL: "http://a.example/\"\\\x01ü", Crawl: "c", Queue: "q", Meta: wire.Bytes{0, 255}, Due: at, Priority: 3, Depth: 2,
		Discriminator: "d", Force: true, SkipTraps: true})

	line, err = appendURL(nil, &frontier.Link{URL: "http://a.example/\xff"}, "DEFAULT")
	if err != nil {
		t.Fatal(err)
	}
	strictly(t, line, wire.URLLine{URLBytes: wire.Bytes("http://a.example/\xff")})

	priority := uint8(7)
	line, err = appendSettlement(nil, &frontier.Settlement{Lease: &frontier.Lease{Crawl: "c", Token: 1<<64 - 1, URL: "u"}, Outcome: frontier.Retry, At: at, BlockQueue: at,
		Meta: []byte("m"), Priority: &priority, Fetched: &frontier.Fetched{Time: at, Status: 200, Digest: "d", Redirect: "r"}})
	if err != nil {
		t.Fatal(err)
	}
	strictly(t, line, wire.DoneLease{Crawl: "c", Key: "00000000000000000000000000000000", Token: "18446744073709551615", Outcome: "retry", At: at, BlockQueueUntil: at,
		Meta: wire.Bytes("m"), Priority: &priority, Fetched: &wire.Fetched{URL: "u", Time: at, Status: 200, Digest: "d", Redirect: "r"}})
}

// strictly reads a line as a wire type, without fields that it does not have.
func strictly[T any](t *testing.T, line []byte, want T) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	var got T
	if err := d.Decode(&got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %+v, %v; want %+v", line, got, err, want)
	}
}
