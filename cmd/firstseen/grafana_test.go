package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/firstseen/firstseen/internal/testutil/hang"
)

// grafanaDashboard is what the tests read of deploy/grafana.json.
type grafanaDashboard struct {
	Title, UID string
	Templating struct {
		List []struct{ Name string }
	}
	Panels []struct {
		ID                 int
		Title, Description string
		GridPos            struct{ X, Y, W, H int }
		Targets            []struct {
			RefID string `json:"refId"`
			Expr  string
		}
	}
}

func grafana(t *testing.T) grafanaDashboard {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("deploy", "grafana.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d grafanaDashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

var grafanaVariable = regexp.MustCompile(`\$\{?(\w+)`)

// TestGrafanaDashboard checks what Grafana would not say: panels that lie on each other or go beyond
// the width of 24, numbers that occur twice, and variables that do not exist.
func TestGrafanaDashboard(t *testing.T) {
	d := grafana(t)
	if d.Title == "" || d.UID == "" || len(d.Panels) < 10 {
		t.Fatalf("got title %q, uid %q, %d panels", d.Title, d.UID, len(d.Panels))
	}
	variables := map[string]bool{"__rate_interval": true}
	for _, v := range d.Templating.List {
		variables[v.Name] = true
	}
	numbers := map[int]bool{}
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		if numbers[p.ID] || p.Title == "" || p.Description == "" || len(p.Targets) == 0 {
			t.Errorf("panel %d %q: want a number of its own, a title, a description and queries", p.ID, p.Title)
		}
		numbers[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%q lies on %q at %d, %d", p.Title, other, x, y)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		for _, target := range p.Targets {
			for _, m := range grafanaVariable.FindAllStringSubmatch(target.Expr, -1) {
				if !variables[m[1]] {
					t.Errorf("%q: got variable %s, which the dashboard does not have", p.Title, m[1])
				}
			}
			if !strings.Contains(target.Expr, `{job="$job",instance=~"$instance"`) {
				t.Errorf("%q: got %s; want a query for the chosen daemons alone", p.Title, target.Expr)
			}
		}
	}
}

// withoutSamples are metrics that a daemon has once there is something to count.
var withoutSamples = regexp.MustCompile(`firstseen_auth_failures_total`)

// checkQuery asks Prometheus for a query of the dashboard, until it has an answer with values.
func checkQuery(t *testing.T, addr, title, query string) {
	t.Helper()
	query = strings.NewReplacer("$job", "firstseen", "$instance", ".*", "$__rate_interval", "1m").Replace(query)
	var answer struct {
		Status, Error string
		Data          struct{ Result []json.RawMessage }
	}
	for end := time.Now().Add(hang.Limit); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		resp, err := http.Get("http://" + addr + "/api/v1/query?" + url.Values{"query": {query}}.Encode())
		if err != nil {
			t.Fatal(err)
		}
		err = json.NewDecoder(resp.Body).Decode(&answer)
		_ = resp.Body.Close()
		if err != nil || answer.Status != "success" {
			break
		}
		if len(answer.Data.Result) > 0 || withoutSamples.MatchString(query) {
			return
		}
	}
	t.Errorf("%q: %s: got %+v; want values", title, query, answer)
}
