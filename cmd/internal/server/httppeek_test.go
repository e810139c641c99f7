package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/wire"
)

// TestSeenWithoutRecording asks for URLs in batches, some of them without recording: the answers
// are those of the order of the lines, and only the others are recorded.
func TestSeenWithoutRecording(t *testing.T) {
	s := start(t, canon.Qiita(), Config{})
	ask := func(path, body string) (got string) {
		t.Helper()
		_, text, _ := strings.Cut(s.request(t, "POST", path, body), "\n")
		for line := range strings.Lines(text) {
			var v wire.VerdictLine
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			got += v.Verdict[:1]
		}
		return got
	}
	const peek, record = `{"url":"http://a.com/1#x","record":false}` + "\n", `{"url":"http://A.com/1"}` + "\n"
	for _, c := range []struct{ path, body, want string }{
		{"/v1/seen", peek + peek, "nn"},
		{"/v1/seen", peek + record + peek + `{"url":"x:","record":false}` + "\n" + record + `{"url":"http://a.com/1","record":true}`, "nndrdd"},
		{"/v1/seen?brief", peek + `{"url":"http://a.com/2","record":false}`, "dn"},
		{"/v1/seen", `{"url":"http://a.com/3","crawl":"other","record":false}` + "\n" + peek, "nd"},
		{"/v1/urls", peek, "r"},
		{"/v1/urls", `{"url":"http://a.com/9"}` + "\n" + `{"url":"http://a.com/9","record":true}`, "nd"},
		{"/v1/seen", `{"url":"http://a.com/9#y","record":false}`, "d"},
	} {
		if got := ask(c.path, c.body); got != c.want {
			t.Errorf("%s %s: got %s; want %s", c.path, c.body, got, c.want)
		}
	}
	if got := s.request(t, "POST", "/v1/seen", `{"url":"http://a.com/9#y","record":false}`); !strings.Contains(got, `"first":"http://a.com/9"`) {
		t.Errorf("got %s; want the first-seen URL", got)
	}
	if st, err := s.store.Stats(t.Context(), "*"); err != nil || st.Seen != 2 {
		t.Errorf("got %d keys, %v; want 2", st.Seen, err)
	}
	if crawls, err := s.store.Crawls(t.Context()); err != nil || strings.Contains(strings.Join(crawls, " "), "other") {
		t.Errorf("got crawls %q, %v; want none for a URL that was not recorded", crawls, err)
	}
}
