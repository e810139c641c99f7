package server

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/durable"
)

var (
	metricInRule = regexp.MustCompile(`\b(?:firstseen|frontier|process)_[a-zA-Z0-9_]+`)
	nameInDesc   = regexp.MustCompile(`fqName: "([^"]+)"`)
)

// TestDeployNamesMetricsThatExist asserts that every metric in the rules for Prometheus and in the
// dashboard for Grafana is one of the daemon.
func TestDeployNamesMetricsThatExist(t *testing.T) {
	known := describedMetrics(t)
	for _, file := range []string{"prometheus-rules.yml", "grafana.json"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "firstseen", "deploy", file))
		if err != nil {
			t.Fatal(err)
		}
		named := metricInRule.FindAllString(string(text), -1)
		for _, name := range named {
			whole := strings.TrimSuffix(name, "_bucket") // of a histogram
			if !slices.Contains(known, whole) {
				t.Errorf("%s names %s, which does not exist", file, name)
			}
		}
		if len(named) < 8 {
			t.Errorf("found %d metrics in %s; want more, or the test reads nothing", len(named), file)
		}
	}
}

// describedMetrics returns the names of all metrics of a daemon with a store on disk.
func describedMetrics(t *testing.T) []string {
	t.Helper()
	d, err := durable.OpenBackups(filepath.Join(t.TempDir(), "b"), &fakeStore{}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, canon.Qiita(), Config{Backups: d})
	descs := make(chan *prometheus.Desc, 1000)
	s.registry.Describe(descs)
	newStoreGauges(nil).Describe(descs)
	close(descs)
	var known []string
	for desc := range descs {
		known = append(known, nameInDesc.FindStringSubmatch(desc.String())[1])
	}
	if len(known) < 30 {
		t.Fatalf("found %d metrics of the daemon; want more, or the test reads nothing", len(known))
	}
	return known
}
