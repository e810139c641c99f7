package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
	pb "github.com/firstseen/firstseen/frontier/frontierpb"
)

const (
	teamToken = "team-0123456789abcdef"
	bossToken = "boss-0123456789abcdef"
)

func teamTokens(t testing.TB, more string) string {
	return tokenFile(t, "admin "+teamToken+" name=team-a crawls=a,other,a "+more+"\nadmin "+bossToken+" name=boss\n")
}

func TestGrantsOfTokenFile(t *testing.T) {
	for _, test := range []struct{ words, want string }{
		{"name=a crawls=x,y adds=10 leases=0.5", ""},
		{"another", "cannot read what follows the token"},
		{writeToken, "cannot read what follows the token"},
		{"crawls=", "got crawl"},
		{"crawls=a,*", `got crawl "*"`},
		{"crawls=" + frontier.OwnCrawl, "got crawl"},
		{"adds=0", "got \"0\""},
		{"adds=-1", "got \"-1\""},
		{"leases=NaN", "got \"NaN\""},
		{"name=", "cannot use name"},
	} {
		_, err := loadTokens(tokenFile(t, "read "+readToken+" "+test.words))
		if got := errText(err); !strings.Contains(got, test.want) || (test.want == "") != (err == nil) {
			t.Errorf("%q: got %q; want %q in it", test.words, got, test.want)
		} else if strings.Contains(got, readToken) || strings.Contains(got, writeToken) {
			t.Errorf("%q: the error has a token", test.words)
		}
	}
	if _, err := loadTokens(tokenFile(t, "read "+readToken+"\nadmin "+readToken)); !strings.Contains(errText(err), "same token") {
		t.Errorf("got %v; want a refusal of a token that is there twice", err)
	}
}

// crawlBodies has for each route that a token of crawls may call a request about a crawl, which
// CRAWL stands for.
var crawlBodies = map[string]string{
	"POST /v1/urls":     `{"url":"http://a.com/CRAWL","crawl":"CRAWL"}`,
	"POST /v1/seen":     `{"url":"http://a.com/seen","crawl":"CRAWL"}`,
	"POST /v1/import":   `{"ID":"the item","discovered":{"info":{"url":"http://a.com/i","key":"a.com","crawlID":"CRAWL"}}}`,
	"POST /v1/lease":    `{"crawl":"CRAWL"}`,
	"POST /v1/done":     `{"leases":[{"crawl":"CRAWL","key":"00000000000000000000000000000000","token":"1"}]}`,
	"POST /v1/redirect": `{"url":"http://a.com/CRAWL","target":"http://b.com/","crawl":"CRAWL","key":"00000000000000000000000000000000","token":"1"}`,
	"POST /v1/queue":    `{"crawl":"CRAWL","queue":"a.com","limit":0}`,
	"POST /v1/forget":   `{"crawl":"CRAWL","queue":"nothing"}`,
	"POST /v1/crawl":    `{"crawl":"CRAWL","profile":"none"}`,
	"POST /v1/change":   `{"select":{"crawl":"CRAWL","queue":"nothing"},"do":"drop"}`,
	"GET /v1/urls":      "?crawl=CRAWL",
	"GET /v1/export":    "?crawl=CRAWL",

	"GET /v1/exclusions":  "?crawl=CRAWL",
	"POST /v1/exclusions": `{"crawl":"CRAWL","add":["none.example"]}`,

	"GET /v1/explain": "?crawl=CRAWL&url=http://a.com/",
	"GET /v1/stats":   "?crawl=CRAWL",
	"GET /v1/queues":  "?crawl=CRAWL",
}

// TestTokenOfCrawls calls every route with a token for the crawls a and other: all that concerns
// crawl b or all crawls is refused, and what the token may do answers as with an unbounded one.
func TestTokenOfCrawls(t *testing.T) {
	r := start(t, canon.None(), Config{TokensFile: teamTokens(t, "")})
	for _, crawl := range []string{"a", "b"} { // known, for exports
		r.requestWith(t, bossToken, "POST", "/v1/urls", `{"url":"http://first.com/","crawl":"`+crawl+`"}`)
	}
	ask := func(token string, at route, crawl string) string {
		method, path, _ := strings.Cut(at.pattern, " ")
		text := strings.ReplaceAll(crawlBodies[at.pattern], "CRAWL", crawl)
		if method == "GET" {
			return r.requestWith(t, token, method, path+text, "")
		}
		return r.requestWith(t, token, method, path, text)
	}
	refused := func(answer string) bool {
		return strings.HasPrefix(answer, "403") || strings.Contains(answer, `"forbidden"`) || strings.Contains(answer, `"FAIL"`)
	}
	for _, at := range r.web.described() {
		byCrawl := at.rate != ofAll
		if _, has := crawlBodies[at.pattern]; has != byCrawl {
			t.Errorf("%s: got a request about one crawl %t; want %t", at.pattern, has, byCrawl)
		}
		if !byCrawl {
			if got := r.requestWith(t, teamToken, strings.Fields(at.pattern)[0], strings.Fields(at.pattern)[1], `{}`); !strings.HasPrefix(got, "403") {
				t.Errorf("%s: got %s; want 403", at.pattern, got)
			}
			continue
		}
		for _, crawl := range []string{"b", "DEFAULT"} {
			got := ask(teamToken, at, crawl)
			if !refused(got) || at.pattern == "POST /v1/import" && !strings.Contains(got, "the item") {
				t.Errorf("%s of crawl %s: got %s; want a refusal, of an item by its ID", at.pattern, crawl, got)
			}
		}
		if got := ask(teamToken, at, "a"); refused(got) {
			t.Errorf("%s of crawl a: got %s; want no refusal", at.pattern, got)
		}
		if got := ask(bossToken, at, "b"); refused(got) {
			t.Errorf("%s with the other token: got %s; want no refusal", at.pattern, got)
		}
	}
	for _, exclude := range []string{`{"all":true,"add":["x.example"]}`, `{"crawl":"a","add":["y.example"]}`, `{"crawl":"other","add":["y.example"]}`, `{"crawl":"b","add":["z.example"]}`} {
		r.requestWith(t, bossToken, "POST", "/v1/exclusions", exclude)
	}
	for _, at := range r.web.described() { // what reads "*" reads the crawls of the token, and what leases or changes it is refused
		if boss := ask(bossToken, at, "*"); at.rate == ofAll || refused(boss) || !strings.HasPrefix(boss, "200") {
			continue
		}
		if got := ask(teamToken, at, "*"); refused(got) == (at.need == Read) || strings.Contains(got, `"crawl":"b"`) {
			t.Errorf("%s of every crawl: got %s; want what crawls a and other have, or a refusal", at.pattern, got)
		}
	}
	if got := ask(teamToken, route{pattern: "GET /v1/exclusions"}, "*"); strings.Count(got, `"rule"`) != 4 || !strings.Contains(got, "x.example") {
		t.Errorf("got %s; want the rule of every crawl once, and those of a and other", got)
	}
	if got := ask(teamToken, route{pattern: "POST /v1/done"}, ""); !strings.Contains(got, `crawl \"DEFAULT\"`) {
		t.Errorf("got %s; want the name of the default crawl", got)
	}
	got := r.requestWith(t, teamToken, "GET", "/v1/stats?crawl=*", "")
	if !strings.Contains(got, `"crawls":["a"]`) || strings.Contains(got, "firstseen_") || strings.Contains(got, "http://a.com/b") {
		t.Errorf("got %s; want the crawl a alone and no counters", got)
	}
}

// TestTokenOfCrawlsOverGRPC does the same over gRPC, for every call.
func TestTokenOfCrawlsOverGRPC(t *testing.T) {
	r := start(t, canon.None(), Config{TokensFile: teamTokens(t, "")})
	c := r.client(t)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+teamToken)
	calls := map[string]func(crawl string) error{
		"GetStats": func(n string) error {
			_, err := c.GetStats(ctx, &pb.QueueWithinCrawlParams{CrawlID: n})
			return err
		},
		"ListQueues": func(n string) error { _, err := c.ListQueues(ctx, &pb.Pagination{CrawlID: n}); return err },
		"ListURLs": func(n string) error {
			stream, err := c.ListURLs(ctx, &pb.ListUrlParams{CrawlID: n})
			if err == nil {
				_, err = stream.Recv()
			}
			return ended(err)
		},
		"CountURLs": func(n string) error { _, err := c.CountURLs(ctx, &pb.CountUrlParams{CrawlID: n}); return err },
		"GetURLStatus": func(n string) error {
			_, err := c.GetURLStatus(ctx, &pb.URLStatusRequest{Url: "http://a.com/", Key: "a.com", CrawlID: n})
			if status.Code(err) == codes.NotFound {
				err = nil
			}
			return err
		},
		"GetURLs": func(n string) error {
			stream, err := c.GetURLs(ctx, &pb.GetParams{Item: &pb.GetParams_CrawlID{CrawlID: n}})
			if err == nil {
				_, err = stream.Recv()
			}
			return ended(err)
		},
		"BlockQueueUntil": func(n string) error {
			_, err := c.BlockQueueUntil(ctx, &pb.BlockQueueParams{Key: "k", CrawlID: n})
			return err
		},
		"SetDelay": func(n string) error {
			_, err := c.SetDelay(ctx, &pb.QueueDelayParams{Key: "k", CrawlID: n})
			return err
		},
		"SetCrawlLimit": func(n string) error {
			_, err := c.SetCrawlLimit(ctx, &pb.CrawlLimitParams{Key: "k", CrawlID: n})
			if status.Code(err) == codes.NotFound {
				err = nil
			}
			return err
		},
		"PurgeURLs": func(n string) error { _, err := c.PurgeURLs(ctx, &pb.PurgeUrlParams{CrawlID: n}); return err },
		"DeleteQueue": func(n string) error {
			_, err := c.DeleteQueue(ctx, &pb.QueueWithinCrawlParams{Key: "k", CrawlID: n})
			return err
		},
		"DeleteCrawl":   func(n string) error { _, err := c.DeleteCrawl(ctx, &pb.DeleteCrawlMessage{Value: n}); return err },
		"PutURLs":       func(n string) error { return put(ctx, c, n) },
		"PutDiscovered": func(n string) error { return putDiscovered(ctx, c, n) },
	}
	whole := map[string]func() error{
		"SetActive":          func() error { _, err := c.SetActive(ctx, &pb.Active{State: true}); return err },
		"SetLogLevel":        func() error { _, err := c.SetLogLevel(ctx, &pb.LogLevelParams{}); return err },
		"SetDelay of all":    func() error { _, err := c.SetDelay(ctx, &pb.QueueDelayParams{DelayRequestable: 9}); return err },
		"GetURLs of all":     func() error { return first(c.GetURLs(ctx, &pb.GetParams{})) },
		"GetURLs of a crawl": func() error { return calls["GetURLs"]("*") },
	}
	free := map[string]bool{"ListCrawls": true, "ListNodes": true, "GetActive": true, "SetActive": true, "SetLogLevel": true}
	for _, m := range pb.URLFrontier_ServiceDesc.Methods {
		if calls[m.MethodName] == nil && !free[m.MethodName] {
			t.Errorf("%s is not tried", m.MethodName)
		}
	}
	for name, call := range calls {
		if err := call("b"); status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s of crawl b: got %v; want PermissionDenied", name, err)
		}
		if err := call(""); status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s of the default crawl: got %v; want PermissionDenied", name, err)
		}
		if err := call("a"); err != nil {
			t.Errorf("%s of crawl a: got %v; want no error", name, err)
		}
	}
	for name, call := range calls { // of every crawl, for which the other token has an answer where this one has
		err, reads := call("*"), accessOf("/urlfrontier.URLFrontier/"+name).need == Read
		if name == "GetURLStatus" { // of one crawl
			reads = false
		}
		if (err == nil) != reads {
			t.Errorf("%s of every crawl: got %v; want an answer: %t", name, err, reads)
		}
	}
	for name, call := range whole {
		if err := call(); status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s: got %v; want PermissionDenied", name, err)
		}
	}
}

// ended is the error of a stream, nil for its end.
func ended(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

func first(stream pb.URLFrontier_GetURLsClient, err error) error {
	if err == nil {
		_, err = stream.Recv()
	}
	return ended(err)
}

// put offers a URL of a crawl, and reports FAIL as PermissionDenied.
func put(ctx context.Context, c pb.URLFrontierClient, crawl string) error {
	stream, err := c.PutURLs(ctx)
	if err != nil {
		return err
	}
	for _, item := range []*pb.URLItem{
		{ID: "1", Item: &pb.URLItem_Discovered{Discovered: &pb.DiscoveredURLItem{Info: &pb.URLInfo{Url: "http://put.com/", Key: "put.com", CrawlID: crawl}}}},
		{ID: "2", Item: &pb.URLItem_Known{Known: &pb.KnownURLItem{Info: &pb.URLInfo{Url: "http://put.com/2", Key: "put.com", CrawlID: crawl}}}},
	} {
		if err := stream.Send(item); err != nil {
			return err
		}
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	failed := 0
	for {
		ack, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if ack.Status == pb.AckMessage_FAIL {
			failed++
		}
	}
	return asDenied(failed, 2)
}

func asDenied(failed, all int) error {
	switch failed {
	case 0:
		return nil
	case all:
		return status.Error(codes.PermissionDenied, "FAIL")
	}
	return fmt.Errorf("got %d of %d FAIL", failed, all)
}

func putDiscovered(ctx context.Context, c pb.URLFrontierClient, crawl string) error {
	stream, err := c.PutDiscovered(ctx)
	if err != nil {
		return err
	}
	if err := stream.Send(&pb.DiscoveredBatch{ID: "1", Items: []*pb.URLInfo{{Url: "http://batch.com/", Key: "batch.com", CrawlID: crawl}}}); err != nil {
		return err
	}
	ack, err := stream.Recv()
	if err != nil {
		return err
	}
	failed := 0
	for _, s := range ack.Statuses {
		if s == pb.AckMessage_FAIL {
			failed++
		}
	}
	return asDenied(failed, 1)
}

// TestMixedCrawls offers URLs of two crawls in one body: those of the other crawl alone are refused.
func TestMixedCrawls(t *testing.T) {
	r := start(t, canon.None(), Config{TokensFile: teamTokens(t, "")})
	got := r.requestWith(t, teamToken, "POST", "/v1/urls?brief", `{"url":"http://x.com/1","crawl":"a"}
{"url":"http://x.com/1","crawl":"b"}
{"url":"http://x.com/1","crawl":"other"}
{"url":"http://x.com/1","crawl":"a"}`)
	var verdicts []string
	for _, line := range strings.Split(strings.TrimSpace(got), "\n")[1:] {
		verdicts = append(verdicts, strings.Split(strings.SplitN(line, `"verdict":"`, 2)[1], `"`)[0])
	}
	if text := strings.Join(verdicts, " "); text != "new refused new duplicate" || !strings.Contains(got, "the token is for other crawls") {
		t.Errorf("got %s: %s", text, got)
	}
	if st, err := r.f.own.Stats(t.Context(), "*"); err != nil || st.Seen != 2 {
		t.Errorf("got %d URLs, %v; want 2", st.Seen, err)
	}
}

// TestRates: a token that was faster than its rate waits, and another token does not. Only
// lower bounds of times are asserted.
func TestRates(t *testing.T) {
	r := start(t, canon.None(), Config{TokensFile: teamTokens(t, "adds=20 leases=10")})
	lines := func(from, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"url":"http://h%d.com/","crawl":"a"}`+"\n", from+i)
		}
		return b.String()
	}
	began := time.Now()
	for i := range 3 {
		r.requestWith(t, teamToken, "POST", "/v1/urls", lines(6*i, 6))
	}
	if took := time.Since(began); took < 580*time.Millisecond { // 12 URLs before the last body
		t.Errorf("18 URLs at 20 a second: got %v; want 0.6 s or more", took)
	}
	began = time.Now()
	for range 3 {
		if got := r.requestWith(t, teamToken, "POST", "/v1/lease", `{"crawl":"a","max":3}`); strings.Count(got, `"token"`) != 3 {
			t.Errorf("got %s; want 3 leases", got)
		}
	}
	if took := time.Since(began); took < 580*time.Millisecond {
		t.Errorf("9 leases at 10 a second: got %v; want 0.6 s or more", took)
	}
	have := r.tokens
	owed := func() (sum time.Duration) {
		for _, g := range *have.set.Load() {
			sum += g.adds.owed() + g.leases.owed()
		}
		return sum
	}
	r.requestWith(t, bossToken, "POST", "/v1/urls", lines(100, 1000))
	if got := owed(); got > time.Second {
		t.Errorf("got %v owed after URLs of a token without a rate; want less than 1 s", got)
	}
}

// TestRateAcrossReload: a debt stays if the rate is the same, and ends with the rate.
func TestRateAcrossReload(t *testing.T) {
	file := tokenFile(t, "write "+writeToken+" adds=1")
	r := start(t, canon.None(), Config{TokensFile: file})
	r.requestWith(t, writeToken, "POST", "/v1/urls", `{"url":"http://a.com/1"}`+"\n"+strings.Repeat(`{"url":"http://a.com/2"}`+"\n", 200))
	owed := func() time.Duration {
		for _, g := range *r.tokens.set.Load() {
			return g.adds.owed()
		}
		return 0
	}
	if err := r.Reload(t.Context()); err != nil || owed() < time.Minute {
		t.Errorf("got %v owed after a reload, %v; want minutes", owed(), err)
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		req, err := http.NewRequestWithContext(t.Context(), "POST", r.url("/v1/urls"), strings.NewReader(`{"url":"http://a.com/3"}`))
		if err != nil {
			return
		}
		req.Header.Set("Authorization", "Bearer "+writeToken)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}()
	select {
	case <-answered:
		t.Error("got an answer while the token owes minutes")
	case <-time.After(50 * time.Millisecond):
	}
	if err := rewrite(file, "write "+writeToken); err != nil {
		t.Fatal(err)
	}
	if err := r.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-answered
}

// TestRevokedCrawl: a stream under way is bounded by what the token allows now.
func TestRevokedCrawl(t *testing.T) {
	file := tokenFile(t, "write "+writeToken)
	r := start(t, canon.None(), Config{TokensFile: file})
	stream, err := r.client(t).PutURLs(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+writeToken))
	if err != nil {
		t.Fatal(err)
	}
	offer := func(url string) pb.AckMessage_Status {
		t.Helper()
		err := stream.Send(&pb.URLItem{Item: &pb.URLItem_Discovered{Discovered: &pb.DiscoveredURLItem{Info: &pb.URLInfo{Url: url, Key: "a.com", CrawlID: "b"}}}})
		if err != nil {
			t.Fatal(err)
		}
		ack, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return ack.Status
	}
	if got := offer("http://a.com/1"); got != pb.AckMessage_OK {
		t.Errorf("got %s; want OK", got)
	}
	if err := rewrite(file, "write "+writeToken+" crawls=a"); err != nil {
		t.Fatal(err)
	}
	if err := r.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := offer("http://a.com/2"); got != pb.AckMessage_FAIL {
		t.Errorf("got %s; want FAIL", got)
	}
}
