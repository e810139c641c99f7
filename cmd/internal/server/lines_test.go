package server

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/wire"
)

// answeredLine is what these tests read of an answer to a line.
type answeredLine struct {
	ID, URL, Verdict, Status, Canonical, Key, First string
	URLBytes                                        []byte `json:"url_bytes"`
	FirstBytes                                      []byte `json:"first_bytes"`
	Error                                           wire.Fault
}

// sendLines posts a body and returns its answers.
func (r *running) sendLines(t *testing.T, path string, body io.Reader) []answeredLine {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", r.url(path), body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("got %s; want 200", resp.Status)
	}
	var answers []answeredLine
	for d := json.NewDecoder(resp.Body); ; {
		var a answeredLine
		if err := d.Decode(&a); err == io.EOF {
			return answers
		} else if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
}

// TestLongLineIsRefusedAlone sends bodies in which some lines are longer than a line may
// be, the last one without a line end: every line is answered in its place.
func TestLongLineIsRefusedAlone(t *testing.T) {
	const lines = 3000
	r := start(t, canon.Qiita(), Config{MaxURL: 2000, MaxMetadata: 2000})
	isLong := func(i int) bool { return i%1000 == 0 || i == lines-1 }
	for _, c := range []struct{ path, form, taken, refused string }{
		{"/v1/urls", `{"url":"http://a.com/%s"}`, "new", "refused"},
		{"/v1/seen?brief", `{"url":"http://b.com/%s"}`, "new", "refused"},
		{"/v1/import", `{"discovered":{"info":{"url":"http://c.com/%s"}}}`, "OK", "SKIPPED"},
	} {
		var body []string
		for i := range lines {
			path := fmt.Sprint(i)
			if isLong(i) {
				path += strings.Repeat("x", 140_000)
			}
			body = append(body, fmt.Sprintf(c.form, path))
		}
		answers := r.sendLines(t, c.path, strings.NewReader(strings.Join(body, "\n")))
		if len(answers) != lines {
			t.Errorf("%s: got %d answers; want %d", c.path, len(answers), lines)
			continue
		}
		for i, a := range answers {
			want, code := c.taken, ""
			if isLong(i) {
				want, code = c.refused, string(frontier.ReasonTooLong)
			}
			if got := a.Verdict + a.Status; got != want || a.Error.Code != code {
				t.Fatalf("%s: line %d: got %s %v; want %s %s", c.path, i, got, a.Error, want, code)
			}
		}
	}
}

// TestLineMayHoldWhatIsAllowed sends a URL and metadata as long as they may be, in the form that
// makes the longest line.
func TestLineMayHoldWhatIsAllowed(t *testing.T) {
	r := start(t, canon.Qiita(), Config{})
	url := "http://a.com/" + strings.Repeat("x", 1<<16-13)
	meta := base64.StdEncoding.EncodeToString(make([]byte, 1<<16))
	line := fmt.Sprintf(`{"url":%q,"id":%q,"meta":%q,"skip_traps":true}`, url, url, meta)
	if got := r.sendLines(t, "/v1/urls?brief", strings.NewReader(line)); len(got) != 1 || got[0].Verdict != "new" {
		t.Errorf("got %.300v; want new", got)
	}
}

// TestBodyThatBreaksOff checks that what arrived of a line that was cut off is no line.
func TestBodyThatBreaksOff(t *testing.T) {
	r := start(t, canon.Qiita(), Config{})
	body := io.MultiReader(strings.NewReader(`{"url":"http://a.com/1"}`+"\n"+`{"url":"http://a.com/2"}`), iotest.ErrReader(io.ErrUnexpectedEOF))
	w := httptest.NewRecorder()
	req, err := http.NewRequest("POST", "/v1/urls", body)
	if err != nil {
		t.Fatal(err)
	}
	r.web.postURLs(w, req)
	got := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
	if len(got) != 2 || !strings.Contains(got[0], `"verdict":"new"`) || !strings.Contains(got[1], `"verdict":"failed","error":{"code":"body"`) {
		t.Errorf("got %q; want the first new, and an answer that the body failed", got)
	}
}

// TestTwoValuesInALine: the second must not vanish.
func TestTwoValuesInALine(t *testing.T) {
	r := start(t, canon.Qiita(), Config{})
	got := r.sendLines(t, "/v1/urls", strings.NewReader(`{"url":"http://a.com/1"} {"url":"http://a.com/2"}`+"\n"+`{"url":"http://a.com/1"} `+"\r\n"))
	if len(got) != 2 || got[0].Error.Code != "json" || got[1].Verdict != "new" {
		t.Errorf("got %+v; want the first refused, the second new", got)
	}
}

// TestTextThatIsNotUTF8 offers two pages whose URLs differ in a byte that JSON can't
// carry: as text they are refused, as bytes they are two pages.
func TestTextThatIsNotUTF8(t *testing.T) {
	r := start(t, canon.Qiita(), Config{})
	texts := []string{"{\"url\":\"http://a.com/caf\xe9\"}", `{"url":"http://a.com/caf\udce9"}`, `{"url":"http://a.com/caf\ud83d"}`,
		"{\"url\":\"http://a.com/\",\"crawl\":\"\xe9\"}", "{\"url\":\"http://a.com/\",\"discriminator\":\"\xe9\"}"}
	for _, path := range []string{"/v1/urls", "/v1/seen"} {
		for i, a := range r.sendLines(t, path, strings.NewReader(strings.Join(texts, "\n"))) {
			if a.Verdict != "refused" || a.Error.Code != "json" || !strings.Contains(a.Error.Message, "url_bytes") {
				t.Errorf("%s: line %d: got %+v; want it refused with a word of url_bytes", path, i, a)
			}
		}
	}
	for i, a := range r.sendLines(t, "/v1/import", strings.NewReader("{\"discovered\":{\"info\":{\"url\":\"http://a.com/\xe9\"}}}\n"+`{"discovered":{"info":{"url":"http://a.com/\udce9"}}}`)) {
		if a.Status != "SKIPPED" || a.Error.Code != "json" {
			t.Errorf("import, line %d: got %+v; want SKIPPED", i, a)
		}
	}
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	cafes := fmt.Sprintf(`{"url_bytes":%q}`+"\n"+`{"url_bytes":%q}`+"\n"+`{"url_bytes":%q}`, b64("http://a.com/caf\xe9"), b64("http://a.com/caf\xe8"), b64("HTTP://a.com/caf\xe9"))
	got := r.sendLines(t, "/v1/urls", strings.NewReader(cafes))
	if got[0].Verdict != "new" || got[1].Verdict != "new" || got[0].Key == got[1].Key || string(got[0].URLBytes) != "http://a.com/caf\xe9" {
		t.Errorf("got %+v; want two pages", got[:2])
	}
	if got[2].Verdict != "duplicate" || string(got[2].FirstBytes) != "http://a.com/caf\xe9" {
		t.Errorf("got %+v; want a duplicate of the first, as it was", got[2])
	}
	if status := r.request(t, "GET", "/v1/explain?url=http://a.com/caf%E9", ""); !strings.Contains(status, `"first_bytes":"`+b64("http://a.com/caf\xe9")) {
		t.Errorf("got %s; want the first URL in bytes", status)
	}
	var leased wire.Leases
	_, text, _ := strings.Cut(r.request(t, "POST", "/v1/lease", `{"max":1}`), "\n")
	if err := json.Unmarshal([]byte(text), &leased); err != nil || len(leased.Leases) != 1 {
		t.Fatalf("got %s, %v; want a lease", text, err)
	}
	l := leased.Leases[0]
	answer := r.request(t, "POST", "/v1/redirect", fmt.Sprintf(`{"key":%q,"token":%q,"url_bytes":%q,"url":"","target_bytes":%q}`, l.Key, l.Token, b64(string(l.URLBytes)), b64("http://a.com/th\xe9")))
	if !strings.Contains(answer, `"canonical":"http://a.com/th%E9"`) || !strings.Contains(answer, `"new"`) {
		t.Errorf("got %s; want another page", answer)
	}
	for _, path := range []string{"/v1/lease", "/v1/done", "/v1/redirect", "/v1/queue", "/v1/crawl"} {
		if got := r.request(t, "POST", path, "{\"crawl\":\"\xe9\"}"); !strings.HasPrefix(got, "400") || !strings.Contains(got, "UTF-8") {
			t.Errorf("%s: got %s; want text that is not UTF-8 refused", path, got)
		}
	}
}

// TestAllCrawlsCannotBeChanged: a URL or a setting needs one crawl.
func TestAllCrawlsCannotBeChanged(t *testing.T) {
	r := start(t, canon.Qiita(), Config{})
	for _, crawl := range []string{"*", frontier.OwnCrawl} {
		for i, a := range r.sendLines(t, "/v1/urls", strings.NewReader(fmt.Sprintf(`{"url":"http://a.com/","crawl":%q}`, crawl))) {
			if a.Verdict != "refused" || a.Error.Code != "crawl" {
				t.Errorf("crawl %s, line %d: got %+v; want it refused", crawl, i, a)
			}
		}
		for path, body := range map[string]string{"/v1/queue": `{"crawl":%q,"queue":"active","delay_seconds":1}`, "/v1/crawl": `{"crawl":%q,"profile":"none"}`} {
			if got := r.request(t, "POST", path, fmt.Sprintf(body, crawl)); !strings.HasPrefix(got, "400\n") {
				t.Errorf("%s of crawl %s: got %s; want 400", path, crawl, got)
			}
		}
	}
}

// TestQueryHasTheDefaultsOfLines: what the query of an offer says holds for each line that does not say otherwise, whatever
// its form.
func TestQueryHasTheDefaultsOfLines(t *testing.T) {
	s := start(t, canon.Qiita(), Config{})
	if got := s.request(t, "POST", "/v1/urls?crawl=news&priority=2", `{"url":"http://a.com/1"}
{"url":"http://a.com/2","crawl":""}
{"url":"http://a.com/3","crawl":"shop","priority":5}`); strings.Count(got, `"new"`) != 3 {
		t.Errorf("got %s; want three new URLs", got)
	}
	for _, c := range [][2]string{{"news", "2"}, {"shop", "1"}, {"DEFAULT", "0"}} {
		if got := s.request(t, "GET", "/v1/urls?count&crawl="+c[0], ""); !strings.Contains(got, `:`+c[1]) {
			t.Errorf("crawl %s: got %s; want %s", c[0], got, c[1])
		}
	}
	for crawl, want := range map[string]string{"news": `"priority":2`, "shop": `"priority":5`} {
		if got := s.request(t, "POST", "/v1/lease", `{"crawl":"`+crawl+`"}`); !strings.Contains(got, want) {
			t.Errorf("crawl %s: got %s; want %s", crawl, got, want)
		}
	}
	if got := s.request(t, "POST", "/v1/urls?unless_fetched_after=never", `{"url":"http://a.com/1"}`); !strings.HasPrefix(got, "400") {
		t.Errorf("got %s; want 400", got)
	}
}
