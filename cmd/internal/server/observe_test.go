package server

import (
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/testutil/hang"
)

// TestHTTPMetrics checks the counts of requests by route and status, and that clients cannot add
// routes.
func TestHTTPMetrics(t *testing.T) {
	r := start(t, canon.None(), Config{TokensFile: threeTokens(t)})
	for _, c := range []struct{ token, method, path string }{
		{readToken, "GET", "/v1/stats"}, {readToken, "GET", "/v1/stats?crawl=x"}, {"wrong", "GET", "/v1/stats"},
		{readToken, "GET", "/v1/stats?nonesuch=x"}, {readToken, "GET", "/made/up"}, {readToken, "PUT", "/v1/stats"}, {readToken, "GET", "/healthz"},
	} {
		r.requestWith(t, c.token, c.method, c.path, "")
	}
	text := ""
	for _, want := range []string{
		`firstseen_http_requests_total{code="200",method="GET",path="/v1/stats"} 2`, `firstseen_http_requests_total{code="401",method="GET",path="/v1/stats"} 1`,
		`firstseen_http_requests_total{code="400",method="GET",path="/v1/stats"} 1`, `firstseen_http_requests_total{code="404",method="",path="other"} 1`,
		`firstseen_http_requests_total{code="405",method="",path="other"} 1`, `firstseen_http_requests_total{code="200",method="GET",path="/healthz"} 1`,
		`firstseen_http_seconds_count{method="GET",path="/v1/stats"} 4`, `firstseen_build_info{`,
	} {
		hang.Until(t, want, func() bool { // requests are counted after their answers
			text = r.requestWith(t, readToken, "GET", "/metrics", "")
			return strings.Contains(text, want)
		})
	}
	if strings.Contains(text, "made/up") {
		t.Error("a client added a label")
	}
}
