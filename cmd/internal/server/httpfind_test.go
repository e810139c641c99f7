package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier"
)

// TestFindAndChange lists, counts, requeues and drops URLs by HTTP, and excludes some and takes that back.
func TestFindAndChange(t *testing.T) {
	s := start(t, canon.Qiita(), Config{})
	var lines strings.Builder
	for i := range 3 {
		fmt.Fprintf(&lines, "{\"url\":\"http://a.com/%d\",\"crawl\":\"news\",\"depth\":%d}\n{\"url\":\"http://b.com/x/%d\",\"crawl\":\"shop\"}\n", i, i, i)
	}
	s.request(t, "POST", "/v1/urls", lines.String())
	for _, c := range []struct{ what, path, body, code, want string }{
		{"a crawl", "/v1/urls?crawl=news", "", "200", `{"url":"http://a.com/2","crawl":"news","queue":"a.com","state":"queued"`},
		{"counted", "/v1/urls?crawl=news&count", "", "200", `{"urls":3}`},
		{"all crawls, counted", "/v1/urls?crawl=*&count", "", "200", `{"urls":6}`},
		{"by rules", "/v1/urls?crawl=*&match=*/2&match=b.com/x/0&count", "", "200", `{"urls":2}`},
		{"by state", "/v1/urls?crawl=news&state=done,dropped", "", "200", ""},
		{"a limit", "/v1/urls?crawl=news&limit=1", "", "200", `"key":"`},
		{"no state", "/v1/urls?state=lost", "", "400", "got state"},
		{"no time", "/v1/urls?before=monday", "", "400", "cannot select URLs by before: cannot read time"},
		{"by age", "/v1/urls?crawl=*&after=1d&fetched_before=2222-01-01&count", "", "200", `{"urls":0}`},
		{"no age", "/v1/change", `{"select":{"fetched_before":"7"},"do":"requeue"}`, "400", "cannot select URLs by fetched_before"},
		{"no rule", "/v1/urls?match=a%20b", "", "400", "cannot select URLs: line 1"},
		{"no such parameter", "/v1/urls?stat=done", "", "400", "got the query parameter"},
		{"nothing is named", "/v1/change", `{"select":{"crawl":"news"},"do":"drop"}`, "400", "or add --all (all, over HTTP) for a whole crawl"},
		{"all of every crawl", "/v1/change", `{"select":{"crawl":"*"},"do":"drop","all":true}`, "400", "one crawl"},
		{"no action", "/v1/change", `{"select":{"crawl":"news"},"do":"burn","all":true}`, "400", `got do \"burn\"; want requeue, free, drop or forget`},
		{"dropped", "/v1/change", `{"select":{"crawl":"news","match":["a.com/1"]},"do":"drop"}`, "200", `{"urls":1}`},
		{"listed as that", "/v1/urls?crawl=news&state=dropped", "", "200", `"url":"http://a.com/1"`},
		{"and why", "/v1/explain?url=http://A.com/1&crawl=news", "", "200", `"why":"It was dropped`},
		{"an offer of it", "/v1/explain?url=http://A.com/1&crawl=news", "", "200", `"verdict":"duplicate"`},
		{"requeued", "/v1/change", `{"select":{"crawl":"*","states":["dropped"],"fetched_before":"2222-01-01"},"do":"requeue"}`, "200", `{"urls":1}`},
		{"what holds it", "/v1/explain?url=http://A.com/1&crawl=news", "", "200", `"holds":{"crawl":"news","queue":"a.com","held":3`},
		{"forgotten", "/v1/change", `{"select":{"crawl":"news","queue":"a.com","match":["*/0"]},"do":"forget"}`, "200", `{"urls":1}`},
		{"no crawl named", "/v1/exclusions", `{"add":["b.com/x/"]}`, "400", "name a crawl"},
		{"no rule", "/v1/exclusions", `{"crawl":"shop"}`, "400", "got no rule"},
		{"excluded", "/v1/exclusions", `{"crawl":"shop","add":["b.com/x/","!b.com/x/0"]}`, "200", `"added":2,"forgotten":2,"exclusions":[{"crawl":"shop","rule":"!b.com/x/0"`},
		{"and refused", "/v1/explain?url=http://b.com/x/9&crawl=shop", "", "200", `"verdict":"refused","refusal":"excluded","excluded":"b.com/x/"`},
		{"in this crawl alone", "/v1/explain?url=http://b.com/x/9&crawl=news", "", "200", `"verdict":"new"`},
		{"of every crawl", "/v1/exclusions", `{"all":true,"add":["*/*.pdf$"]}`, "200", `"crawl":"*"`},
		{"listed", "/v1/exclusions?crawl=news", "", "200", `"exclusions":[{"crawl":"*","rule":"*/*.pdf$","refused":0`},
		{"all listed", "/v1/exclusions?crawl=*", "", "200", `"rule":"b.com/x/"`},
		{"unknown", "/v1/exclusions", `{"crawl":"shop","remove":["c.com"]}`, "404", "there is no such rule"},
		{"taken back", "/v1/exclusions", `{"crawl":"shop","remove":["b.com/x/"]}`, "200", `"removed":1`},
		{"and new", "/v1/explain?url=http://b.com/x/9&crawl=shop", "", "200", `"verdict":"new"`},
		{"dropped again", "/v1/change", `{"select":{"crawl":"news","match":["a.com/1"]},"do":"drop"}`, "200", `{"urls":1}`},
		{"its host excluded", "/v1/exclusions", `{"crawl":"news","add":["a.com"]}`, "200", `"added":1,"forgotten":1,`},
		{"nothing to requeue", "/v1/change", `{"select":{"crawl":"news","states":["dropped"]},"do":"requeue"}`, "200", `{"urls":0,"excluded":1}`},
	} {
		method := "POST"
		if c.body == "" {
			method = "GET"
		}
		if got := s.request(t, method, c.path, c.body); !strings.HasPrefix(got, c.code) || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s; want %s and %s", c.what, got, c.code, c.want)
		}
	}
	if got, other := s.web.forgotten("shop", []string{" b.com/x/"}), s.web.forgotten("shop", []string{"c.com"}); got != 2 || other != 0 {
		t.Errorf("got %d forgotten by a rule, %d by another; want 2, 0", got, other)
	}
}

// TestUnlessFetchedAfterOverHTTP offers a page that was fetched again: a time, an age, of lists too.
func TestUnlessFetchedAfterOverHTTP(t *testing.T) {
	s := start(t, canon.Qiita(), Config{})
	offer := func(what, unless, want string) {
		t.Helper()
		line := `{"url":"http://a.com/1","unless_fetched_after":"` + unless + `"}`
		if got := s.request(t, "POST", "/v1/urls", line); !strings.Contains(got, want) {
			t.Errorf("%s: got %s; want %s", what, got, want)
		}
	}
	offer("unknown", "7d", `"verdict":"new"`)
	s.request(t, "POST", "/v1/change", `{"select":{"match":["a.com/1"]},"do":"drop"}`)
	offer("ended later", "2000-01-01", `"verdict":"duplicate","canonical":"http://a.com/1","key":"69a28efc9ca97d7bab7a2695d6d55e2f","queue":"a.com","first"`)
	offer("ended before", "2222-01-01T00:00:00Z", `"requeued":true`)
	offer("queued", "2222-01-01T00:00:00Z", `"verdict":"duplicate","canonical"`)
	offer("no time", "monday", `"verdict":"refused","error":{"code":"invalid","message":"unless_fetched_after: cannot read time; got \"monday\"`)
}

// TestFreeOverHTTP frees the leases of a client and those of an age, and no others.
func TestFreeOverHTTP(t *testing.T) {
	s := start(t, canon.Qiita(), Config{})
	s.request(t, "POST", "/v1/urls", `{"url":"http://a.com/"}`+"\n"+`{"url":"http://b.com/"}`+"\n"+`{"url":"http://c.com/"}`)
	for _, c := range []struct{ what, path, body, code, want string }{
		{"a name too long", "/v1/lease", `{"client":"` + strings.Repeat("n", 65) + `"}`, "400", "want at most 64"},
		{"leased", "/v1/lease", `{"client":"w7","max":1}`, "200", `"url":"http://`},
		{"by another", "/v1/lease", `{"client":"w8","max":1}`, "200", `"url":"http://`},
		{"without a name", "/v1/lease", `{"max":1}`, "200", `"url":"http://`},
		{"listed", "/v1/urls?client=w7", "", "200", `"client":"w7"`},
		{"counted", "/v1/urls?client=w7&count", "", "200", `{"urls":1}`},
		{"of nobody", "/v1/urls?client=w9&count", "", "200", `{"urls":0}`},
		{"before they were leased", "/v1/change", `{"select":{"leased_before":"2000-01-01"},"do":"free"}`, "200", `{"urls":0}`},
		{"another's, too", "/v1/change", `{"select":{"client":"w9","leased_before":"2222-01-01"},"do":"free"}`, "200", `{"urls":0}`},
		{"freed", "/v1/change", `{"select":{"client":"w7"},"do":"free"}`, "200", `{"urls":1}`},
		{"no more", "/v1/urls?client=w7&count", "", "200", `{"urls":0}`},
		{"the others", "/v1/change", `{"select":{"leased_before":"2222-01-01"},"do":"free"}`, "200", `{"urls":2}`},
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

// TestWhyOfALease asserts what is said of a leased URL, and of one whose lease ran out.
func TestWhyOfALease(t *testing.T) {
	s := start(t, canon.Qiita(), Config{})
	s.clock.step(-2 * time.Hour)
	s.request(t, "POST", "/v1/urls", `{"url":"http://a.com/"}`)
	for _, c := range []struct{ seconds, want string }{
		{"1000000", "It is leased to a fetcher, for the 1st time."},
		{"1000", "It was leased to a fetcher for the 2nd time, and the lease ran out at 20"},
		{"1000", "as the next URL of its queue, and its queue a.com is ready; 1 URLs wait in it."},
	} {
		s.request(t, "POST", "/v1/lease", `{"lease_seconds":`+c.seconds+`}`)
		s.clock.step(30 * time.Minute)
		if got := s.request(t, "GET", "/v1/explain?url=http://a.com/", ""); !strings.Contains(got, c.want) {
			t.Errorf("got %s; want %q", got, c.want)
		}
		s.request(t, "POST", "/v1/change", `{"select":{"leased_before":"2222-01-01"},"do":"free"}`)
	}
}

// TestWhyOfAFullCrawl: what would be refused is not said to be new.
func TestWhyOfAFullCrawl(t *testing.T) {
	s := startWith(t, canon.Qiita(), Config{}, func(o *frontier.Options) { o.MaxHeld, o.MaxPerQueue = 2, 1 })
	for _, c := range []struct{ add, of, want string }{
		{"a.com/1", "a.com/2", `"refusal":"full"`}, {"b.com/1", "c.com/1", `"refusal":"full"`}, {"a.com/1", "a.com/1", `"verdict":"duplicate"`},
	} {
		if got := s.request(t, "GET", "/v1/explain?url=http://"+c.add, ""); !strings.Contains(got, `"verdict":"new"`) && c.add != c.of {
			t.Errorf("%s before: got %s; want new", c.add, got)
		}
		s.request(t, "POST", "/v1/urls", `{"url":"http://`+c.add+`"}`)
		if got := s.request(t, "GET", "/v1/explain?url=http://"+c.of, ""); !strings.Contains(got, c.want) {
			t.Errorf("%s after %s: got %s; want %s", c.of, c.add, got, c.want)
		}
	}
}

// TestRequeueBeyondCaps: an operator may requeue more URLs than the caps allow; the answer says that new ones are refused then.
func TestRequeueBeyondCaps(t *testing.T) {
	s := startWith(t, canon.Qiita(), Config{}, func(o *frontier.Options) { o.MaxHeld = 2 })
	for _, url := range []string{"a.com/1", "b.com/1", "c.com/1"} {
		s.request(t, "POST", "/v1/urls", `{"url":"http://`+url+`"}`)
		s.request(t, "POST", "/v1/change", `{"select":{"states":["queued"]},"do":"drop"}`)
	}
	for _, c := range []struct{ queue, want string }{{"a.com", `{"urls":1}`}, {"b.com", `{"urls":1,"full":true}`}, {"", `{"urls":1,"full":true}`}, {"", `{"urls":0}`}} {
		if got := s.request(t, "POST", "/v1/change", `{"select":{"states":["dropped"],"queue":"`+c.queue+`"},"do":"requeue"}`); !strings.Contains(got, c.want) {
			t.Errorf("requeue of %q: got %s; want %s", c.queue, got, c.want)
		}
	}
	if got := s.request(t, "POST", "/v1/urls", `{"url":"http://d.com/"}`); !strings.Contains(got, `"code":"full"`) {
		t.Errorf("got %s; want it refused", got)
	}
}

// TestFindOfATenant asserts that a token for a crawl selects and excludes in no other.
func TestFindOfATenant(t *testing.T) {
	const oneToken, itsAdmin = "0123456789abcdef", "fedcba9876543210"
	s := start(t, canon.Qiita(), Config{TokensFile: tokenFile(t, "admin "+bossToken+"\nread "+oneToken+" crawls=one\nadmin "+itsAdmin+" crawls=one\n")})
	s.requestWith(t, bossToken, "POST", "/v1/urls", `{"url":"http://a.com/1","crawl":"one"}`+"\n"+`{"url":"http://a.com/1","crawl":"two"}`)
	for _, c := range []struct{ token, path, body, code string }{
		{oneToken, "/v1/urls?crawl=one", "", "200"}, {oneToken, "/v1/urls?crawl=two", "", "403"}, {oneToken, "/v1/urls?crawl=*", "", "200"},
		{oneToken, "/v1/exclusions?crawl=one", "", "200"}, {oneToken, "/v1/exclusions?crawl=*", "", "200"},
		{oneToken, "/v1/change", `{"select":{"crawl":"one","queue":"a.com"},"do":"drop"}`, "403"},
		{oneToken, "/v1/exclusions", `{"crawl":"one","add":["b.com"]}`, "403"},
		{itsAdmin, "/v1/change", `{"select":{"crawl":"two","queue":"a.com"},"do":"drop"}`, "403"},
		{itsAdmin, "/v1/change", `{"select":{"crawl":"*","states":["queued"]},"do":"drop"}`, "403"},
		{itsAdmin, "/v1/exclusions", `{"all":true,"add":["b.com"]}`, "403"},
		{itsAdmin, "/v1/exclusions", `{"crawl":"one","add":["b.com"]}`, "200"},
		{itsAdmin, "/v1/queue", `{"all":true,"paused":true}`, "403"},
		{itsAdmin, "/v1/queue", `{"crawl":"one","paused":true}`, "200"},
	} {
		method := "POST"
		if c.body == "" {
			method = "GET"
		}
		if got := s.requestWith(t, c.token, method, c.path, c.body); !strings.HasPrefix(got, c.code) {
			t.Errorf("%s %s: got %s; want %s", c.path, c.body, got, c.code)
		}
	}
}

// TestStatusOfWhatWasDropped: find says with which answer of the server a client dropped a URL.
func TestStatusOfWhatWasDropped(t *testing.T) {
	s := start(t, canon.Qiita(), Config{})
	s.request(t, "POST", "/v1/urls", `{"url":"http://a.com/1"}`)
	leased := s.request(t, "POST", "/v1/lease", `{"crawl":"DEFAULT"}`)
	_, key, _ := strings.Cut(leased, `"key":"`)
	_, token, _ := strings.Cut(leased, `"token":"`)
	key, _, _ = strings.Cut(key, `"`)
	token, _, _ = strings.Cut(token, `"`)
	s.request(t, "POST", "/v1/done", `{"leases":[{"key":"`+key+`","token":"`+token+`","outcome":"drop","fetched":{"url":"http://a.com/1","status":403}}]}`)
	if got := s.request(t, "GET", "/v1/urls?state=dropped", ""); !strings.Contains(got, `"status":403`) {
		t.Errorf("got %s; want the status", got)
	}
}
