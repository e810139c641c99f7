package server

import (
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/canon"
)

// TestSteer pauses, limits and forgets by HTTP.
func TestSteer(t *testing.T) {
	s := start(t, canon.Qiita(), Config{})
	later := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	s.request(t, "POST", "/v1/urls", `{"url":"http://a.com/1"}`+"\n"+`{"url":"http://a.com/2"}`+"\n"+`{"url":"http://b.com/1"}`+"\n"+`{"url":"http://c.com/1"}`)
	for _, c := range []struct{ what, path, body, code, want string }{
		{"a queue is paused", "/v1/queue", `{"queue":"a.com","paused":true}`, "200", "{}"},
		{"and limited", "/v1/queue", `{"queue":"a.com","limit":5}`, "200", "{}"},
		{"below none", "/v1/queue", `{"queue":"a.com","limit":-1}`, "400", "limit -1"},
		{"it is", "/v1/queues?queue=a.com", "", "200", `"state":"paused","reason":"the queue is paused","limit":5`},
		{"all are paused", "/v1/pause", `{"paused":true}`, "200", `{"paused":true}`},
		{"they are", "/v1/queues?queue=b.com", "", "200", `"state":"paused","reason":"all queues are paused"`},
		{"nothing is leased", "/v1/lease", `{"max":9}`, "200", `"leases":[]`},
		{"neither", "/v1/pause", `{}`, "400", `true or false`},
		{"all are resumed", "/v1/pause", `{"paused":false}`, "200", `{"paused":false}`},
		{"the others are leased", "/v1/lease", `{"max":9}`, "200", `"queue":"b.com"`},
		{"nothing is named", "/v1/forget", `{}`, "400", "want one"},
		{"two are named", "/v1/forget", `{"queue":"a.com","all":true}`, "400", "want one"},
		{"held of nothing", "/v1/forget", `{"queue":"a.com","held":true}`, "400", "want"},
		{"all crawls", "/v1/forget", `{"crawl":"*","all":true}`, "400", "one crawl"},
		{"a URL, in a variant", "/v1/forget", `{"urls":[{"url":"HTTP://A.com:80/1#x"}]}`, "200", `{"forgotten":1}`},
		{"no URL", "/v1/forget", `{"urls":[{"url":"mailto:a@b.c"}]}`, "400", "mailto"},
		{"old ones that wait", "/v1/forget", `{"before":"` + later + `"}`, "200", `{"forgotten":0}`},
		{"of a queue, whatever their state", "/v1/forget", `{"before":"` + later + `","held":true,"queue":"b.com"}`, "200", `{"forgotten":1}`},
		{"a queue", "/v1/forget", `{"queue":"c.com"}`, "200", `{"forgotten":1}`},
		{"the rest", "/v1/forget", `{"before":"` + later + `","held":true}`, "200", `{"forgotten":1}`},
		{"an unknown crawl", "/v1/forget", `{"crawl":"x","all":true}`, "200", `{"forgotten":0}`},
	} {
		method := "POST"
		if c.body == "" {
			method = "GET"
		}
		if got := s.request(t, method, c.path, c.body); !strings.HasPrefix(got, c.code) || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s; want %s and %s", c.what, got, c.code, c.want)
		}
	}
}

// TestSteerScopes asserts that a crawler's token may delay a queue, and not pause, limit or forget.
func TestSteerScopes(t *testing.T) {
	s := start(t, canon.Qiita(), Config{TokensFile: threeTokens(t)})
	for _, call := range [][2]string{
		{"/v1/queue", `{"queue":"a.com","limit":5}`}, {"/v1/queue", `{"queue":"a.com","paused":false}`},
		{"/v1/pause", `{"paused":true}`}, {"/v1/forget", `{"all":true}`},
	} {
		path, body := call[0], call[1]
		if got := s.requestWith(t, writeToken, "POST", path, body); !strings.HasPrefix(got, "403") {
			t.Errorf("%s of a crawler: got %s; want 403", path, got)
		}
		if got := s.requestWith(t, adminToken, "POST", path, body); !strings.HasPrefix(got, "200") {
			t.Errorf("%s of an operator: got %s; want 200", path, got)
		}
	}
	if got := s.requestWith(t, writeToken, "POST", "/v1/queue", `{"queue":"a.com","delay_seconds":5}`); !strings.HasPrefix(got, "200") {
		t.Errorf("a delay of a crawler: got %s; want 200", got)
	}
}
