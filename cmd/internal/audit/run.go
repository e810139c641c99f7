package audit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/firstseen/firstseen/canon"
)

// examples is how many counter-examples, and hosts, a verdict shows.
const examples = 10

// Request is what to judge.
type Request struct {
	// Profile is the set of rules that the log's owner uses or means to use.
	Profile *canon.Profile
	// Against is another profile to compare it with; nil for none.
	Against *canon.Profile
}

// Run judges each rule, the usual sets of rules and the profile by the
// captures of a log. When the context ends, it returns the report so far, and the
// context's error.
func Run(ctx context.Context, l *Log, req Request) (*Report, error) {
	forms, err := Forms(req.Profile)
	if err != nil {
		return nil, err
	}
	if !l.declared.none() {
		forms = append(forms, declaredForms()...)
	}
	x, err := newIndex(l)
	if err != nil {
		return nil, fmt.Errorf("cannot index the log: %w", err)
	}
	r := x.summary()
	r.Profile = req.Profile.String()
	repeats := x.repeats()
	r.Repeats = repeats.count
	for i := range forms {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		g := x.group(&forms[i])
		v := x.verdict(g, &forms[i])
		v.Explains = repeats.explainedBy(g)
		r.Forms = append(r.Forms, v)
	}
	if err := x.leaveOneOut(ctx, r, req.Profile); err != nil {
		return r, err
	}
	if req.Against != nil {
		r.Against = x.against(req.Profile, req.Against)
	}
	return r, nil
}

func (x *index) summary() *Report {
	r := &Report{Captures: len(x.captures), Confidence: x.confidence}
	for url := range uint32(x.urls.len()) {
		of := x.of(url)
		for _, c := range of {
			if c.usable() {
				r.Digests++
			}
		}
		if len(of) > 0 {
			r.URLs++
		}
		if len(of) > 1 {
			r.Recaptured++
		}
	}
	return r
}

// verdict judges the merges of one grouping.
func (x *index) verdict(g *grouping, f *Form) Verdict {
	v := Verdict{Name: f.Name, Kind: f.Kind}
	s := &sums{x: x, hosts: map[uint32]*hostSum{}, controls: map[uint32]control{}}
	for _, urls := range g.groups {
		for _, b := range urls[1:] {
			outcome, near := x.judge(urls[0], b, g.sameForm)
			s.add(&v, urls[0], b, outcome, near)
		}
	}
	s.conclude(&v)
	return v
}

// sums gathers what the pairs of one form say.
type sums struct {
	x        *index
	hosts    map[uint32]*hostSum
	controls map[uint32]control // the stable controls used, each once
	gaps     []uint32
}

type hostSum struct {
	evidence
	loss HostLoss
}

func (s *sums) add(v *Verdict, a, b uint32, o Outcome, near [2]capture) {
	host := s.x.host[b]
	h := findOrMake(s.hosts, host, func() *hostSum { return &hostSum{loss: HostLoss{Host: string(s.x.hosts.at(host))}} })
	h.loss.Merges++
	v.Merges++
	v.Outcomes[o]++
	switch o {
	case NoDigest:
	case Failed: // a page that is gone says nothing of the rule
		if near, lost := s.x.lost(a, b); lost {
			v.Outcomes[Failed]--
			v.Outcomes[Different]++
			h.loss.Different++
			s.example(v, a, b, near, true)
			h.add(s.x, a, b, o, near, true)
		}
	case Redirect:
		h.add(s.x, a, b, o, near, false)
	default:
		s.gaps = append(s.gaps, max(near[0].time, near[1].time)-min(near[0].time, near[1].time))
		c, of, stable := s.x.stable(a, b)
		v.Expected += c.share()
		if o == Different {
			h.loss.Different++
			s.example(v, a, b, near, stable)
		}
		if h.add(s.x, a, b, o, near, false) {
			for _, key := range of {
				s.controls[key] = s.x.controls[key]
			}
		}
	}
}

// example keeps a few pairs that differ: those with a stable control before others, then
// the shortest, so that they are the same in every run.
func (s *sums) example(v *Verdict, a, b uint32, near [2]capture, stable bool) {
	e := Example{a: a, b: b, Stable: stable}
	at, _ := slices.BinarySearchFunc(v.Examples, e, func(p, q Example) int {
		switch {
		case p.Stable && !q.Stable:
			return -1
		case q.Stable && !p.Stable:
			return 1
		}
		return cmp.Or(s.x.compareURLs(p.a, q.a), s.x.compareURLs(p.b, q.b))
	})
	if at == examples {
		return
	}
	e.A, e.DigestA, e.TimeA = string(s.x.urls.at(a)), s.x.shown(near[0]), time.Unix(int64(near[0].time), 0).UTC()
	e.B, e.DigestB, e.TimeB = string(s.x.urls.at(b)), s.x.shown(near[1]), time.Unix(int64(near[1].time), 0).UTC()
	v.Examples = slices.Insert(v.Examples, at, e)
	v.Examples = v.Examples[:min(len(v.Examples), examples)]
}

// shown is what an example shows of a content: its digest, or the status of what is none.
func (x *index) shown(c capture) string {
	if !c.usable() {
		return http.StatusText(int(c.status))
	}
	return string(x.digests.at(c.digest - 1))
}

func (s *sums) conclude(v *Verdict) {
	if n := v.Outcomes[Same] + v.Outcomes[Different] + v.Outcomes[Volatile]; n > 0 {
		v.Naive = float64(v.Outcomes[Same]) / float64(n)
	}
	if len(s.gaps) > 0 {
		slices.Sort(s.gaps)
		v.Gap = float64(s.gaps[len(s.gaps)/2])
	}
	trials, redirects, missing, shares := tally{}, 0, 0, 0.0
	for _, host := range slices.Sorted(maps.Keys(s.hosts)) {
		h := s.hosts[host]
		if h.loss.Different > 0 {
			v.Lost = append(v.Lost, h.loss)
		}
		e := h.fair()
		redirects += e.redirects
		missing += e.missing
		if n := e.Pairs - e.redirects; n > 0 {
			trials[host] = [2]float64{float64(e.Held - e.redirects), float64(n)}
			shares += e.control - float64(e.redirects)
		}
	}
	slices.SortFunc(v.Lost, func(a, b HostLoss) int {
		return cmp.Or(cmp.Compare(b.Different, a.Different), cmp.Compare(a.Host, b.Host))
	})
	v.Lost = v.Lost[:min(len(v.Lost), examples)]
	s.estimate(v, trials, float64(redirects), missing, shares)
}

// estimate restores what, by the control, change took: if pages hold
// still c of the time, then a share p of one page shows as p·c of one content.
// Redirects and missing pages are sure. shares is the sum of the shares of the controls.
func (s *sums) estimate(v *Verdict, trials tally, redirects float64, missing int, shares float64) {
	k, n := trials.sum()
	v.Held, v.Stable = int(k), int(n)
	if v.Merges == 0 {
		v.Why = "it merged nothing"
		return
	}
	if n+redirects < MinStable {
		v.Why = fmt.Sprintf("%d contents with a stable control or a redirect; want %d", int(n+redirects), MinStable)
		return
	}
	e := &Estimate{Trials: int(n + redirects), Share: 1, Interval: Interval{1, 1}}
	if n > 0 {
		e.Effective = trials.effective()
		held := Wilson(k/n*e.Effective, e.Effective, s.x.confidence)
		all := control{uint32(missing), uint32(missing)}
		for _, c := range s.controls {
			all = all.plus(c)
		}
		still := Wilson(shares/n*float64(all.pairs), float64(all.pairs), s.x.confidence)
		mix := func(p, c float64) float64 { return (redirects + n*min(1, p/c)) / (redirects + n) }
		e.Share = mix(k/n, shares/n)
		e.Interval = Interval{mix(held.Low, still.High), mix(held.High, still.Low)}
	}
	e.Effective += redirects
	v.Verdict = e
}
