// Package evidence is what a crawl learns from its own fetches, and all that it does by itself because of it.
//
// Fetchers report with a result what they fetched: digests of the content, the canonical link, what the response declares
// of its parameters and asks of robots. [Evidence.Offer] takes each report once, and three things come of it:
//
//   - A sample of the reports is kept (store/captures), which audit and learn read. That changes nothing.
//   - A path template whose fetches bring nothing new is lowered: its URLs come last (traps.go).
//   - What a trusted host declares of its parameters becomes a rule (declared.go).
//
// The last two are adopted without being asked, so each holds at one host and path, names itself in explanations, can be
// taken back by an operator, and is corrected by later fetches: new content raises a template, a later declaration replaces
// the one before. [Options].Off switches both off. A rule for more than that is proposed by audit.Learn and adopted by a person.
package evidence

import (
	"hash/maphash"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier/declared"
	"github.com/firstseen/firstseen/store/captures"
)

// Options configure an Evidence. The zero value keeps and adopts nothing.
type Options struct {
	// Off adopts nothing, whatever the other options say: no template is counted, and no host is trusted. The default is false.
	Off bool
	// Traps is what happens to templates whose fetches bring nothing new. The default is nothing.
	Traps TrapMode
	// Captures keeps a sample of the fetches. The default is that none is kept.
	Captures *captures.Sample
	// CapturesError is why Captures is nil although fetches were to be kept. The default is none.
	CapturesError error
	// Saved is the file that keeps what trusted hosts declared. The default is to keep it in memory.
	Saved string
	// Profile returns the profile of the crawl, which makes the canonical forms. The default is canon.Qiita.
	Profile func() *canon.Profile
	// Use is called with the profile of SetRules, and again whenever what trusted hosts declare changes it. The default does nothing.
	Use func(*canon.Profile) error
	// Logger takes the log. The default is slog.Default().
	Logger *slog.Logger
}

// TrapMode is what happens to templates whose fetches bring nothing new.
type TrapMode uint8

// The modes.
const (
	IgnoreTraps TrapMode = iota
	CountTraps           // they are counted, as a trial: nothing is lowered
	LowerTraps
	LeaveOutTraps // those that ask robots to leave them alone are excluded
)

// Evidence is what the fetches of a crawl show. Safe for concurrent use.
type Evidence struct {
	opt     Options
	seed    maphash.Seed
	trusts  atomic.Bool  // a host is trusted
	lowered atomic.Int64 // templates and groups that are lowered
	urls    atomic.Int64 // that were lowered, or would have been
	changed chan struct{}

	unlisted declared.Unlisted // of canonical forms; what is excluded needs all fetches, what is lowered those from the first that asks
	asks     atomic.Bool       // a page asked robots to leave it alone

	mu    sync.Mutex
	traps traps
	rules rules

	applying sync.Mutex // makes one profile after another
	file     ruleFile
}

// New returns an Evidence without any.
func New(opt Options) *Evidence {
	if opt.Off {
		opt.Traps = IgnoreTraps
	}
	if opt.Profile == nil {
		opt.Profile = canon.Qiita
	}
	if opt.Use == nil {
		opt.Use = func(*canon.Profile) error { return nil }
	}
	if opt.Logger == nil {
		opt.Logger = slog.Default()
	}
	return &Evidence{opt: opt, unlisted: declared.Unlisted{Profile: canon.None()}, seed: maphash.MakeSeed(), changed: make(chan struct{}, 1), rules: rules{places: map[place]said{}}}
}

// Wants reports whether Offer uses what it is given.
func (e *Evidence) Wants() bool {
	return e.opt.Captures != nil || e.opt.Traps != IgnoreTraps || e.trusts.Load()
}

// Offer takes what was fetched.
func (e *Evidence) Offer(f *captures.Capture) {
	if e.opt.Captures != nil {
		e.opt.Captures.Offer(*f)
	}
	declares := e.trusts.Load() && f.NoVarySearch+f.CleanParam != ""
	counts := e.opt.Traps != IgnoreTraps && f.Redirect == "" && (f.Status == 0 || f.Status/100 == 2)
	if !declares && !counts {
		return
	}
	profile := e.opt.Profile()
	form, err := profile.Canonicalize(f.URL)
	if err != nil {
		return
	}
	counts = counts && f.Digest+f.Masked != "" // so that each kind that is left out has a template to lift
	if counts && f.Unlisted {
		e.asks.Store(true)
	}
	if counts && (e.asks.Load() || e.opt.Traps == LeaveOutTraps) {
		e.unlisted.Fetched(form, declared.Page{Canonical: f.Canonical, Unlisted: f.Unlisted})
	}
	link := form
	if counts && f.Canonical != "" && f.Canonical != f.URL {
		if named, err := profile.Canonicalize(f.Canonical); err == nil && samePath(form, named) {
			link = named
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if counts {
		e.countFetch(form, link, f)
	}
	if declares {
		e.hear(form, f)
	}
}

// Stats counts what was adopted.
type Stats struct {
	Counts, Shadow bool  // templates are counted; without being lowered
	Templates      int64 // templates and groups that are lowered by their fetches
	URLs           int64 // offered ones that were lowered, or would have been

	Hosts   int   // trusted, as the rule file lists them
	Rules   int   // that they declared, in use
	Refused int64 // declarations of them that cannot be used, since the start
	Last    error // why the latest of these cannot be used; nil for none
}

// Stats counts what was adopted.
func (e *Evidence) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := Stats{Counts: e.opt.Traps != IgnoreTraps, Shadow: e.opt.Traps == CountTraps, Templates: e.lowered.Load(), URLs: e.urls.Load(),
		Hosts: e.rules.hosts, Refused: e.rules.refused, Last: e.rules.last}
	for _, said := range e.rules.places {
		for _, entry := range said.entries {
			if !slices.Contains(said.revoked, entry.Pattern) {
				s.Rules++
			}
		}
	}
	return s
}

// Captures returns the sample of fetches; nil for none. err is why there is none although there should be.
func (e *Evidence) Captures() (s *captures.Sample, err error) {
	return e.opt.Captures, e.opt.CapturesError
}
