package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/wire"
)

// TestMetadataOfLines: metadata is stored as the same bytes whether it came in a line or in
// a message.
func TestMetadataOfLines(t *testing.T) {
	s := newService(Config{MaxMetadata: 1 << 10}, guard{})
	for _, m := range []map[string][]string{nil, {}, {"": nil}, {"b": {"1"}, "a": {"", "ü", "x"}, "c": {}}} {
		message := map[string]*frontierpb.StringList{}
		for name, values := range m {
			message[name] = &frontierpb.StringList{Values: values}
		}
		want, ok := s.packMeta(message)
		got := AppendMetadata(nil, m)
		if !ok || !bytes.Equal(got, want) || !isMetadata(got) {
			t.Errorf("%v: got %x; want %x", m, got, want)
		}
	}
}

// TestSettledMetadata: a result may replace the metadata of its URL, in the form that leases have it.
func TestSettledMetadata(t *testing.T) {
	r := startWith(t, canon.Qiita(), Config{MaxMetadata: 100}, func(o *frontier.Options) { o.Delay = -1 })
	r.request(t, "POST", "/v1/urls", `{"url":"http://a.example/","metadata":{"tries":["0"],"old":[]}}`)
	settle := func(metadata string) string {
		t.Helper()
		var leases wire.Leases
		if _, body := r.ask(t, "POST", "/v1/lease", "{}"); json.Unmarshal([]byte(body), &leases) != nil || len(leases.Leases) != 1 {
			t.Fatalf("got %s; want a lease", body)
		}
		l := leases.Leases[0]
		_, answer := r.ask(t, "POST", "/v1/done", fmt.Sprintf(`{"leases":[{"key":%q,"token":%q,"outcome":"release",%s}]}`, l.Key, l.Token, metadata))
		if strings.Contains(answer, "error") {
			r.request(t, "POST", "/v1/done", fmt.Sprintf(`{"leases":[{"key":%q,"token":%q,"outcome":"release"}]}`, l.Key, l.Token))
		}
		return fmt.Sprint(l.Metadata, " ", strings.TrimSpace(answer))
	}
	for _, c := range []struct{ metadata, want string }{
		{`"metadata":{"tries":["1"]}`, `map[old:[] tries:[0]] {"answers":["ok"]}`},
		{`"metadata":{}`, `map[tries:[1]] {"answers":["ok"]}`},
		{`"metadata":{"a":["` + strings.Repeat("x", 100) + `"]}`, `map[] {"error":{"code":"invalid","message":"cannot settle; got meta of 109 bytes for lease 0; want at most 100"}}`},
		{`"metadata":{},"meta":"AA=="`, `map[] {"error":{"code":"invalid","message":"cannot settle; got the fields metadata and meta; want one of them"}}`},
	} {
		if got := settle(c.metadata); got != c.want {
			t.Errorf("%s: got %s; want %s", c.metadata, got, c.want)
		}
	}
}
