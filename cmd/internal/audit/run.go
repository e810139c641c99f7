package audit

import (
	"cmp"
	"context"
	"fmt"
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
	x.said = x.sayings()
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
		g.release()
		r.Forms = append(r.Forms, v)
	}
	if err := x.leaveOneOut(ctx, r, req.Profile); err != nil {
		return r, err
	}
	r.Attributed = x.attribute(req.Profile)
	if req.Against != nil {
		r.Against = x.against(req.Profile, req.Against)
	}
	return r, nil
}

func (x *index) summary() *Report {
	r := &Report{Captures: len(x.captures), Confidence: x.options.Confidence}
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
	s := newSums(x)
	g.each(func(urls []uint32) {
		for _, b := range urls[1:] {
			outcome, near := x.judge(urls[0], b, g.sameForm)
			v.Merges++
			v.Outcomes[outcome]++
			s.add(&v, urls[0], b, outcome, near)
			x.said.hear(x, &v, urls[0], b, outcome)
		}
	})
	s.conclude(&v)
	return v
}

// sums gathers what the pairs of one form say.
type sums struct {
	x         *index
	trials    tally
	counted   map[uint32]*contents // of each host: the contents in trials and redirects
	redirects int                  // contents that the server itself says are one page
	control   float64              // sum of the shares of the stable controls
	controls  map[uint32]control   // the stable controls used, each once
	gaps      []uint32
	hosts     map[uint32]*HostLoss
	shown     []shownPair // as the verdict's examples
}

func newSums(x *index) *sums {
	return &sums{x: x, trials: tally{}, counted: map[uint32]*contents{}, controls: map[uint32]control{}, hosts: map[uint32]*HostLoss{}}
}

func (s *sums) add(v *Verdict, a, b uint32, o Outcome, near [2]capture) {
	host := s.x.host[b]
	loss := s.hosts[host]
	if loss == nil {
		loss = &HostLoss{Host: string(s.x.hosts.at(host))}
		s.hosts[host] = loss
	}
	loss.Merges++
	switch o {
	case Redirect:
		if s.count(host, a, b, o, near) {
			s.redirects++
		}
		return
	case Failed, NoDigest:
		return
	}
	s.gaps = append(s.gaps, max(near[0].time, near[1].time)-min(near[0].time, near[1].time))
	c, of, stable := s.x.stable(a, b)
	v.Expected += c.share()
	if o == Different {
		loss.Different++
		s.example(v, a, b, near, stable)
	}
	if !stable || !s.count(host, a, b, o, near) {
		return
	}
	v.Stable++
	success := 0.0
	if o == Same {
		v.Held++
		success = 1
	}
	s.trials.add(host, success)
	s.control += c.share()
	for _, key := range of {
		s.controls[key] = s.x.controls[key]
	}
}

// count reports whether the contents of a pair are new to its host: each counts once, or a
// server that answers most URLs alike would outvote the pages that exist.
func (s *sums) count(host, a, b uint32, o Outcome, near [2]capture) bool {
	counted := s.counted[host]
	if counted == nil {
		counted = new(contents)
		s.counted[host] = counted
	}
	return counted.add(s.x.contentOf(a, b, o, near))
}

// example keeps a few pairs that differ: those with a stable control before others, then
// the shortest, so that they are the same in every run.
func (s *sums) example(v *Verdict, a, b uint32, near [2]capture, stable bool) {
	at := slices.IndexFunc(s.shown, func(p shownPair) bool { return s.before(shownPair{a, b, stable}, p) })
	if at < 0 {
		at = len(s.shown)
	}
	if at == examples {
		return
	}
	s.shown = slices.Insert(s.shown, at, shownPair{a, b, stable})
	s.shown = s.shown[:min(len(s.shown), examples)]
	v.Examples = slices.Insert(v.Examples, at, Example{
		A: string(s.x.urls.at(a)), B: string(s.x.urls.at(b)), Stable: stable,
		DigestA: s.x.digests.text(near[0].digest - 1), DigestB: s.x.digests.text(near[1].digest - 1),
		TimeA: time.Unix(int64(near[0].time), 0).UTC(), TimeB: time.Unix(int64(near[1].time), 0).UTC(),
	})
	v.Examples = v.Examples[:len(s.shown)]
}

// shownPair is the pair of an example.
type shownPair struct {
	a, b   uint32
	stable bool
}

func (s *sums) before(p, q shownPair) bool {
	if p.stable != q.stable {
		return p.stable
	}
	return cmp.Or(s.x.compareURLs(p.a, q.a), s.x.compareURLs(p.b, q.b)) < 0
}

func (s *sums) conclude(v *Verdict) {
	if n := v.Outcomes[Same] + v.Outcomes[Different] + v.Outcomes[Volatile]; n > 0 {
		v.Naive = float64(v.Outcomes[Same]) / float64(n)
	}
	if len(s.gaps) > 0 {
		slices.Sort(s.gaps)
		v.Gap = float64(s.gaps[len(s.gaps)/2])
	}
	for _, loss := range s.hosts {
		if loss.Different > 0 {
			v.Lost = append(v.Lost, *loss)
		}
	}
	slices.SortFunc(v.Lost, func(a, b HostLoss) int {
		return cmp.Or(cmp.Compare(b.Different, a.Different), cmp.Compare(a.Host, b.Host))
	})
	v.Lost = v.Lost[:min(len(v.Lost), examples)]
	s.estimate(v)
}

// estimate restores what, by the control, change took: if pages hold
// still c of the time, then a share p of one page shows as p·c of one content.
// Redirects are sure.
func (s *sums) estimate(v *Verdict) {
	redirects, n := float64(s.redirects), float64(v.Stable)
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
		k, _ := s.trials.sum()
		e.Effective = s.trials.effective()
		held := Wilson(k/n*e.Effective, e.Effective, s.x.options.Confidence)
		control := s.controlInterval()
		mix := func(p, c float64) float64 { return (redirects + n*min(1, p/c)) / (redirects + n) }
		e.Share = mix(k/n, s.control/n)
		e.Interval = Interval{mix(held.Low, control.High), mix(held.High, control.Low)}
	}
	e.Effective += redirects
	v.Verdict = e
}

// controlInterval is what the controls that were used leave open.
func (s *sums) controlInterval() Interval {
	var all control
	for _, c := range s.controls {
		all = all.plus(c)
	}
	share := s.control / float64(max(1, int(sumTrials(s.trials))))
	return Wilson(share*float64(all.pairs), float64(all.pairs), s.x.options.Confidence)
}

func sumTrials(t tally) float64 {
	_, n := t.sum()
	return n
}
