package server

import (
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/audit"
	"github.com/firstseen/firstseen/cmd/internal/evidence"
	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/frontierpb"
	"github.com/firstseen/firstseen/internal/testutil/hang"
	"github.com/firstseen/firstseen/store/captures"
)

// startKeeping starts a server that keeps captures.
func startKeeping(t *testing.T) *running {
	t.Helper()
	sample, err := captures.Open(t.TempDir(), captures.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sample.Close(); err != nil {
			t.Error(err)
		}
	})
	learned := evidence.New(evidence.Options{Captures: sample})
	return startWith(t, canon.Qiita(), Config{Evidence: learned}, func(o *frontier.Options) {
		o.OnFetched, o.Delay = func(r frontier.Fetched) { learned.Offer(&r) }, -1
	})
}

// ask is request with the answer in parts.
func (r *running) ask(t *testing.T, method, path, body string) (code, answer string) {
	t.Helper()
	code, answer, _ = strings.Cut(r.request(t, method, path, body), "\n")
	return code, answer
}

// reportFetches leases due URLs and reports the result of each fetch. One with no digest was not found.
func (r *running) reportFetches(t *testing.T, digest func(url string) string) {
	t.Helper()
	var leased struct {
		Leases []struct{ URL, Key, Token string }
	}
	_, body := r.ask(t, "POST", "/v1/lease", `{"max":10000,"max_per_queue":10000}`)
	if err := json.Unmarshal([]byte(body), &leased); err != nil {
		t.Fatal(err)
	}
	type done map[string]any
	var all []done
	for _, l := range leased.Leases {
		if digest(l.URL) == "" {
			all = append(all, done{"key": l.Key, "token": l.Token, "outcome": "drop", "fetched": done{"url": l.URL, "status": 404}})
			continue
		}
		all = append(all, done{"key": l.Key, "token": l.Token, "fetched": done{"url": l.URL, "status": 200, "digest": digest(l.URL),
			"canonical": l.URL + "#c", "no_vary_search": "key-order", "clean_param": "ref /x"}})
	}
	text, err := json.Marshal(done{"leases": all})
	if err != nil {
		t.Fatal(err)
	}
	if code, body := r.ask(t, "POST", "/v1/done", string(text)); code != "200" {
		t.Fatalf("got %s %s; want 200", code, body)
	}
}

// offer offers URLs and waits for nothing.
func (r *running) offer(t *testing.T, urls ...string) {
	t.Helper()
	var lines strings.Builder
	for _, u := range urls {
		fmt.Fprintf(&lines, "{\"url\":%q,\"force\":true}\n", u)
	}
	if code, body := r.ask(t, "POST", "/v1/urls", lines.String()); code != "200" {
		t.Fatalf("got %s %s; want 200", code, body)
	}
}

// TestRulesAreJudgedWhileItServes crawls 40 pages of a site that has each under http and https,
// the same, and with and without www, different; twice, so that there is a control.
func TestRulesAreJudgedWhileItServes(t *testing.T) {
	r := startKeeping(t)
	content := func(url string) string {
		return fmt.Sprintf("sha1:%X", sha1.Sum([]byte(strings.Replace(url, "https:", "http:", 1))))
	}
	for range 2 {
		for i := range 40 {
			page := fmt.Sprintf("shop.example/dir/%d", i)
			r.offer(t, "http://"+page, "https://"+page, "http://www."+page)
		}
		r.reportFetches(t, content)
	}
	r.waitForCaptures(t, 240)
	for rule, want := range map[string][2]int{"strip-www": {40, 0}, "fold-https": {40, 40}} {
		if v := r.judged(t, rule); v.Stable != want[0] || v.Held != want[1] {
			t.Errorf("%s: got %d stable pairs, %d of them the same; want %v", rule, v.Stable, v.Held, want)
		}
	}
	if _, metrics := r.ask(t, "GET", "/metrics", ""); !strings.Contains(metrics, "firstseen_captures 240") {
		t.Error("/metrics does not have firstseen_captures 240")
	}
	checkCDXJ(t, r)
}

// judged is what an audit of the sample finds of a rule while the server runs, as firstseen audit --db has it.
func (r *running) judged(t *testing.T, rule string) audit.Verdict {
	t.Helper()
	sample, _ := r.cfg.Evidence.Captures()
	log := audit.NewLog()
	if err := log.AddSample(t.Context(), sample); err != nil {
		t.Fatal(err)
	}
	report, err := audit.Run(t.Context(), log, audit.Request{Profile: canon.Qiita()})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Forms {
		if v.Name == rule {
			return v
		}
	}
	t.Fatalf("got no verdict on %s", rule)
	return audit.Verdict{}
}

// TestAPageLostToItsFirstVariantIsEvidence crawls 30 pages that are linked with two slashes first, and are not found so. Each is fetched in its canonical
// form next, and the rule that merges the two is wrong by then.
func TestAPageLostToItsFirstVariantIsEvidence(t *testing.T) {
	r := startKeeping(t)
	content := func(url string) string {
		if strings.Contains(url, "//dir") {
			return ""
		}
		return "sha1:" + url
	}
	for i := range 30 {
		r.offer(t, fmt.Sprintf("http://shop.example//dir/%d", i))
	}
	r.reportFetches(t, content)
	r.reportFetches(t, content)
	r.waitForCaptures(t, 60)
	if v := r.judged(t, "collapse-slashes"); v.Stable != 30 || v.Held != 0 || len(v.Examples) == 0 {
		t.Errorf("got %d stable pairs, %d of them the same, and examples %v; want 30 that differ", v.Stable, v.Held, v.Examples)
	}
	if _, metrics := r.ask(t, "GET", "/metrics", ""); !strings.Contains(metrics, "firstseen_urls_respelled_total 30") {
		t.Error("/metrics does not have firstseen_urls_respelled_total 30")
	}
}

// waitForCaptures waits until the sample has the offered captures.
func (r *running) waitForCaptures(t *testing.T, want int) {
	t.Helper()
	sample, _ := r.cfg.Evidence.Captures()
	hang.Until(t, fmt.Sprintf("the sample has %d rows", want), func() bool { return sample.Stats().Rows >= want })
}

// checkCDXJ reads the captures back as audit and learn do.
func checkCDXJ(t *testing.T, r *running) {
	_, body := r.ask(t, "GET", "/v1/captures", "")
	in, err := logs.Open(t.Context(), "-", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	format := logs.Format("")
	for b, err := range logs.Read(in, logs.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		format = b.Format
		for rec := range b.All() {
			if n++; rec.Digest == "" || rec.Status != 200 || rec.Time.IsZero() || rec.Kind != logs.Fetch ||
				rec.Canonical != rec.URL+"#c" || rec.NoVarySearch != "key-order" || rec.CleanParam != "ref /x" {
				t.Errorf("got %+v; want a fetch with digest, status, time and what it declares", rec)
			}
		}
	}
	if n != 240 {
		t.Errorf("got %d captures of format %v; want 240", n, format)
	}
}

// TestDigestsOfKnownURLs: clients of the gRPC protocol put the digest into the metadata.
func TestDigestsOfKnownURLs(t *testing.T) {
	r := startKeeping(t)
	stream, err := r.client(t).PutURLs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	values := func(v string) *frontierpb.StringList { return &frontierpb.StringList{Values: []string{v}} }
	known := &frontierpb.KnownURLItem{Info: &frontierpb.URLInfo{Url: "http://a.example/", Key: "a.example",
		Metadata: map[string]*frontierpb.StringList{"signature": values("D1"), "fetch.statusCode": values("200"), "other": values("x"),
			"masked": values("m"), "robots.noIndex": values("true"), "robots.noFollow": values("true"), "canonical": values("/c"), "no-vary-search": values("key-order"), "clean-param": values("ref")}}}
	if err := stream.Send(&frontierpb.URLItem{Item: &frontierpb.URLItem_Known{Known: known}}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	r.waitForCaptures(t, 1)
	sample, _ := r.cfg.Evidence.Captures()
	for c, err := range sample.All() {
		if err != nil || c.URL != "http://a.example/" || c.Digest != "D1" || c.Status != 200 ||
			c.Canonical != "http://a.example/c" || c.NoVarySearch != "key-order" || c.CleanParam != "ref" {
			t.Errorf("got %+v, %v; want digest D1, status 200 and what it declares", c, err)
		}
	}
}

func TestCapturesErrors(t *testing.T) {
	r := start(t, canon.Qiita(), Config{})
	if code, body := r.ask(t, "GET", "/v1/captures", ""); code != "409" || !strings.Contains(body, "--captures") {
		t.Errorf("got %s %s; want 409 that names --captures", code, body)
	}
	lease := `{"leases":[{"key":"00000000000000000000000000000000","token":"1","fetched":{"status":200}}]}`
	if code, body := r.ask(t, "POST", "/v1/done", lease); code != "400" || !strings.Contains(body, `field \"url\" is missing`) {
		t.Errorf("fetched without url: got %s %s; want 400", code, body)
	}
}
