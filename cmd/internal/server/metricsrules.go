package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/firstseen/firstseen/cmd/internal/audit"
)

// verdicts are what the last judgement found of each rule. "different" of a rule that is on,
// with a stable control, is what an alert should stand on: the rule has begun to merge pages
// that are not the same.
type verdicts struct {
	s                     *metrics
	merges, stable, share *prometheus.Desc
}

func newVerdicts(s *metrics) *verdicts {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"rule", "on"}, labels...), nil)
	}
	return &verdicts{s: s,
		merges: desc("firstseen_rule_merges", "Pairs of fetched URLs that a rule merges, by outcome: same, redirect, different or volatile.", "outcome"),
		stable: desc("firstseen_rule_stable_pairs", "Contents of the pairs with a stable control (fetched again, the content was the same), by outcome.", "outcome"),
		share:  desc("firstseen_rule_precision", "Share of a rule's merges that are one page; absent if there are too few contents for a verdict."),
	}
}

// Describe implements prometheus.Collector.
func (v *verdicts) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{v.merges, v.stable, v.share} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (v *verdicts) Collect(ch chan<- prometheus.Metric) {
	j := v.s.judge.last.Load()
	if j == nil {
		return
	}
	on := v.s.rulesOn()
	for i := range j.Report.Forms {
		f := &j.Report.Forms[i]
		if f.Kind == audit.RuleSet || f.Kind == audit.OnlyHere {
			continue
		}
		put := func(d *prometheus.Desc, value float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append([]string{f.Name, yes(on[f.Name])}, labels...)...)
		}
		for _, o := range []audit.Outcome{audit.Same, audit.Redirect, audit.Different, audit.Volatile} {
			put(v.merges, float64(f.Outcomes[o]), o.String())
		}
		put(v.stable, float64(f.Held), "same")
		put(v.stable, float64(f.Stable-f.Held), "different")
		if f.Verdict != nil {
			put(v.share, f.Verdict.Share)
		}
	}
}

// rulesOn names the rules that the profile applies.
func (s *metrics) rulesOn() map[string]bool {
	on := make(map[string]bool)
	for _, r := range s.cfg.Profile().Rules() {
		on[string(r.Rule)] = true
	}
	return on
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
