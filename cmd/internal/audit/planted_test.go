package audit

import (
	"os"
	"testing"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/synth"
)

// TestRecoversPlantedTruth audits webs of which it is known which spellings
// are one page, at three shares of hosts that change with every fetch. In at
// least 95 % of the verdicts the interval, at 99 %, must hold the truth; and at
// least half of the rules that merged something must get a verdict.
func TestRecoversPlantedTruth(t *testing.T) {
	seeds := uint64(2)
	if os.Getenv("FIRSTSEEN_TORTURE") != "" {
		seeds = 20
	}
	rates := []float64{0.10, 0.25, 0.50}
	if testing.Short() {
		rates = rates[1:2]
	}
	for _, volatile := range rates {
		verdicts, held, none, naive := 0, 0, 0, 0
		for seed := uint64(1); seed <= seeds; seed++ {
			l, identity := plantedLog(t, seed, volatile)
			for _, j := range judgePlanted(t, l, identity) {
				switch {
				case j.verdict.Verdict == nil:
					none++
					continue
				case j.holds():
					held++
				default:
					t.Logf("seed %d, %.0f %% volatile, %s: truth %.4f, got %.4f in %.4f of %d (%.0f) trials, naive %.4f", seed, 100*volatile,
						j.verdict.Name, j.truth, j.verdict.Verdict.Share, j.verdict.Verdict.Interval, j.verdict.Verdict.Trials, j.verdict.Verdict.Effective, j.verdict.Naive)
				}
				verdicts++
				if w := Wilson(j.verdict.Naive*float64(j.verdict.Merges), float64(j.verdict.Merges), 0.99); w.Low <= j.truth && j.truth <= w.High {
					naive++
				}
			}
		}
		t.Logf("%.0f %% volatile hosts: %d of %d verdicts hold the truth (naive: %d); %d rules without a verdict", 100*volatile, held, verdicts, naive, none)
		if float64(held) < 0.95*float64(verdicts) {
			t.Errorf("got %d of %d verdicts right; want 95 %%", held, verdicts)
		}
		if verdicts < none {
			t.Errorf("got %d verdicts and %d rules without; want at least half", verdicts, none)
		}
	}
}

func plantedLog(t *testing.T, seed uint64, volatile float64) (*Log, map[string]uint64) {
	opt := synth.Options{Seed: seed, Hosts: 300, Pages: 30_000, Volatile: volatile}
	if os.Getenv("FIRSTSEEN_TORTURE") != "" {
		opt.Hosts, opt.Pages = 600, 60_000
	}
	l, _ := logOf(t, opt, func([]byte) bool { return true })
	_, identity := logOf(t, opt, func([]byte) bool { return false })
	l.confidence = 0.99
	return l, identity
}

// judged is a verdict beside the truth: the share of its merges that are one page.
type judged struct {
	verdict Verdict
	truth   float64
}

func (j judged) holds() bool {
	const rounding = 1e-9
	i := j.verdict.Verdict.Interval
	return i.Low-rounding <= j.truth && j.truth <= i.High+rounding
}

// judgePlanted judges the rules that a crawler may switch, and those always on
// that the web has spellings of.
func judgePlanted(t *testing.T, l *Log, identity map[string]uint64) []judged {
	forms, err := Forms(canon.Qiita())
	if err != nil {
		t.Fatal(err)
	}
	x, err := newIndex(l)
	if err != nil {
		t.Fatal(err)
	}
	var all []judged
	for i := range forms {
		if forms[i].Kind == OnlyHere || forms[i].Kind == RuleSet {
			continue
		}
		g := x.group(&forms[i])
		v := x.verdict(g, &forms[i])
		if v.Merges == 0 {
			continue
		}
		right := 0
		for _, urls := range g.groups {
			for _, b := range urls[1:] {
				if identity[string(x.urls.at(urls[0]))] == identity[string(x.urls.at(b))] {
					right++
				}
			}
		}
		all = append(all, judged{v, float64(right) / float64(v.Merges)})
	}
	return all
}
