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
	"github.com/firstseen/firstseen/cmd/internal/backup"
)

var (
	metricInRule = regexp.MustCompile(`\b(?:firstseen|frontier)_[a-zA-Z0-9_]+`)
	nameInDesc   = regexp.MustCompile(`fqName: "([^"]+)"`)
)

// TestAlertsNameMetricsThatExist asserts that every metric in the rules for Prometheus is one
// of the daemon.
func TestAlertsNameMetricsThatExist(t *testing.T) {
	d, err := backup.Open(filepath.Join(t.TempDir(), "b"), &fakeStore{}, t.TempDir())
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
	text, err := os.ReadFile(filepath.Join("..", "..", "firstseen", "deploy", "prometheus-rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	named := metricInRule.FindAllString(string(text), -1)
	for _, name := range named {
		whole := strings.TrimSuffix(name, "_bucket") // of a histogram
		if !slices.Contains(known, whole) {
			t.Errorf("the rules name %s, which does not exist", name)
		}
	}
	if len(named) < 8 || len(known) < 30 {
		t.Errorf("found %d metrics in the rules, of %d; want more, or the test reads nothing", len(named), len(known))
	}
}
