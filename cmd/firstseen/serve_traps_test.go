package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestServeTraps: the flag --traps decides whether URLs of a template that yields nothing new are
// handed out after the others, or only counted. With --heuristics=false it decides nothing.
func TestServeTraps(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for flag, want := range map[string]string{
		"http,yield":                   "/article /list?page=99",
		"all,yield":                    "/article /list?page=99",
		"off,yield":                    "/article /list?page=99",
		"http,yield-shadow":            "/list?page=99 /article",
		"http":                         "/list?page=99 /article",
		"all,yield --heuristics=false": "/list?page=99 /article",
	} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			dir, off := t.TempDir(), strings.HasSuffix(flag, "=false")
			flags := strings.Fields("--delay 0 --traps " + flag)
			if off {
				rules := filepath.Join(dir, "rules.json")
				if err := os.WriteFile(rules, []byte(`{"trust_declared": ["*"]}`), 0o600); err != nil {
					t.Fatal(err)
				}
				flags = append(flags, "--rule-file", rules)
			}
			d := startDaemon(t, filepath.Join(dir, "db"), flags...)
			var list []string
			for i := range 20 {
				list = append(list, fmt.Sprintf("http://a.example/list?page=%d", i))
			}
			verdicts(t, d.http, list)
			for range list {
				l := leaseNext(t, d)
				post(t, d.http, "/v1/done", fmt.Sprintf(`{"leases":[{"crawl":%q,"key":%q,"token":%q,"outcome":"done","fetched":{"url":%q,"status":200,"digest":"same","no_vary_search":"params=(\"page\")"}}]}`, l.Crawl, l.Key, l.Token, l.URL))
			}
			verdicts(t, d.http, []string{"http://a.example/list?page=99", "http://a.example/article"})
			if got := after(leaseNext(t, d).URL) + " " + after(leaseNext(t, d).URL); got != want {
				t.Errorf("got %s; want %s", got, want)
			}
			if off || flag == "http" {
				if off {
					deep := "http://a.example" + strings.Repeat("/deep", 30)
					if got := verdicts(t, d.http, []string{deep, "http://a.example/list?page=100"}); got != "new new" {
						t.Errorf("got %s; want a URL as traps are made of, and another page of a list that declares that it has one", got)
					}
				}
				res, err := http.Get("http://" + d.http + "/v1/traps")
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				if res.StatusCode != http.StatusConflict {
					t.Errorf("got %s for the templates; want a conflict", res.Status)
				}
				return
			}
			shadow := strings.HasSuffix(flag, "shadow")
			urls := map[bool]int{false: 4, true: 1}[shadow] // page 99, and the 3 that were queued when the 17th fetch lowered them
			listed := fetchText(t, d, "/v1/traps")
			for _, want := range []string{fmt.Sprintf(`"shadow":%v`, shadow), fmt.Sprintf(`"urls":%d`, urls), `"lowered":true`} {
				if !strings.Contains(listed, want) {
					t.Errorf("got %s; want %s in it", listed, want)
				}
			}
			count := map[bool]string{false: "no", true: "yes"}[shadow]
			if metrics := fetchText(t, d, "/metrics"); !strings.Contains(metrics, fmt.Sprintf("firstseen_trap_urls_total{shadow=%q} %d\n", count, urls)) {
				t.Errorf("got no count of %d URLs in /metrics", urls)
			}
		})
	}
}

type leasedURL struct{ Crawl, Key, Token, URL string }

func leaseNext(t *testing.T, d *daemon) leasedURL {
	t.Helper()
	var answer struct{ Leases []leasedURL }
	if err := json.Unmarshal([]byte(post(t, d.http, "/v1/lease", `{"max":1, "max_in_flight":1000}`)), &answer); err != nil || len(answer.Leases) != 1 {
		t.Fatalf("got %v, %v; want one lease", answer, err)
	}
	return answer.Leases[0]
}

// after returns what follows the host.
func after(url string) string { return strings.TrimPrefix(url, "http://a.example") }

// TestServeTrapsRefused: a mode that does not exist is misuse.
func TestServeTrapsRefused(t *testing.T) {
	for _, flag := range []string{"http,yields", "yield", "http,yield,yield-shadow", ",yield"} {
		var out, errOut strings.Builder
		if status := run(t.Context(), []string{"serve", "--db", t.TempDir(), "--traps", flag}, nil, &out, &errOut); status != statusMisuse || !strings.Contains(errOut.String(), "want http, all or off") {
			t.Errorf("%s: got status %d, %s", flag, status, errOut.String())
		}
	}
}
