package server

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/evidence"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/wire"
)

// TestTrapsByYield: a template that brings one content is lowered by the fetches that clients report to
// /v1/done, and /v1/traps, /v1/explain, /v1/lease and /metrics show it: page 99 and the last three of the
// first twenty are lowered. An operator lifts it.
func TestTrapsByYield(t *testing.T) {
	learned := evidence.New(evidence.Options{Traps: evidence.LowerTraps})
	s := startWith(t, canon.Qiita(), Config{Evidence: learned}, func(o *frontier.Options) {
		o.OnFetched = func(f frontier.Fetched) { learned.Offer(&f) }
		o.Lower, o.Delay, o.MaxInFlight = learned.Lower, -1, -1
	})
	leaseOne := func() wire.Lease {
		t.Helper()
		_, body := s.ask(t, "POST", "/v1/lease", `{"max":1}`)
		var answer wire.Leases
		if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Leases) != 1 {
			t.Fatalf("got %s, %v; want a lease", body, err)
		}
		return answer.Leases[0]
	}
	var lines strings.Builder
	for i := range 20 {
		fmt.Fprintf(&lines, "{\"url\":\"http://a.example/list?page=%d\"}\n", i)
	}
	s.request(t, "POST", "/v1/urls", lines.String())
	for range 20 {
		l := leaseOne()
		s.request(t, "POST", "/v1/done", fmt.Sprintf(`{"leases":[{"crawl":%q,"key":%q,"token":%q,"outcome":"done","fetched":{"url":%q,"status":200,"digest":"same"}}]}`, l.Crawl, l.Key, l.Token, l.URL))
	}
	const name = "a.example/list?page"
	s.request(t, "POST", "/v1/urls", `{"url":"http://a.example/list?page=99"}`+"\n"+`{"url":"http://a.example/article"}`)
	for _, c := range []struct{ what, got, want string }{
		{"listed", s.request(t, "GET", "/v1/traps", ""), `"urls":4,"templates":[{"template":"` + name + `","fetches":20,"known":19,"lowered":true,"lifted":false},{"template":"a.example/list?{rest}","fetches":20,"known":19,"lowered":true,"lifted":false}]`},
		{"explained", s.request(t, "GET", "/v1/explain?url=http://a.example/list%3Fpage=5", ""), `"trap":{"template":"` + name + `"`},
		{"counted", s.request(t, "GET", "/metrics", ""), `firstseen_trap_urls_total{shadow="no"} 4`},
		{"the article", leaseOne().URL, "http://a.example/article"},
		{"then the trap", leaseOne().URL, "page=99"},
		{"lifted", s.request(t, "POST", "/v1/traps", `{"template":"`+name+`","lifted":true}`), `"lifted":true`},
		{"neither lifted nor not", s.request(t, "POST", "/v1/traps", `{"template":"`+name+`"}`), "400"},
		{"no such template", s.request(t, "POST", "/v1/traps", `{"template":"nonesuch","lifted":true}`), "404"},
		{"no table", start(t, canon.Qiita(), Config{}).request(t, "GET", "/v1/traps", ""), "409"},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%s: got %s; want %s", c.what, c.got, c.want)
		}
	}
}

// TestUnlistedKindsAreExcluded: a kind of pages that clients report as unlisted is refused, explained with what lifts it, and taken again when it
// is lifted.
func TestUnlistedKindsAreExcluded(t *testing.T) {
	learned := evidence.New(evidence.Options{Traps: evidence.LeaveOutTraps})
	s := startWith(t, canon.Qiita(), Config{Evidence: learned}, func(o *frontier.Options) {
		o.OnFetched = func(f frontier.Fetched) { learned.Offer(&f) }
		o.Lower, o.Exclude, o.Delay, o.MaxInFlight = learned.Lower, learned.Exclude, -1, -1
	})
	form := func(i int) string { return fmt.Sprintf("http://a.example/w?action=edit&title=%d", i) }
	for i := range 3 {
		s.offer(t, form(i))
		_, body := s.ask(t, "POST", "/v1/lease", `{"max":1}`)
		var answer wire.Leases
		if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Leases) != 1 {
			t.Fatalf("got %s, %v; want a lease", body, err)
		}
		l := answer.Leases[0]
		s.request(t, "POST", "/v1/done", fmt.Sprintf(`{"leases":[{"key":%q,"token":%q,"fetched":{"url":%q,"status":200,"unlisted":true,"masked":"x"}}]}`, l.Key, l.Token, l.URL))
	}
	explain := "/v1/explain?url=" + url.QueryEscape(form(9))
	for _, c := range []struct{ what, got, want string }{
		{"offered", s.request(t, "POST", "/v1/urls", fmt.Sprintf(`{"url":%q}`, form(9))), `"excluded"`},
		{"explained", s.request(t, "GET", explain, ""), "It is excluded by --traps unlisted"},
		{"with what lifts it", s.request(t, "GET", explain, ""), `POST /v1/traps lifts a.example/w?action&title`},
		{"lifted", s.request(t, "POST", "/v1/traps", `{"template":"a.example/w?action&title","lifted":true}`), `"lifted":true`},
		{"offered again", s.request(t, "POST", "/v1/urls", fmt.Sprintf(`{"url":%q}`, form(9))), `"new"`},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%s: got %s; want %s", c.what, c.got, c.want)
		}
	}
}
