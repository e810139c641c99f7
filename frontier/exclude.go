package frontier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/hashkey/hasheduri"
	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// An operator excludes URLs while a crawl runs, and takes that back: Exclude and Include. A URL that is excluded is refused
// where it is offered, put, or the target of a redirect. One that is queued already is forgotten, and not dropped: dropped
// URLs are seen, and would stay away when the exclusion goes.
//
// Each rule is a queue of OwnCrawl that holds nothing and is paused. So rules are as durable as settings, every store can
// keep them, and the frontiers on a shared store hear of each other's by reading a few rows now and then. The order of a crawl
// (order.go) is kept as one of them.

// Exclusion is a rule and its counts since this frontier was opened.
type Exclusion struct {
	Crawl string // "*" for one that holds in all crawls
	Rule  string
	// Refused counts the offers of URLs that were refused by the rule; Forgotten the queued URLs that were forgotten.
	Refused, Forgotten int64
	Examples           []string // the latest of both, as in Refusal
}

// exclusions are the rules in force.
type exclusions struct {
	changing sync.Mutex                          // held while the rules in the store are changed or read
	sets     atomic.Pointer[map[string]*ruleSet] // by crawl, replaced as a whole
}

// ruleSet are the rules of a crawl, or of all by the name "*". It does not change.
type ruleSet struct {
	rules  []string        // in order
	urls   *canon.URLSet   // nil if there are none
	hashed *hasheduri.List // nil if there are none
	deep   bool            // depthFirst is one of the rules
}

const (
	// maxExclusions bounds the rules of a store. Longer lists go into a file of hashed URIs (Options.Exclude).
	maxExclusions = 10_000
	// exclusionsEvery is how often a frontier on a shared store reads the rules, and exclusionsKnown when all have read one.
	exclusionsEvery = 5 * time.Second
	exclusionsKnown = exclusionsEvery + time.Second
)

// newRuleSet reads rules, in any order.
func newRuleSet(rules []string) (*ruleSet, error) {
	slices.Sort(rules)
	var plain, hashed strings.Builder
	excludes := false // exceptions alone stand for all other URLs in a URLSet, and for nothing here
	s := &ruleSet{rules: rules}
	for _, rule := range rules {
		switch _, err := hasheduri.Parse(rule); {
		case rule == depthFirst:
			s.deep = true
		case err == nil:
			hashed.WriteString(rule + "\n")
		case rule == "" || rule[0] == '#' || strings.ContainsAny(rule, "\r\n"):
			return nil, fmt.Errorf("got %q; want a rule", rule)
		default:
			plain.WriteString(rule + "\n")
			excludes = excludes || rule[0] != '!'
		}
	}
	var err error
	if plain.Len() > 0 {
		if s.urls, err = canon.ParseURLSet([]byte(plain.String())); !excludes {
			s.urls = nil
		}
	}
	if err == nil && hashed.Len() > 0 {
		s.hashed, err = hasheduri.ReadList(strings.NewReader(hashed.String()), hasheduri.Hasher{Variant: hasheduri.N})
	}
	return s, err
}

// check refuses rules that exclude every URL.
func (s *ruleSet) check() error {
	if s == nil || s.urls == nil {
		return nil
	}
	return s.urls.Check()
}

func (s *ruleSet) match(canonical string) (rule string, ok bool) {
	if s == nil {
		return "", false
	}
	if s.urls != nil {
		if rule, ok := s.urls.Has([]byte(canonical)); ok {
			return rule, true
		}
	}
	if s.hashed == nil {
		return "", false
	}
	if entry, ok := s.hashed.Match(canonical); ok {
		return entry.String(), true
	}
	return "a hashed URI", s.hashed.Excluded(canonical)
}

// listRule names Options.Exclude, which has no rules, among them.
const listRule = "list"

// formForRules returns the form of a URL that rules of operators are compared with: its canonical form, or, of a profile whose forms are
// no URLs, such as surt, or not canonical, that of canon.Qiita.
func formForRules(p *canon.Profile, url string) (string, error) {
	if !p.Fetchable() {
		if form, err := canon.Qiita().Canonicalize(url); err == nil {
			return form, nil
		}
	}
	return p.Canonicalize(url)
}

// excludedBy returns the rule by which a URL of a crawl, with this canonical form, is excluded.
func (f *Frontier) excludedBy(c *crawl, url, canonical string) (rule string, ok bool) {
	if !f.mayExclude() {
		return "", false
	}
	if p := f.profileOf(c); !p.Fetchable() {
		var err error
		if canonical, err = formForRules(p, url); err != nil { // the profile, whose rules may have changed, refuses it by now
			return "", false
		}
	}
	if f.opt.Exclude != nil && f.opt.Exclude(canonical) {
		return listRule, true
	}
	sets := *f.exclusions.sets.Load()
	if rule, ok := sets["*"].match(canonical); ok {
		return rule, true
	}
	return sets[c.name].match(canonical)
}

// ExcludedBy returns the rule by which a URL of a crawl is excluded: that of an [Exclusion], or "list"
// if Options.Exclude excludes it.
func (f *Frontier) ExcludedBy(name, url string) (rule string, ok bool) {
	c := f.crawls.get(f.named(name))
	if c == nil {
		c = &crawl{name: f.named(name)}
	}
	id := f.identifier(c)
	return id.excluded(url)
}

// excluded is excludedBy for a URL whose form is not at hand, which is made unless rules are compared with another one.
func (id *identifier) excluded(url string) (rule string, ok bool) {
	if !id.f.mayExclude() || id.profile.Fetchable() && id.canonicalize(url) != nil {
		return "", false
	}
	return id.f.excludedBy(id.crawl, url, string(id.scratch))
}

// mayExclude reports whether anything is excluded.
func (f *Frontier) mayExclude() bool {
	return f.opt.Exclude != nil || len(*f.exclusions.sets.Load()) > 0
}

// ruleKey is the name of the queue that keeps a rule, and ruleOf its inverse.
func ruleKey(crawl, rule string) string { return crawl + "\x00" + rule }

func ruleOf(queue string) (crawl, rule string, ok bool) {
	for _, own := range []string{forgetting, depthFirst} { // names that begin with a zero byte
		if crawl, ok := strings.CutSuffix(queue, ruleKey("", own)); ok {
			return crawl, own, true
		}
	}
	at := strings.LastIndexByte(queue, 0) // the name of a crawl may contain some
	if at < 0 {
		return "", "", false
	}
	return queue[:at], queue[at+1:], true
}

// forgetting names a queue of OwnCrawl that has a limit while queued URLs of a crawl are to be forgotten, the mark of purge.go.
const forgetting = "\x00forgetting"

// loadExclusions reads the rules from the store, and returns the crawls of which queued URLs are still to be forgotten.
func (f *Frontier) loadExclusions(ctx context.Context) (unforgotten []string, err error) {
	f.exclusions.changing.Lock()
	defer f.exclusions.changing.Unlock()
	return f.readExclusions(ctx)
}

// readExclusions is loadExclusions for who holds exclusions.changing.
func (f *Frontier) readExclusions(ctx context.Context) (unforgotten []string, err error) {
	rules, unforgotten, err := storedRules(ctx, f.store)
	if err != nil {
		return nil, err
	}
	return unforgotten, f.setExclusions(rules)
}

// storedRules reads the rules of a store by crawl, and the crawls of which queued URLs are still to be forgotten.
func storedRules(ctx context.Context, s store.Store) (rules map[string][]string, unforgotten []string, err error) {
	rules = make(map[string][]string)
	for q, err := range s.Queues(ctx, OwnCrawl, "") {
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read which URLs are excluded: %w", err)
		}
		switch crawl, rule, ok := ruleOf(q.Name); {
		case !ok:
		case rule == forgetting && q.Limit > 0:
			unforgotten = append(unforgotten, crawl)
		case q.Paused:
			rules[crawl] = append(rules[crawl], rule)
		}
	}
	return rules, unforgotten, nil
}

// Scopes returns the settings and exclusions of the crawl in its store s, and those for all crawls of the store. Scopes without any are left out.
func (c StoredCrawl) Scopes(ctx context.Context, s store.Store) (list []store.Scope, err error) {
	rules, _, err := storedRules(ctx, s)
	for _, scope := range []struct{ is, name, stored string }{{"", c.Name, c.Stored}, {"*", "*", "*"}} {
		if err != nil {
			return nil, err
		}
		is := store.Scope{Crawl: scope.is}
		is.CrawlSettings, err = s.CrawlSettings(ctx, scope.stored)
		for _, rule := range rules[scope.name] {
			is.Rules = append(is.Rules, []byte(rule))
		}
		if is.Rules != nil || is.CrawlSettings != (store.CrawlSettings{}) {
			list = append(list, is)
		}
	}
	return list, err
}

// Set adds the settings and exclusions of another crawl to this one's, or those of all crawls to those of all of the store s. No
// frontier of this process may work on s.
func (c StoredCrawl) Set(ctx context.Context, s store.Store, scope store.Scope) error {
	if scope.Crawl == "*" {
		c = StoredCrawl{Name: "*", Stored: "*"}
	}
	rules, _, err := storedRules(ctx, s)
	if err != nil {
		return err
	}
	var list []string
	for _, rule := range scope.Rules {
		if string(rule) != depthFirst {
			list = append(list, string(rule))
		}
	}
	missing, err := checkRules(c.Name, rules, list, true)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		if err := setForgetting(ctx, s, c.Name, true); err != nil {
			return err
		}
	}
	if len(list) < len(scope.Rules) {
		missing = append(missing, depthFirst)
	}
	if err := keepRules(ctx, s, c.Name, missing, true); err != nil {
		return err
	}
	return s.Configure(ctx, c.Stored, "", scope.Change())
}

// setExclusions puts rules in force; it takes over the map.
func (f *Frontier) setExclusions(rules map[string][]string) error {
	sets := make(map[string]*ruleSet, len(rules))
	old := f.exclusions.sets.Load()
	var errs []error
	for crawl, list := range rules {
		s, bad, err := readableRules(list)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if old == nil || (*old)[crawl] == nil {
			for _, err := range bad {
				f.opt.Logger.Warn("an exclusion excludes nothing; take it back", "crawl", crawl, "error", err)
			}
		}
		sets[crawl] = s
	}
	f.exclusions.sets.Store(&sets)
	return errors.Join(errs...)
}

// readableRules reads the rules that this build can read. For the others, which another build accepted, it returns an error each; they
// exclude nothing, and stay listed so that they can be taken back.
func readableRules(rules []string) (s *ruleSet, bad []error, err error) {
	if s, err = newRuleSet(rules); err == nil {
		return s, nil, nil
	}
	var good []string
	for _, rule := range rules {
		if _, err := newRuleSet([]string{rule}); err != nil {
			bad = append(bad, err)
		} else {
			good = append(good, rule)
		}
	}
	if s, err = newRuleSet(good); err != nil {
		return nil, nil, err
	}
	s.rules = rules
	return s, bad, nil
}

// followExclusions reads the rules again and again until Close, where other frontiers may change them. They may also forget a crawl, and with it
// the groups of its queues: so these are looked up again, too.
func (f *Frontier) followExclusions() {
	tick := time.NewTicker(exclusionsEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if _, err := f.loadExclusions(context.Background()); err != nil {
				f.opt.Logger.Warn("cannot follow the exclusions; those read before stay in force", "error", err)
			}
			f.groups.reset()
		case <-f.closing:
			return
		}
	}
}

// Exclude adds rules by which URLs are excluded from a crawl ("" is that of [Options.Crawl], "*" all): durably, and from
// the next call on. They are those of [canon.URLSet], or hashed URIs of variant N; URLs are compared in canonical form, those of exact crawls and
// of profiles whose forms are no URLs in that of canon.Qiita. It
// returns how many were not there yet. Queued URLs that become excluded are forgotten, in the background; each of them
// before it would be handed out.
//
// The error is store.ErrInvalid for a rule that cannot be read or kept, and for more than 10,000 rules in all: then
// none was added. A frontier on a shared store heeds the rules of others within 5 s. What it takes and queues until then is forgotten
// soon after.
func (f *Frontier) Exclude(ctx context.Context, crawl string, rules ...string) (added int, err error) {
	return f.changeExclusions(ctx, crawl, rules, true)
}

// Include takes rules back, and returns how many. The error is store.ErrNotFound if there is no such rule: then none was
// taken back. URLs that were forgotten are new when they are offered again.
func (f *Frontier) Include(ctx context.Context, crawl string, rules ...string) (removed int, err error) {
	return f.changeExclusions(ctx, crawl, rules, false)
}

func (f *Frontier) changeExclusions(ctx context.Context, crawl string, rules []string, add bool) (changed int, err error) {
	if err := f.enter(); err != nil {
		return 0, err
	}
	defer f.leave()
	c, err := f.crawlOrAll(ctx, crawl)
	if err != nil {
		return 0, err
	}
	f.exclusions.changing.Lock()
	defer f.exclusions.changing.Unlock()
	have, unforgotten, err := storedRules(ctx, f.store) // also those of other frontiers
	if err == nil {
		err = f.setExclusions(maps.Clone(have))
	}
	if err != nil {
		return 0, err
	}
	if rules, err = checkRules(c.name, have, rules, add); err != nil {
		return 0, err
	}
	if add && (len(rules) > 0 || slices.Contains(unforgotten, c.name)) { // a call that failed may have left some
		defer f.purges.add(f, queueName{c.name, ""}) // also if this one fails: some rules may be kept by then
	}
	if len(rules) == 0 {
		return 0, nil
	}
	if add {
		if err := setForgetting(ctx, f.store, c.name, true); err != nil {
			return 0, err
		}
	}
	err = keepRules(ctx, f.store, c.name, rules, add)
	_, errRead := f.readExclusions(context.WithoutCancel(ctx)) // the rules are durable, or some of them, and must hold here too
	if err = errors.Join(err, errRead); err != nil {
		return 0, err
	}
	return len(rules), nil
}

// forgetRules removes the rules, the order and the mark of a crawl, or of all crawls for "*".
func (f *Frontier) forgetRules(ctx context.Context, crawl string) error {
	f.exclusions.changing.Lock()
	defer f.exclusions.changing.Unlock()
	rules, unforgotten, err := storedRules(ctx, f.store)
	for of, list := range rules {
		if err == nil && (crawl == "*" || of == crawl) {
			err = keepRules(ctx, f.store, of, list, false)
		}
	}
	for _, of := range unforgotten {
		if err == nil && (crawl == "*" || of == crawl) {
			err = setForgetting(ctx, f.store, of, false)
		}
	}
	_, errRead := f.readExclusions(context.WithoutCancel(ctx)) // what was taken back must not hold here
	return errors.Join(err, errRead)
}

// keepRules records whether rules are in force, many at the same time: their steps share the syncs of the disk.
func keepRules(ctx context.Context, s store.Store, crawl string, rules []string, is bool) error {
	return each(ctx, rules, func(ctx context.Context, rule string) error {
		if err := s.Configure(ctx, OwnCrawl, ruleKey(crawl, rule), store.QueueChange{Paused: &is}); err != nil {
			return fmt.Errorf("cannot change exclusion %q: %w", rule, err)
		}
		return nil
	})
}

// checkRules returns those of the rules that adding them to a crawl, or taking them back, would change, trimmed and without repeats; all
// are the present rules by crawl. The error is store.ErrInvalid for rules that cannot be
// kept, or by which a crawl comes to exclude every URL, and ErrNotFound for one that is to be taken back and is not there.
func checkRules(crawl string, all map[string][]string, rules []string, add bool) (changed []string, err error) {
	have := all[crawl]
	for _, rule := range rules {
		switch rule = strings.TrimSpace(rule); {
		case !add && !slices.Contains(have, rule):
			return nil, fault.As(store.ErrNotFound, "cannot take back exclusion %.200q of crawl %q: there is no such rule", rule, crawl)
		case add && (len(ruleKey(crawl, rule)) > store.MaxQueueKey || strings.ContainsRune(rule, 0)):
			return nil, fault.As(store.ErrInvalid, "cannot exclude by %.200q: a rule has at most %d bytes", rule, store.MaxQueueKey-len(ruleKey(crawl, "")))
		case slices.Contains(have, rule) != add && !slices.Contains(changed, rule):
			changed = append(changed, rule)
		}
	}
	left := slices.DeleteFunc(slices.Clone(have), func(r string) bool { return slices.Contains(changed, r) })
	if add {
		if _, err := newRuleSet(slices.Clone(changed)); err != nil {
			return nil, fault.As(store.ErrInvalid, "cannot exclude: %w", err)
		}
		n := 0
		for _, list := range all {
			n += len(list)
		}
		if n+len(changed) > maxExclusions {
			return nil, fault.As(store.ErrInvalid, "cannot exclude by %d more rules: there are %d of %d; put long lists into a file of hashed URIs",
				len(changed), n, maxExclusions)
		}
		left = slices.Concat(have, changed)
	}
	if s, _, err := readableRules(slices.Clone(have)); err == nil && s.check() != nil { // it does so already
		return changed, nil
	}
	is, _, err := readableRules(left)
	if err == nil {
		err = is.check()
	}
	if err != nil {
		return nil, fault.As(store.ErrInvalid, "cannot change what is excluded: %w", err)
	}
	return changed, nil
}

// Exclusions lists the rules in force in a crawl ("" is that of [Options.Crawl]), with those of all crawls, or with "*" all
// rules.
func (f *Frontier) Exclusions(crawl string) []Exclusion {
	if crawl != "*" {
		crawl = f.named(crawl)
	}
	sets := *f.exclusions.sets.Load()
	counts := f.refused.byRule()
	var list []Exclusion
	for _, of := range slices.Sorted(maps.Keys(sets)) {
		if crawl != "*" && of != "*" && of != crawl {
			continue
		}
		for _, rule := range sets[of].rules {
			if rule == depthFirst {
				continue
			}
			x := Exclusion{Crawl: of, Rule: rule}
			for _, r := range counts[rule] {
				if of != "*" && r.Crawl != of || crawl != "*" && r.Crawl != crawl {
					continue
				}
				if r.Dropped {
					x.Forgotten += r.Count
				} else {
					x.Refused += r.Count
				}
				x.Examples = append(x.Examples, r.Examples...)
			}
			x.Examples = x.Examples[max(len(x.Examples)-maxExamples, 0):]
			list = append(list, x)
		}
	}
	slices.SortStableFunc(list, func(a, b Exclusion) int { return cmp.Compare(a.Crawl, b.Crawl) })
	return list
}
