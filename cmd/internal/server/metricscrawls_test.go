package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
)

// TestCrawlGauges checks the gauges by crawl, and that many crawls do not add more of them.
func TestCrawlGauges(t *testing.T) {
	r := start(t, canon.None(), Config{Store: fixedMetrics{}})
	var body strings.Builder
	for i := range mostCrawls + 10 {
		fmt.Fprintf(&body, `{"url":"http://a.com/","crawl":"c%02d"}`+"\n", i)
	}
	r.request(t, "POST", "/v1/urls", body.String())
	r.request(t, "POST", "/v1/lease", `{"crawl":"c00"}`)
	text := r.request(t, "GET", "/metrics", "")
	for _, want := range []string{
		"firstseen_crawls 60\n", `firstseen_crawl_seen_keys{crawl="c49"} 1` + "\n", `firstseen_crawl_held_urls{crawl="c00"} 1` + "\n",
		`firstseen_crawl_in_flight_urls{crawl="c00"} 1` + "\n", `firstseen_crawl_in_flight_urls{crawl="c01"} 0` + "\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics has no %s", want)
		}
	}
	if n := strings.Count(text, "\nfirstseen_crawl_seen_keys{"); n != mostCrawls {
		t.Errorf("got gauges of %d crawls; want %d", n, mostCrawls)
	}
}
