package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/firstseen/firstseen/internal/freeport"
	"github.com/firstseen/firstseen/internal/testutil/hang"
)

// alertRule is a rule of deploy/prometheus-rules.yml.
type alertRule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func alertRules(t *testing.T) []alertRule {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("deploy", "prometheus-rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct{ Rules []alertRule }
	}
	if err := yaml.Unmarshal(text, &file); err != nil || len(file.Groups) != 1 || len(file.Groups[0].Rules) == 0 {
		t.Fatalf("got %d groups, %v; want one with rules", len(file.Groups), err)
	}
	return file.Groups[0].Rules
}

// of is a series of metrics that a daemon would have, in the notation of promtool.
type of map[string]string

// alertCase has metrics with which an alert must fire at a time, and others with which it must
// not. Samples are taken and rules are evaluated each interval.
type alertCase struct {
	interval, at string
	labels       map[string]string // of the alert, besides instance, job and severity
	noJob        bool              // the alert is of a sum without the label
	fires, quiet []of
}

// alertCases has one entry for each alert.
var alertCases = map[string]alertCase{
	"FirstseenDown": {interval: "30s", at: "5m",
		fires: []of{{"up": "0x20"}, {"up": "1x5 0x20"}},
		quiet: []of{{"up": "1x20"}, {"up": "1x7 0 0 1x20"}}},
	"FirstseenWritesRefused": {interval: "30s", at: "3m",
		fires: []of{{"firstseen_writes_refused": "1x20"}},
		quiet: []of{{"firstseen_writes_refused": "0x20"}, {"firstseen_writes_refused": "0 0 1 0x20"}}},
	"FirstseenDiskFillsUp": {interval: "1m", at: "7h",
		fires: []of{{"firstseen_disk_free_bytes": "100000000000-200000000x480"}},
		quiet: []of{{"firstseen_disk_free_bytes": "100000000000-10000000x480"},
			{"firstseen_disk_free_bytes": "100000000000+10000000x480"},
			{"firstseen_disk_free_bytes": "_x300 100000000000-200000000x180"}, // it started two hours ago: that says nothing of a day
			{"firstseen_disk_free_bytes": "0x480"}}},                          // --min-free -1 measures nothing
	"FirstseenBackupOld": {interval: "5m", at: "49h",
		fires: []of{{"firstseen_backup_time_seconds": "0x600"}},
		quiet: []of{{"firstseen_backup_time_seconds": "0x200 86400x400"}, {"up": "1x600"}}}, // no --backup-dir, no series
	"FirstseenBackupFailed": {interval: "5m", at: "2h",
		fires: []of{{"firstseen_backup_failures_total": "0x5 1x20"}},
		quiet: []of{{"firstseen_backup_failures_total": "0x30"}, {"firstseen_backup_failures_total": "3x30"}}},
	"FirstseenCompactionsLag": {interval: "1m", at: "20m",
		fires: []of{{"firstseen_store_level0_tables": "41x30"}},
		quiet: []of{{"firstseen_store_level0_tables": "40x30"}, {"firstseen_store_level0_tables": "50x10 3x30"}}},
	"FirstseenStoreDamaged": {interval: "1m", at: "5m",
		fires: []of{{"firstseen_store_index_failed": "1x10"}},
		quiet: []of{{"firstseen_store_index_failed": "0x10"}}},
	"FirstseenCommitsSlow": {interval: "1m", at: "30m",
		fires: []of{{`firstseen_commit_seconds_bucket{le="0.8192"}`: "0+90x60", `firstseen_commit_seconds_bucket{le="1.6384"}`: "0+100x60", `firstseen_commit_seconds_bucket{le="+Inf"}`: "0+100x60"}},
		quiet: []of{{`firstseen_commit_seconds_bucket{le="0.8192"}`: "0+100x60", `firstseen_commit_seconds_bucket{le="1.6384"}`: "0+100x60", `firstseen_commit_seconds_bucket{le="+Inf"}`: "0+100x60"},
			{`firstseen_commit_seconds_bucket{le="0.8192"}`: "0x60", `firstseen_commit_seconds_bucket{le="1.6384"}`: "0x60", `firstseen_commit_seconds_bucket{le="+Inf"}`: "0x60"}}},
	"FirstseenCrawlStandsStill": {interval: "5m", at: "2h",
		fires: []of{
			{"firstseen_held_urls": "50x40", "firstseen_in_flight_urls": "0x40", "frontier_getURLs_total": "7x40"},
			{"firstseen_held_urls": "50x40", "firstseen_in_flight_urls": "10x40", "frontier_getURLs_total": "7x40"}},
		quiet: []of{
			{"firstseen_held_urls": "50x40", "firstseen_in_flight_urls": "10x40", "frontier_getURLs_total": "7+5x40"},
			{"firstseen_held_urls": "50x40", "firstseen_in_flight_urls": "50x40", "frontier_getURLs_total": "7x40"},
			{"firstseen_held_urls": "0x40", "firstseen_in_flight_urls": "0x40", "frontier_getURLs_total": "7x40"}}},
	"FirstseenCrawlStandsStill of a crawl": {interval: "5m", at: "2h", labels: map[string]string{"crawl": "uni"},
		fires: []of{{"firstseen_held_urls": "50x40", "firstseen_in_flight_urls": "7x40", "frontier_getURLs_total": "7+5x40",
			`firstseen_crawl_held_urls{crawl="uni"}`: "40x40", `firstseen_crawl_in_flight_urls{crawl="uni"}`: "3 3 0x40", `firstseen_crawl_fetched_pages{crawl="uni"}`: "8 9x40",
			`firstseen_crawl_held_urls{crawl="news"}`: "10x40", `firstseen_crawl_in_flight_urls{crawl="news"}`: "7x40", `firstseen_crawl_fetched_pages{crawl="news"}`: "8+1x40"}},
		quiet: []of{
			{`firstseen_crawl_held_urls{crawl="uni"}`: "40x40", `firstseen_crawl_in_flight_urls{crawl="uni"}`: "0x40", `firstseen_crawl_fetched_pages{crawl="uni"}`: "8+1x40"},
			{`firstseen_crawl_held_urls{crawl="uni"}`: "40x40", `firstseen_crawl_in_flight_urls{crawl="uni"}`: "0x20 1x20", `firstseen_crawl_fetched_pages{crawl="uni"}`: "8x40"},
			{`firstseen_crawl_held_urls{crawl="uni"}`: "0x40", `firstseen_crawl_in_flight_urls{crawl="uni"}`: "0x40", `firstseen_crawl_fetched_pages{crawl="uni"}`: "8x40"},
			{`firstseen_crawl_held_urls{crawl="uni"}`: "_x18 40x22", `firstseen_crawl_in_flight_urls{crawl="uni"}`: "_x18 0x22", `firstseen_crawl_fetched_pages{crawl="uni"}`: "_x18 0x22"}}}, // it began half an hour ago
	"FirstseenAuthFailures": {interval: "1m", at: "20m", noJob: true,
		fires: []of{{`firstseen_auth_failures_total{code="401"}`: "0+70x30", `firstseen_auth_failures_total{code="403"}`: "0+50x30"}},
		quiet: []of{{`firstseen_auth_failures_total{code="401"}`: "0+50x30"}, {`firstseen_auth_failures_total{code="401"}`: "0 900x30"}}},
	"FirstseenCapturesFailed": {interval: "1m", at: "5m",
		fires: []of{{"firstseen_captures_failed": "1x10"}},
		quiet: []of{{"firstseen_captures_failed": "0x10"}}},
}

// TestAlerts has promtool read the rules, and compute with each alert's metrics that it fires, and
// with others that it does not.
func TestAlerts(t *testing.T) {
	if testing.Short() {
		t.Skip("runs promtool")
	}
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("needs promtool, of the package prometheus")
	}
	if out, err := exec.Command(promtool, "check", "rules", filepath.Join("deploy", "prometheus-rules.yml")).CombinedOutput(); err != nil {
		t.Fatalf("promtool check rules: %v\n%s", err, out)
	}
	byInterval := map[string][]any{} // a file of tests has one interval of evaluation
	rules := map[string]alertRule{}
	for _, rule := range alertRules(t) {
		rules[rule.Alert] = rule
		if len(alertCases[rule.Alert].fires) == 0 {
			t.Errorf("alertCases has no entry for %s", rule.Alert)
		}
	}
	for name, c := range alertCases {
		alert, _, _ := strings.Cut(name, " of ")
		rule := rules[alert]
		for _, metrics := range c.fires {
			byInterval[c.interval] = append(byInterval[c.interval], c.test(rule, metrics, true))
		}
		for _, metrics := range c.quiet {
			byInterval[c.interval] = append(byInterval[c.interval], c.test(rule, metrics, false))
		}
		if len(c.fires) == 0 || len(c.quiet) == 0 {
			t.Errorf("%s: got %d cases that fire, %d that do not; want some of both", name, len(c.fires), len(c.quiet))
		}
		if rule.Alert == "" {
			t.Errorf("alertCases has an entry for %s, which is not there", name)
		}
	}
	dir, err := filepath.Abs("deploy")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"test", "rules"}
	for interval, tests := range byInterval {
		text, err := json.Marshal(map[string]any{"rule_files": []string{filepath.Join(dir, "prometheus-rules.yml")}, "evaluation_interval": interval, "tests": tests})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), interval+".yml") // JSON is YAML
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
	}
	if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %q: %v\n%s", args, err, out)
	}
}

// TestMetricsOfAlertsAreOnThePage: what an alert or the dashboard for Grafana shows, an operator can look up.
func TestMetricsOfAlertsAreOnThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "ref", "METRICS.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"prometheus-rules.yml", "grafana.json"} {
		text, err := os.ReadFile(filepath.Join("deploy", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, metric := range regexp.MustCompile(`\b(?:firstseen|frontier)_\w+`).FindAllString(string(text), -1) {
			if metric = strings.TrimSuffix(metric, "_bucket"); !strings.Contains(string(page), "`"+metric+"`") {
				t.Errorf("%s has %s, which is not on the page", name, metric)
			}
		}
	}
}

// TestEveryAlertHasAFirstStep checks that the operator's page names every alert.
func TestEveryAlertHasAFirstStep(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "OPERATE.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range alertRules(t) {
		if !strings.Contains(string(page), rule.Alert) {
			t.Errorf("OPERATE.md does not name %s", rule.Alert)
		}
	}
}

// test makes a test of promtool: at the time, the alert is there with its labels and texts, or not.
func (c alertCase) test(rule alertRule, metrics of, fires bool) any {
	const at = `instance="crawl:7072",job="firstseen"`
	var series []any
	for name, values := range metrics {
		if inner, ok := strings.CutSuffix(name, "}"); ok {
			name = inner + "," + at + "}"
		} else {
			name += "{" + at + "}"
		}
		series = append(series, map[string]string{"series": name, "values": values})
	}
	expected := []any{}
	if fires {
		labels := map[string]string{"instance": "crawl:7072", "severity": rule.Labels["severity"]}
		if !c.noJob {
			labels["job"] = "firstseen"
		}
		for name, value := range c.labels {
			labels[name] = value
		}
		texts := map[string]string{}
		for name, text := range rule.Annotations {
			for label, value := range labels {
				text = strings.ReplaceAll(text, "{{ $labels."+label+" }}", value)
			}
			texts[name] = text
		}
		expected = append(expected, map[string]any{"exp_labels": labels, "exp_annotations": texts})
	}
	return map[string]any{"name": rule.Alert, "interval": c.interval, "input_series": series,
		"alert_rule_test": []any{map[string]any{"eval_time": c.at, "alertname": rule.Alert, "exp_alerts": expected}}}
}

var ruleFor = regexp.MustCompile(`(?m)^\s+for: .*\n`)

// startPrometheus runs Prometheus with the rules, which wait no longer before they fire, and a
// daemon, and returns its address and log.
func startPrometheus(t *testing.T, daemon string) (addr string, log *logTail) {
	t.Helper()
	prometheus, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("needs prometheus, of the package of that name")
	}
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join("deploy", "prometheus-rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	config := "global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [rules.yml]\n" +
		"scrape_configs:\n  - job_name: firstseen\n    static_configs: [{targets: ['" + daemon + "']}]\n"
	for name, text := range map[string]string{"rules.yml": ruleFor.ReplaceAllString(string(text), ""), "prometheus.yml": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	addrs, release, err := freeport.Take(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	log = &logTail{}
	cmd := exec.Command(prometheus, "--config.file", filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path", filepath.Join(dir, "tsdb"), "--web.listen-address", addrs[0])
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	return addrs[0], log
}

// TestAlertFires runs Prometheus beside a daemon whose disk has too little room, and then ends the
// daemon. In between, each query of the dashboard for Grafana has an answer.
func TestAlertFires(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	dir := t.TempDir()
	db := filepath.Join(dir, "db")
	d := startDaemon(t, db)
	verdicts(t, d.http, []string{"http://a.example/"}) // so that there are gauges by crawl
	if got := d.end(syscall.SIGTERM); got != 0 {
		t.Fatalf("got exit status %d; want 0\n%s", got, d.log)
	}
	d = startDaemonOn(t, "--db", db, "--backup-dir", filepath.Join(dir, "backups"), "--min-free", "1152921504606846976") // no disk has as much
	addr, log := startPrometheus(t, d.http)
	if got := awaitAlert(t, addr, "FirstseenWritesRefused", log); strings.Contains(got, "FirstseenDown") {
		t.Errorf("got %s; want no FirstseenDown", got)
	}
	for _, panel := range grafana(t).Panels {
		for _, target := range panel.Targets {
			checkQuery(t, addr, panel.Title, target.Expr)
		}
	}
	d.end(syscall.SIGTERM)
	awaitAlert(t, addr, "FirstseenDown", log)
}

// awaitAlert returns the names of the alerts that fire, as soon as one of a name does.
func awaitAlert(t *testing.T, addr, name string, log *logTail) string {
	t.Helper()
	var names []string
	for end := time.Now().Add(hang.Limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		resp, err := http.Get("http://" + addr + "/api/v1/alerts")
		if err != nil {
			continue // it is starting
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		var answer struct {
			Data struct {
				Alerts []struct {
					Labels map[string]string
					State  string
				}
			}
		}
		if err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal(body, &answer) != nil {
			continue
		}
		names = nil
		for _, alert := range answer.Data.Alerts {
			if alert.State == "firing" {
				names = append(names, alert.Labels["alertname"])
			}
		}
		if got := strings.Join(names, " "); strings.Contains(got, name) {
			return got
		}
	}
	t.Fatalf("got alerts %q; want %s within %v\n%s", names, name, hang.Limit, log)
	return ""
}
