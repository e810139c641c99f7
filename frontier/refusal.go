package frontier

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
)

const (
	// maxExamples bounds the refused URLs kept for each reason.
	maxExamples = 10
	// maxRefusals bounds the counts kept apart.
	maxRefusals = 1024
)

// Refusal counts the URLs of a crawl that were refused when they were offered, or that
// the frontier dropped later, for one reason, with the latest few of them.
type Refusal struct {
	Crawl    string // "" for invalid names, and for all further crawls and reasons after the first 1,024 counts
	Reason   Reason
	Rule     string // by which they are excluded, of ReasonExcluded: see Exclusion
	Dropped  bool   // they had been accepted, and were dropped later; of ReasonExcluded, forgotten
	Count    int64
	Examples []string // at most 10, oldest first, each cut to 256 bytes
}

type refusalKey struct {
	crawl   string
	reason  Reason
	dropped bool
	rule    string
}

// refusals counts refusals. Memory is bounded: a crawl is named by any client that offers a
// URL, and a refused one makes no crawl, so names come without end.
type refusals struct {
	mu sync.Mutex
	m  map[refusalKey]*Refusal // guarded by mu
}

func (r *refusals) count(k refusalKey, url string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.of(k)
	c.Count++
	if len(c.Examples) == maxExamples {
		c.Examples = append(c.Examples[:0], c.Examples[1:]...)
	}
	c.Examples = append(c.Examples, strings.Clone(url[:min(len(url), 256)])) // not the message it came in
}

// of returns the count to add to.
func (r *refusals) of(k refusalKey) *Refusal {
	if r.m[k] == nil && len(r.m) >= maxRefusals {
		k.crawl, k.rule = "", ""
	}
	c := r.m[k]
	if c == nil {
		k.crawl = strings.Clone(k.crawl)
		c = &Refusal{Crawl: k.crawl, Reason: k.reason, Rule: k.rule, Dropped: k.dropped}
		r.m[k] = c
	}
	return c
}

// forget drops the counts of a crawl, or of all.
func (r *refusals) forget(selected, crawl string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.m, func(k refusalKey, _ *Refusal) bool { return selected == "*" || k.crawl == crawl })
}

// list copies the counts, in order of crawl and reason, those of dropped URLs last.
func (r *refusals) list() []Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Refusal, 0, len(r.m))
	for _, c := range r.m {
		one := *c
		one.Examples = slices.Clone(c.Examples)
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Refusal) int {
		return cmp.Or(cmp.Compare(a.Crawl, b.Crawl), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Rule, b.Rule), rank(a)-rank(b))
	})
	return all
}

// byRule copies the counts of excluded URLs.
func (r *refusals) byRule() map[string][]Refusal {
	rules := make(map[string][]Refusal)
	for _, c := range r.list() {
		if c.Reason == ReasonExcluded {
			rules[c.Rule] = append(rules[c.Rule], c)
		}
	}
	return rules
}

// rank orders the two counts of a crawl and reason.
func rank(r Refusal) int {
	if r.Dropped {
		return 1
	}
	return 0
}

// Refusals lists the URLs refused since New, by crawl and reason. The counts
// are of this process, not of the store.
func (f *Frontier) Refusals() iter.Seq[Refusal] { return slices.Values(f.refused.list()) }
