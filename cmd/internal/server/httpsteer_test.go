package server

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/canon"
	pb "github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/store"
)

// TestSteer pauses, limits and forgets by HTTP.
func TestSteer(t *testing.T) {
	s := start(t, canon.Qiita(), Config{})
	later := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	s.request(t, "POST", "/v1/urls", `{"url":"http://a.com/1"}`+"\n"+`{"url":"http://a.com/2"}`+"\n"+`{"url":"http://b.com/1"}`+"\n"+`{"url":"http://c.com/1"}`)
	for _, c := range []struct{ what, path, body, code, want string }{
		{"a queue is paused", "/v1/queue", `{"queue":"a.com","paused":true}`, "200", `{"scope":"queue","crawl":"DEFAULT","queue":"a.com","was":{},"is":{"paused":true}}`},
		{"and limited", "/v1/queue", `{"queue":"a.com","limit":5}`, "200", `"was":{"paused":true},"is":{"limit":5,"paused":true}}`},
		{"nothing", "/v1/queue", `{"limit":5}`, "400", "got no queue and no crawl"},
		{"a misspelt queue", "/v1/queue", `{"queue":"a.con","limit":5}`, "404", `cannot find queue \"a.con\" in crawl \"DEFAULT\"`},
		{"a misspelt crawl", "/v1/queue", `{"crawl":"nwes","paused":true}`, "404", `cannot find crawl \"nwes\"`},
		{"neither is there now", "/v1/queues?queue=a.con", "", "200", `{"queues":[]}`},
		{"unless asked for", "/v1/queue", `{"queue":"later.com","weight":4,"delay_seconds":0,"create":true}`, "200", `"is":{"delay_seconds":0,"weight":4}`},
		{"a group", "/v1/queue", `{"queue":"grouped.com","group":"192.0.2.1","create":true}`, "200", `"is":{"group":"192.0.2.1"}`},
		{"depth first", "/v1/queue", `{"crawl":"DEFAULT","order":"depth"}`, "200", `"was":{},"is":{"order":"depth"}`},
		{"it is", "/v1/stats", "", "200", `"settings":{"order":"depth"}`},
		{"breadth first", "/v1/queue", `{"crawl":"DEFAULT","order":"breadth"}`, "200", `"is":{}`},
		{"a retention", "/v1/queue", `{"crawl":"DEFAULT","retention_seconds":86400,"queue_limit":7}`, "200", `"is":{"queue_limit":7,"retention_seconds":86400}`},
		{"none", "/v1/queue", `{"crawl":"DEFAULT","retention_seconds":0,"queue_limit":0}`, "200", `"is":{}`},
		{"the retention of a queue", "/v1/queue", `{"queue":"a.com","retention_seconds":5}`, "400", "retention_seconds (--retention) of a queue"},
		{"the queue limit of a queue", "/v1/queue", `{"queue":"a.com","queue_limit":5}`, "400", "want its limit (--limit)"},
		{"the retention of all", "/v1/queue", `{"all":true,"retention_seconds":5}`, "400", "want one crawl"},
		{"no order", "/v1/queue", `{"crawl":"DEFAULT","order":"random"}`, "400", `order \"random\"`},
		{"a weight that is too large", "/v1/queue", `{"queue":"a.com","weight":256}`, "400", "weight 256"},
		{"all and a crawl", "/v1/queue", `{"crawl":"DEFAULT","all":true,"paused":true}`, "400", "want one of them"},
		{"a crawl is paused", "/v1/queue", `{"crawl":"DEFAULT","paused":true,"delay_seconds":7}`, "200", `{"scope":"crawl","crawl":"DEFAULT","was":{},"is":{"delay_seconds":7,"paused":true}}`},
		{"its queues say so", "/v1/queues?queue=b.com", "", "200", `"state":"paused","reason":"the crawl is paused","default_delay_seconds":7`},
		{"its stats too", "/v1/stats", "", "200", `"settings":{"delay_seconds":7,"paused":true}`},
		{"and is resumed", "/v1/queue", `{"crawl":"DEFAULT","paused":false,"default_delay":true}`, "200", `"is":{}`},
		{"a crawl is blocked", "/v1/queue", `{"crawl":"DEFAULT","blocked_until":"2100-01-01T00:00:00Z"}`, "200", `"is":{"blocked_until":"2100-01-01T00:00:00Z"}`},
		{"for all its queues", "/v1/queues?queue=b.com", "", "200", `the crawl is blocked until 2100-01-01T00:00:00Z`},
		{"no longer", "/v1/queue", `{"crawl":"DEFAULT","blocked_until":"2000-01-01T00:00:00Z"}`, "200", `{"scope":"crawl"`},
		{"the store has settings", "/v1/queue", `{"all":true,"delay_seconds":9,"paused":true}`, "200", `{"scope":"store","was":{},"is":{"delay_seconds":9,"paused":true}}`},
		{"which hold", "/v1/queues?queue=b.com", "", "200", `"reason":"all queues are paused","default_delay_seconds":9`},
		{"and are taken back", "/v1/queue", `{"all":true,"default_delay":true,"paused":false}`, "200", `"is":{}`},
		{"the daemon's own crawl", "/v1/queues?crawl=.serve", "", "400", "settings of the daemon"},
		{"is in no list", "/v1/stats?crawl=*", "", "200", `"crawls":["DEFAULT"]`},
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

// TestSetDelayOfACrawl asserts that a delay over URLFrontier without a key is that of the crawl it names, or of all.
func TestSetDelayOfACrawl(t *testing.T) {
	s := start(t, canon.Qiita(), Config{})
	s.request(t, "POST", "/v1/urls", `{"url":"http://a.com/1","crawl":"news"}`+"\n"+`{"url":"http://a.com/1","crawl":"shop"}`)
	delay := func(crawl string) string {
		return regexp.MustCompile(`"default_delay_seconds":\d+|\{"queues":\[\]`).FindString(s.request(t, "GET", "/v1/queues?queue=a.com&crawl="+crawl, ""))
	}
	for _, c := range []struct {
		crawl      string
		seconds    uint32
		news, shop string
	}{{"news", 7, `"default_delay_seconds":7`, ""}, {"", 9, `"default_delay_seconds":7`, `"default_delay_seconds":9`}} {
		if _, err := s.client(t).SetDelay(t.Context(), &pb.QueueDelayParams{CrawlID: c.crawl, DelayRequestable: c.seconds}); err != nil {
			t.Fatal(err)
		}
		if news, shop := delay("news"), delay("shop"); news != c.news || shop != c.shop {
			t.Errorf("after a delay of crawl %q: got %s of news, %s of shop; want %s, %s", c.crawl, news, shop, c.news, c.shop)
		}
	}
	if _, err := s.client(t).SetDelay(t.Context(), &pb.QueueDelayParams{CrawlID: "*", DelayRequestable: 1}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("got %v; want no crawl of that name", err)
	}
}

// TestOwnCrawlIsNowhere asserts that what a daemon keeps for itself is in no list and no count.
func TestOwnCrawlIsNowhere(t *testing.T) {
	s := start(t, canon.Qiita(), Config{})
	yes := true
	if err := s.store.Configure(t.Context(), ".serve", "active", store.QueueChange{Paused: &yes}); err != nil { // as earlier versions did
		t.Fatal(err)
	}
	s.request(t, "POST", "/v1/pause", `{"paused":true}`)
	s.request(t, "POST", "/v1/urls", `{"url":"http://a.com/1"}`)
	for _, path := range []string{"/v1/stats?crawl=*", "/v1/queues?crawl=*", "/v1/queues?crawl=*&order=waiting", "/metrics", "/v1/history"} {
		if got := s.request(t, "GET", path, ""); !strings.HasPrefix(got, "200") || strings.Contains(got, ".serve") || strings.Contains(got, "active\"") {
			t.Errorf("%s: got %s; want nothing about .serve", path, got)
		}
	}
	if got, err := s.client(t).ListCrawls(t.Context(), &pb.Local{}); err != nil || fmt.Sprint(got.Values) != "[DEFAULT]" {
		t.Errorf("got crawls %v, %v; want DEFAULT", got, err)
	}
	if got, err := s.client(t).GetStats(t.Context(), &pb.QueueWithinCrawlParams{CrawlID: "*"}); err != nil || got.NumberOfQueues != 1 {
		t.Errorf("got %v, %v; want 1 queue", got, err)
	}
}

// TestDoneTakesTheCrawl asserts that the crawl of a body is that of its leases, and that the refused URLs of a crawl go
// with it.
func TestDoneTakesTheCrawl(t *testing.T) {
	s := start(t, canon.Qiita(), Config{})
	s.request(t, "POST", "/v1/urls", `{"url":"http://a.com/1","crawl":"news"}`+"\n"+`{"url":"mailto:a@b.c","crawl":"news"}`)
	lease := regexp.MustCompile(`"key":"\w+","token":"\d+"`).FindString(s.request(t, "POST", "/v1/lease", `{"crawl":"news"}`))
	for _, c := range [][2]string{{`{"leases":[{` + lease + `}]}`, `["stale"]`}, {`{"crawl":"news","leases":[{` + lease + `}]}`, `["ok"]`}} {
		if got := s.request(t, "POST", "/v1/done", c[0]); !strings.Contains(got, c[1]) {
			t.Errorf("%s: got %s; want %s", c[0], got, c[1])
		}
	}
	if got := s.request(t, "GET", "/v1/stats?crawl=*", ""); !strings.Contains(got, "mailto:") {
		t.Errorf("got %s; want the refused URL", got)
	}
	s.request(t, "POST", "/v1/forget", `{"crawl":"news","all":true}`)
	if got := s.request(t, "GET", "/v1/stats?crawl=*", ""); strings.Contains(got, "mailto:") {
		t.Errorf("got %s; want no refused URL of a crawl that was forgotten", got)
	}
}

// TestSteerScopes asserts that a crawler's token may delay a queue, and not pause, limit or forget.
func TestSteerScopes(t *testing.T) {
	s := start(t, canon.Qiita(), Config{TokensFile: threeTokens(t)})
	s.requestWith(t, writeToken, "POST", "/v1/urls", `{"url":"http://a.com/1"}`)
	for _, call := range [][2]string{
		{"/v1/queue", `{"queue":"a.com","limit":5}`}, {"/v1/queue", `{"queue":"a.com","paused":false}`},
		{"/v1/pause", `{"paused":true}`}, {"/v1/queue", `{"crawl":"DEFAULT","delay_seconds":5}`},
		{"/v1/queue", `{"queue":"a.com","weight":5}`}, {"/v1/queue", `{"all":true,"delay_seconds":5}`}, {"/v1/forget", `{"all":true}`},
	} {
		path, body := call[0], call[1]
		if got := s.requestWith(t, writeToken, "POST", path, body); !strings.HasPrefix(got, "403") {
			t.Errorf("%s of a crawler: got %s; want 403", path, got)
		}
		if got := s.requestWith(t, adminToken, "POST", path, body); !strings.HasPrefix(got, "200") {
			t.Errorf("%s of an operator: got %s; want 200", path, got)
		}
	}
	if got := s.requestWith(t, writeToken, "POST", "/v1/queue", `{"queue":"a.com","delay_seconds":5,"create":true}`); !strings.HasPrefix(got, "200") {
		t.Errorf("a delay of a crawler: got %s; want 200", got)
	}
}
