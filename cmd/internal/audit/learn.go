package audit

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/whatwg"
)

// Proposal is a rule for a place, as far as the log shows: a parameter that can be
// dropped there, or a fold that can be switched on.
type Proposal struct {
	Host      string     `json:"host"` // the place, as a rule file names it: everything below the path
	Path      string     `json:"path"`
	Param     string     `json:"param,omitempty"` // to drop; "" for a fold
	Rule      canon.Rule `json:"rule,omitempty"`  // to switch on; "" for a parameter
	Learned   Evidence   `json:"learned"`         // from one half of the log's pages
	Validated Evidence   `json:"validated"`       // from the other half, which had no say
	Saves     int        `json:"saves"`           // URLs of the log it would have saved
	Source    Source     `json:"source"`
	Declared  *Declared  `json:"declared,omitempty"` // by the site; nil for nothing
	Example   [2]string  `json:"example"`
}

// Source is the evidence that a proposal rests on.
type Source string

// The sources.
const (
	FromContent      Source = "content"
	FromDeclarations Source = "declarations"
	FromBoth         Source = "content and declarations"
)

// What is the proposed parameter or fold.
func (p Proposal) What() string { return p.Param + string(p.Rule) }

// Evidence is what pairs that differ by one rule alone say of it. However many pairs have
// the same contents, they count as one.
type Evidence struct {
	Pairs    int      `json:"pairs"`    // with contents to compare and a stable control, each content once
	Held     int      `json:"held"`     // of them, the same
	Interval Interval `json:"interval"` // of the share that are one page
}

// Candidate is a parameter or a fold that was not proposed, and why.
type Candidate struct {
	Host  string     `json:"host"`
	Path  string     `json:"path"`
	Param string     `json:"param,omitempty"`
	Rule  canon.Rule `json:"rule,omitempty"`
	URLs  int        `json:"urls"`  // that there are more for want of the rule
	Pairs int        `json:"pairs"` // with a stable control, each content once
	Held  int        `json:"held"`  // of them, the same
	Why   string     `json:"why"`

	Declared *Declared `json:"declared,omitempty"` // by the site; nil for nothing

	harms bool // the evidence is against it, not too little
}

// rank is higher for what should be read first: that a rule would lose pages is more than that it was not tested.
func (c Candidate) rank() int {
	if c.harms {
		return 1
	}
	return 0
}

// What names the parameter, or the fold.
func (c Candidate) What() string { return c.Param + string(c.Rule) }

// Learned is what a log teaches.
type Learned struct {
	Proposals []Proposal  `json:"proposals"`
	LeftOut   []Candidate `json:"left_out"`
	Omitted   int         `json:"omitted,omitempty"` // further ones, for which there was no room
	Unread    []Unread    `json:"unread,omitempty"`  // filled in by the caller
}

// The bounds of proposals, which are careful.
const (
	// minPairs is how many contents with a stable control each half must have.
	minPairs = 10
	// minShare is the least share of contents, in each half and with what change
	// took put back, that must be one page.
	minShare = 0.97
	// maxLeftOut bounds the list of candidates that were not proposed, those
	// that the evidence is against first, then those that make most URLs.
	maxLeftOut = 200
)

// Learn looks for folds and parameters that lead to the same page, for each host and directory:
// first for folds, then for parameters among the URLs that the folds do not merge. A rule is
// proposed only if both halves of the pages, divided by a hash, support it, or if the site
// declares it and the contents do not contradict.
func Learn(ctx context.Context, l *Log) (*Learned, error) {
	x, err := newIndex(l)
	if err != nil {
		return nil, fmt.Errorf("cannot index the log: %w", err)
	}
	learn := &learner{index: x, places: map[place]lesson{}, claims: map[place]*claims{}, statements: map[place]*statement{}}
	learn.use(canon.Qiita())
	found := &Learned{}
	if err := learn.learnFolds(ctx, found); err != nil {
		return nil, err
	}
	with, err := found.profile()
	if err != nil {
		return nil, err
	}
	learn.use(with)
	// URLs that these rules merge differ in no parameter: one of them is enough.
	learn.ids = x.firstsOf(learn.safeForm)
	for i, id := range learn.ids {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		learn.sight(id)
	}
	if !l.declared.none() {
		for _, id := range x.captured() {
			learn.hear(id)
		}
	}
	learn.conclude(found)
	return found, nil
}

// profile is the safe rules with the learned ones.
func (l *Learned) profile() (*canon.Profile, error) {
	var file bytes.Buffer
	if err := l.WriteRuleFile(&file); err != nil {
		return nil, err
	}
	p, err := canon.Qiita().With(canon.WithRuleFile(&file))
	if err != nil {
		return nil, fmt.Errorf("cannot use the rules that were learned: %w", err)
	}
	return p, nil
}

// use sets the rules that are taken for granted.
func (l *learner) use(p *canon.Profile) { l.safe, l.safeForm = p, &Form{append: p.AppendCanonical} }

// place is where a parameter stands.
type place struct{ host, path, param string }

// lesson is the evidence on a parameter at a place: URLs by their form without the parameter.
type lesson map[uint64][]uint32

type learner struct {
	*index
	safe     *canon.Profile
	safeForm *Form
	ids      []uint32 // the URLs that count
	places   map[place]lesson
	claims   map[place]*claims // declarations about them

	statements map[place]*statement // by host, Clean-param rule and parameter
}

// variant is a URL in its safe form.
type variant struct {
	host, dir   string
	form, front []byte // front stands before the query
	pairs       [][]byte
}

// variant returns a URL of the log in its safe form, if it has one.
func (l *learner) variant(id uint32) (v variant, ok bool) {
	form, err := l.safe.AppendCanonical(nil, l.urls.at(id))
	if err != nil {
		return v, false
	}
	front, query, _ := bytes.Cut(form, []byte{'?'})
	v = variant{host: hostName(canon.Host(front)), dir: string(directory(front)), form: form, front: front}
	if len(query) > 0 {
		v.pairs = bytes.Split(query, []byte{'&'})
	}
	return v, true
}

func (v *variant) place(name string) place { return place{v.host, v.dir, name} }

// names are those of the parameters, each once.
func (v *variant) names() (names []string) {
	for _, pair := range v.pairs {
		name, _, _ := bytes.Cut(pair, []byte{'='})
		if len(name) > 0 && !slices.Contains(names, string(name)) {
			names = append(names, string(name))
		}
	}
	return names
}

// sight files a URL under each of its parameters, and under the places that
// know parameters it lacks only when they are judged.
func (l *learner) sight(id uint32) {
	v, _ := l.variant(id)
	for _, name := range v.names() {
		pages := findOrMake(l.places, v.place(name), func() lesson { return lesson{} })
		page := without(v.front, v.pairs, []byte(name))
		pages[page] = append(pages[page], id)
	}
}

func sameName(pair, name []byte) bool {
	n, _, _ := bytes.Cut(pair, []byte{'='})
	return bytes.Equal(n, name)
}

// hostName takes the port off.
func hostName(host []byte) string {
	name, _ := whatwg.CutPort(string(host))
	return name
}

// directory returns the path up to its last slash.
func directory(front []byte) []byte {
	_, path, _ := bytes.Cut(front, []byte("://"))
	i := bytes.IndexByte(path, '/')
	if i < 0 {
		return []byte{'/'}
	}
	path = path[i:]
	return path[:bytes.LastIndexByte(path, '/')+1]
}

// without hashes a URL as it is without a parameter, whatever the order of the
// others. It is the same in every run, so that the halves are too.
func without(front []byte, pairs [][]byte, name []byte) uint64 {
	page := stableHash(front)
	for _, pair := range pairs {
		if !sameName(pair, name) {
			page += stableHash(pair) // a sum forgets the order
		}
	}
	return mix(page)
}

// stableHash is FNV-1a, mixed.
func stableHash(b []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(b) // it never fails
	return mix(h.Sum64())
}

// mix spreads a hash over all its bits, as splitmix64 ends.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// conclude judges every place and sorts the answers by the fetches they save.
func (l *learner) conclude(found *Learned) {
	l.sightWithout()
	var places []*weighed
	for p, lesson := range l.places {
		if lesson.saves() == 0 && l.claims[p] == nil {
			continue // the parameter has one value for each page
		}
		w := l.weighPlace(p, lesson)
		if w.claims != nil && w.claims.rule != nil {
			w.claims.rule.state(w.claims, w.halves)
		}
		places = append(places, w)
	}
	for _, w := range places {
		l.decide(found, w, nil)
	}
	slices.SortFunc(found.Proposals, func(a, b Proposal) int {
		return cmp.Or(cmp.Compare(b.Saves, a.Saves), cmp.Compare(a.Host+a.Path+a.What(), b.Host+b.Path+b.What()))
	})
	slices.SortFunc(found.LeftOut, func(a, b Candidate) int {
		return cmp.Or(b.rank()-a.rank(), cmp.Compare(b.URLs, a.URLs), cmp.Compare(a.Host+a.Path+a.What(), b.Host+b.Path+b.What()))
	})
	found.Omitted = max(0, len(found.LeftOut)-maxLeftOut)
	found.LeftOut = found.LeftOut[:len(found.LeftOut)-found.Omitted]
}

func (s lesson) saves() (n int) {
	for _, urls := range s {
		n += len(urls) - 1
	}
	return n
}
