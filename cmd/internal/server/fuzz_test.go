package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/wire"
)

// FuzzLines sends bodies to the two line interfaces: each line that isn't blank
// gets one line of JSON, whatever it says.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{
		`{"url":"http://a.com/"}` + "\n" + `{"url":"http://A.com","crawl":"c","queue":"q","priority":9,"metadata":{"a":["b"]}}`,
		`{"known":{"info":{"url":"http://a.com/"},"refetchableFromDate":"18446744073709551615"}}`,
		"\n\n{}\n[]\nnull\n\"\"", `{"url":"http://a.com/","due":"0001-01-01T00:00:00Z","depth":-1,"force":true}`,
		strings.Repeat(" ", 300) + "\n" + `{"url":"http://a.com/` + strings.Repeat("x", 300) + "\"}\n{\"url\":\"caf\xe9\"}\n{\"url_bytes\":\"aHR0cDovL2EuY29tL2NhZuk=\"}",
	} {
		f.Add([]byte(seed))
	}
	r := start(f, canon.Qiita(), Config{MaxURL: 100, MaxMetadata: 100})
	f.Fuzz(func(t *testing.T, body []byte) {
		var lines []bodyLine
		in := bufio.NewReaderSize(bytes.NewReader(body), 16)
		for end := error(nil); end == nil; {
			var some []bodyLine
			some, end = readLines(in, 200, func() bool { return false })
			lines = append(lines, some...)
		}
		sent := 0
		for line := range bytes.Lines(body) {
			if len(bytes.TrimSpace(line)) > 0 || len(line) > 200 {
				sent++
			}
		}
		if len(lines) != sent {
			t.Errorf("got %d lines of %d", len(lines), sent)
		}
		for _, answer := range []lineAnswerer{r.web.answering(r.guardedAdd, nil, wire.URLLine{}, false), r.web.answering(r.guardedSee, r.f.Peek, wire.URLLine{}, true), r.web.importLines} {
			var out bytes.Buffer
			answer(t.Context(), lines, &out)
			n := 0
			for line := range bytes.Lines(out.Bytes()) {
				if n++; !json.Valid(line) {
					t.Errorf("got %q; want JSON", line)
				}
			}
			if n != len(lines) {
				t.Errorf("got %d lines; want %d", n, len(lines))
			}
		}
	})
}

// FuzzDecode holds the decoder to encoding/json: what it takes, that takes, and reads alike; what it refuses has a reason.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"url":"http://a.com/café","id":"7","crawl":"c","depth":3,"priority":7,"force":true,"record":false,"meta":"eA==","due":"2026-01-31T12:00:00Z"}`,
		` { "max" : 100 ,"delay_seconds":2.5e0,"stay":false,"client":"m\u0065", "queue":""} `,
		`{"leases":[{"key":"0123","token":"1","outcome":"retry","at":"2026-01-31T12:00:00.5Z","priority":0},{"token":"2","key":"45","fetched":{"url":"u","status":200}}]}`,
		`{"url":"","metadata":{"a":["b",""],"":[]},"priority":0,"crawl":null}`,
	} {
		for i := range seed {
			for _, c := range "\"{}[],:\\ 0-.tn\t\x01" {
				f.Add([]byte(seed[:i] + string(c) + seed[i:]))
				f.Add([]byte(seed[:i] + string(c) + seed[i+1:]))
			}
			f.Add([]byte(seed[:i]))
		}
		f.Add([]byte(seed))
	}
	line, lease, done := newShape(reflect.TypeFor[wire.URLLine](), "", ""), newShape(reflect.TypeFor[wire.LeaseRequest](), "", ""), newShape(reflect.TypeFor[wire.Done](), "", "")
	f.Fuzz(func(t *testing.T, text []byte) {
		if logs.CheckJSON(text) != nil {
			return
		}
		decodesAsJSON[wire.URLLine](t, line, text)
		decodesAsJSON[wire.LeaseRequest](t, lease, text)
		decodesAsJSON[wire.Done](t, done, text)
	})
}

func decodesAsJSON[T any](t *testing.T, s *shape, text []byte) {
	var got, want T
	err := decode(s, text, &got)
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	other := strict.Decode(&want)
	var bad *shapeError
	switch {
	case err == nil && (other != nil || !reflect.DeepEqual(got, want)):
		t.Errorf("%s: got %+v; want %+v, %v", text, got, want, other)
	case err != nil && !errors.As(err, &bad) && json.Valid(text), err != nil && errors.As(err, &bad) && !json.Valid(text):
		t.Errorf("%s: got %v", text, err)
	}
}

// FuzzVerdict holds what writePlain writes to what encoding/json makes of it.
func FuzzVerdict(f *testing.F) {
	f.Add("7", "http://a.example/?a=1&b=<2>", "duplicate", "http://a.example/", "0123", "a.example", "http://A.example/")
	f.Add("", "http://plain.example/", "new", "", "", "", "")
	f.Add("", "", "new", "", "", "", "")
	f.Add("\u2028", "caf\xe9", "\"", "\\", "\x7f", "\n", "é")
	f.Fuzz(func(t *testing.T, id, url, verdict, canonical, key, queue, first string) {
		if verdict == "" {
			return
		}
		v := wire.VerdictLine{ID: id, URL: url, Verdict: verdict, Canonical: canonical, Key: key, Queue: queue, First: first}
		var plain, all bytes.Buffer
		if err := lineEncoder(&all).Encode(v); err != nil {
			t.Fatal(err)
		}
		wrote := writePlain(&plain, &v)
		if wrote && plain.String() != all.String() {
			t.Errorf("got %s; want %s", plain.String(), all.String())
		}
		if !wrote && url == "http://plain.example/" && id+canonical+key+queue+first == "" && verdict == "new" {
			t.Error("a plain verdict is not written as it stands")
		}
	})
}

// FuzzItem puts any item: an ack with its ID must come back, and a URL that was OK can be looked up.
func FuzzItem(f *testing.F) {
	f.Add([]byte(`{"discovered":{"info":{"url":"http://a.com/","key":"k"}},"ID":"x"}`))
	f.Add([]byte(`{"known":{"info":{"url":"http://a.com/","crawlID":"*"},"refetchableFromDate":"99999999999999"}}`))
	r := start(f, canon.None(), Config{})
	f.Fuzz(func(t *testing.T, text []byte) {
		var it frontierpb.URLItem
		if protojson.Unmarshal(text, &it) != nil {
			return
		}
		acks := r.put(t, &it)
		if it.ID != "" && acks[0].ID != it.ID {
			t.Errorf("got ID %q; want %q", acks[0].ID, it.ID)
		}
		info := it.GetDiscovered().GetInfo()
		if it.GetKnown() != nil {
			info = it.GetKnown().GetInfo()
		}
		if acks[0].Status != frontierpb.AckMessage_OK {
			return
		}
		if _, err := r.rpc.GetURLStatus(t.Context(), &frontierpb.URLStatusRequest{Url: info.Url, Key: info.Key, CrawlID: info.CrawlID}); err != nil {
			t.Errorf("%q was OK and is not found: %v", info.Url, err)
		}
	})
}
