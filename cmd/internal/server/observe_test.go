package server

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
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

// TestHelpListsTheValuesOfLabels: where a help text lists what a label can be, that is what the code sets.
func TestHelpListsTheValuesOfLabels(t *testing.T) {
	r := start(t, canon.Qiita(), Config{TokensFile: threeTokens(t)})
	for outcome := range outcomeLabels {
		for _, answer := range []frontier.Settled{frontier.OK, frontier.GaveUp, frontier.Stale, frontier.AlreadyDone} {
			r.countSettled(outcome, answer)
		}
	}
	for _, kind := range []string{"true", "false"} {
		r.count.putKind.WithLabelValues(kind)
	}
	for _, token := range []string{"wrong", readToken} {
		r.requestWith(t, token, "POST", "/v1/lease", "{}")
	}
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string][]string{
		"firstseen_urls_settled_total":      {`outcome: (.*)\.`},
		"firstseen_urls_offered_total":      {`verdict: (.*)\.`},
		"firstseen_auth_failures_total":     {`code: (.*)\.`},
		"firstseen_urls_dropped_total":      {`reason: (excluded)`, `\((.*)\)`},
		"frontier_putURLs_discovered_total": {`\((true)\) or`, `\((false)\)`},
	}
	for _, family := range families {
		var want, got []string
		for _, pattern := range listed[family.GetName()] {
			m := regexp.MustCompile(pattern).FindStringSubmatch(family.GetHelp())
			if m == nil {
				t.Errorf("%s: got %q; want it to match %s", family.GetName(), family.GetHelp(), pattern)
				continue
			}
			want = append(want, strings.FieldsFunc(strings.ReplaceAll(m[1], " or ", ","), func(r rune) bool { return r == ',' || r == ' ' })...)
		}
		if want == nil {
			if regexp.MustCompile(`, by \w+: `).MatchString(family.GetHelp()) {
				t.Errorf("%s lists values in %q, which nothing here holds", family.GetName(), family.GetHelp())
			}
			continue
		}
		for _, m := range family.GetMetric() {
			got = append(got, m.GetLabel()[0].GetValue())
		}
		slices.Sort(want)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: got values %q; want those of its help, %q", family.GetName(), got, want)
		}
		delete(listed, family.GetName())
	}
	if len(listed) > 0 {
		t.Errorf("got no metric of %v", listed)
	}
}
