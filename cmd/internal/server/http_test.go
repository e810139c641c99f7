package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/wire"
)

// TestHTTP plays the transcripts in testdata/http: a request line and a body,
// answered by the status and the body.
func TestHTTP(t *testing.T) {
	datadriven.Walk(t, "testdata/http", func(t *testing.T, file string) {
		r := start(t, canon.Qiita(), Config{MaxURL: 200, MaxMetadata: 100})
		vars := strings.NewReplacer()
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "step" {
				r.clock.step(2 * time.Minute)
				return ""
			}
			out := r.request(t, d.Cmd, pathOf(d), vars.Replace(d.Input))
			vars = leaseVars(out)
			return steady(out)
		})
	})
}

// pathOf is the argument of a request line, which may have a query.
func pathOf(d *datadriven.TestData) string {
	arg := d.CmdArgs[0]
	return strings.Join(append([]string{arg.Key}, arg.Vals...), "=")
}

func (r *running) request(t *testing.T, method, path, body string) string {
	t.Helper()
	return r.requestWith(t, "", method, path, body)
}

// requestWith is request with a token.
func (r *running) requestWith(t *testing.T, token, method, path, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.url(path), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d\n%s", resp.StatusCode, text)
}

// leaseVars makes KEY0, TOKEN0, KEY1 … of the leases in an answer stand for
// themselves in the next request.
func leaseVars(out string) *strings.Replacer {
	var answer wire.Leases
	_, body, _ := strings.Cut(out, "\n")
	if json.Unmarshal([]byte(body), &answer) != nil {
		return strings.NewReplacer()
	}
	var pairs []string
	for i, l := range answer.Leases {
		pairs = append(pairs, fmt.Sprintf("KEY%d", i), l.Key, fmt.Sprintf("TOKEN%d", i), l.Token)
	}
	return strings.NewReplacer(pairs...)
}

// steady writes a time as T and leaves out what differs from run to run.
func steady(out string) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		var v map[string]any
		if json.Unmarshal([]byte(line), &v) != nil {
			b.WriteString(line)
			continue
		}
		settle(v)
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		_ = e.Encode(v) // it came from JSON
		b.Write(text.Bytes())
	}
	return b.String()
}

func settle(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "counters")
		delete(v, "unicode")
		for name, field := range v {
			if text, ok := field.(string); ok && name == "token" {
				v[name] = "N"
			} else if _, err := time.Parse(time.RFC3339Nano, text); ok && err == nil {
				v[name] = "T"
			}
			settle(field)
		}
	case []any:
		for _, field := range v {
			settle(field)
		}
	}
}

// TestEncodedBody: a body that came packed is not read as if it were text.
func TestEncodedBody(t *testing.T) {
	r := start(t, canon.Qiita(), Config{})
	req, err := http.NewRequestWithContext(t.Context(), "POST", r.url("/v1/urls"), strings.NewReader("\x1f\x8b"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Encoding", "gzip")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("got %s; want 415", resp.Status)
	}
}

// TestConversation checks that lines are answered as they come, before the
// body ends.
func TestConversation(t *testing.T) {
	r := start(t, canon.Qiita(), Config{})
	body, lines := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), "POST", r.url("/v1/urls"), body)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = fmt.Fprintln(lines, `{"url":"http://a.com/0"}`) }()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answers := json.NewDecoder(resp.Body)
	for i := range 3 {
		var v wire.VerdictLine
		if err := answers.Decode(&v); err != nil || v.URL != fmt.Sprintf("http://a.com/%d", i) || v.Verdict != "new" {
			t.Errorf("got %+v, %v; want URL %d to be new", v, err, i)
		}
		if _, err := fmt.Fprintf(lines, `{"url":"http://a.com/%d"}`+"\n", i+1); err != nil {
			t.Fatal(err)
		}
	}
	if err := lines.Close(); err != nil {
		t.Fatal(err)
	}
	var last wire.VerdictLine
	if err := answers.Decode(&last); err != nil || answers.Decode(&last) == nil {
		t.Errorf("got %+v, %v; want one more line and the end", last, err)
	}
}

// TestCountersAgree checks that /v1/stats, which the dashboard draws, shows the
// numbers of /metrics.
func TestCountersAgree(t *testing.T) {
	r := start(t, canon.Qiita(), Config{})
	r.request(t, "POST", "/v1/urls", `{"url":"http://a.com/"}`+"\n"+`{"url":"http://A.com"}`+"\n"+`{"url":"mailto:x"}`)
	r.request(t, "POST", "/v1/lease", `{}`)
	var stats wire.Stats
	_, body, _ := strings.Cut(r.request(t, "GET", "/v1/stats", ""), "\n")
	if err := json.Unmarshal([]byte(body), &stats); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(r.request(t, "GET", "/metrics", ""), "\n")
	seen := 0
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if got, ok := stats.Counters[name]; ok {
			if seen++; fmt.Sprint(got) != value && !strings.HasPrefix(name, "firstseen_disk") {
				t.Errorf("%s: got %v in stats; want %s as in metrics", name, got, value)
			}
		}
	}
	if seen < len(stats.Counters) || seen < 25 {
		t.Errorf("found %d of the %d counters in /metrics", seen, len(stats.Counters))
	}
	for name, want := range map[string]float64{
		`firstseen_urls_offered_total{verdict="new"}`: 1, `firstseen_urls_offered_total{verdict="duplicate"}`: 1,
		`firstseen_urls_refused_total{reason="scheme"}`: 1, "frontier_putURLs_total": 3, "frontier_putURLs_ignored_total": 1,
		`frontier_putURLs_discovered_total{discovered="true"}`: 3, "frontier_getURLs_total": 1, "firstseen_in_flight_urls": 1,
	} {
		if got, ok := stats.Counters[name]; !ok || got != want {
			t.Errorf("%s: got %v, there %t; want %v", name, got, ok, want)
		}
	}
	if stats.Seen != 1 || stats.InFlight != 1 {
		t.Errorf("got %d seen, %d in flight; want 1 and 1", stats.Seen, stats.InFlight)
	}
}
