package audit

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/frontier/declared"
)

// declaration is what the fetches of one URL declared.
type declaration struct {
	canonical uint32 // number of the URL named plus one; 0: none
	search    uint32 // place in declarations.searches plus one; 0: none
	wavers    bool   // two fetches named different URLs
}

// declarations are what sites declare of their URLs.
type declarations struct {
	of       map[uint32]declaration // by URL
	searches []declared.Search
	known    map[string]uint32                // of fields: places in searches, plus one; 0 for none
	clean    map[string][]declared.CleanParam // by host
}

func newDeclarations() declarations {
	return declarations{of: map[uint32]declaration{}, known: map[string]uint32{}, clean: map[string][]declared.CleanParam{}}
}

func (d *declarations) none() bool { return len(d.of) == 0 && len(d.clean) == 0 }

// addDeclared notes what a fetch of a URL declared. What can't be parsed says nothing.
func (l *Log) addDeclared(id uint32, c *Capture) error {
	if c.Canonical == "" && c.NoVarySearch == "" && c.CleanParam == "" {
		return nil
	}
	d := l.declared.of[id]
	if c.Canonical != "" {
		target, err := l.urls.add(c.Canonical)
		if err != nil {
			return err
		}
		d.wavers = d.wavers || d.canonical != 0 && d.canonical != target+1
		d.canonical = target + 1
	}
	if search := l.declared.search(c.NoVarySearch); search != 0 {
		d.search = search
	}
	if d != (declaration{}) {
		l.declared.of[id] = d
	}
	if declared.IsRobots(c.URL) && c.CleanParam != "" {
		host := hostName(bytes.ToLower(canon.Host([]byte(c.URL))))
		l.declared.clean[host], _ = declared.ParseCleanParams(c.CleanParam) // the latest replaces the others
	}
	return nil
}

// search returns the place of a No-Vary-Search field plus one, or 0 if it says nothing. A site sends one field with all
// its responses: it is parsed once.
func (d *declarations) search(field string) uint32 {
	if field == "" {
		return 0
	}
	n, known := d.known[field]
	if !known {
		if s, err := declared.ParseNoVarySearch(field); err == nil && !s.IsDefault() {
			d.searches = append(d.searches, s)
			n = uint32(len(d.searches))
		}
		d.known[field] = n
	}
	return n
}

// Sources of a claim.
const (
	byCanonical = 1 << iota
	byNoVarySearch
	byCleanParam

	byAnything = byCanonical | byNoVarySearch | byCleanParam
)

func sourceNames(by int) (names []string) {
	for i, name := range []string{"rel=canonical", "No-Vary-Search", "Clean-param"} {
		if by>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return names
}

// Declared is what the site itself says of a proposal.
type Declared struct {
	Learned   int      `json:"learned"`   // pages of one half that declare it
	Validated int      `json:"validated"` // pages of the other half
	Against   int      `json:"against"`   // pages that declare the contrary
	Covered   int      `json:"covered"`   // pages of the whole host that one Clean-param rule speaks of; 0: none
	By        []string `json:"by"`        // in which ways
}

// claims are what declarations say of one rule at one place. However many URLs of a page
// declare something, the page counts once.
type claims struct {
	pages   map[uint64]struct{}
	against map[uint64]struct{}
	by      int
	example [2]string
	rule    *statement // nil if no Clean-param rule covers the place
}

func newClaims() *claims {
	return &claims{pages: map[uint64]struct{}{}, against: map[uint64]struct{}{}}
}

// declare counts the pages that declare the rule, by half.
func (c *claims) declare() (n [2]int) {
	for page := range c.pages {
		n[page&1]++
	}
	return n
}

// statement is what all places of a host show of one Clean-param rule and parameter. It is made once
// for all that the rule covers, so what one place shows is evidence for the others.
type statement struct {
	pages  [2]int // by half
	alike  Evidence
	denied bool // a place declares the contrary
}

// state adds what one place shows.
func (s *statement) state(c *claims, halves [2]evidence) {
	all, n := halves[0].plus(halves[1]), c.declare()
	s.pages[0], s.pages[1] = s.pages[0]+n[0], s.pages[1]+n[1]
	s.alike.Pairs, s.alike.Held = s.alike.Pairs+all.alike.Pairs, s.alike.Held+all.alike.Held
	s.denied = s.denied || len(c.against) > 0
}

func (c *claims) add(page uint64, by int, url, same string) {
	c.pages[page] = struct{}{}
	c.by |= by
	if c.example[0] == "" || cmp.Or(len(url)-len(c.example[0]), strings.Compare(url, c.example[0])) < 0 {
		c.example = [2]string{url, same}
	}
}

func (c *claims) deny(page uint64) { c.against[page] = struct{}{} }

// summary is nil if nothing is declared.
func (c *claims) summary() *Declared {
	if c == nil || len(c.pages)+len(c.against) == 0 {
		return nil
	}
	n := c.declare()
	d := &Declared{Learned: n[0], Validated: n[1], Against: len(c.against), By: sourceNames(c.by)}
	if c.rule != nil {
		d.Covered = c.rule.pages[0] + c.rule.pages[1]
	}
	return d
}

// claim finds or makes the claims of a place.
func (l *learner) claim(p place) *claims { return findOrMake(l.claims, p, newClaims) }

// findOrMake returns the value of a key, which may be new.
func findOrMake[K comparable, V any](m map[K]V, key K, make func() V) V {
	v, known := m[key]
	if !known {
		v = make()
		m[key] = v
	}
	return v
}

// hear notes what the declarations of a captured URL say of its parameters.
func (l *learner) hear(id uint32) {
	d, rules := l.declared.of[id], l.declared.clean
	if d == (declaration{}) && len(rules) == 0 {
		return
	}
	v, _ := l.variant(id)
	if len(v.pairs) == 0 {
		return
	}
	url := string(l.urls.at(id))
	if d.canonical != 0 {
		l.hearCanonical(&v, url, d)
	}
	if d.search != 0 {
		s := &l.declared.searches[d.search-1]
		l.hearIgnored(&v, url, byNoVarySearch, s.Ignores)
		for _, name := range v.names() {
			if s.Names(name) {
				l.claim(v.place(name)).deny(without(v.front, v.pairs, []byte(name)))
			}
		}
	}
	if rules := rules[v.host]; len(rules) > 0 {
		_, rest, _ := strings.Cut(string(v.form), "://")
		path := rest[strings.IndexByte(rest, '/'):]
		l.hearIgnored(&v, url, byCleanParam, func(name string) bool { return ruleAt(rules, name, path) >= 0 })
		for _, name := range v.names() {
			if i := ruleAt(rules, name, path); i >= 0 {
				of := place{v.host, rules[i].String(), name}
				l.claim(v.place(name)).rule = findOrMake(l.statements, of, func() *statement { return &statement{} })
			}
		}
	}
}

// ruleAt returns the rule with the shortest path that names a parameter at a path, or -1 if none does.
func ruleAt(rules []declared.CleanParam, name, path string) int {
	at := -1
	for i, r := range rules {
		if r.Names(name) && r.Covers(path) && (at < 0 || len(r.Path) < len(rules[at].Path)) {
			at = i
		}
	}
	return at
}

// hearCanonical takes a canonical link that names the URL without some of its parameters as
// a word for dropping these, and against dropping the others. Any other says nothing.
func (l *learner) hearCanonical(v *variant, url string, d declaration) {
	link, ok := l.variant(d.canonical - 1)
	if !ok || !bytes.Equal(link.front, v.front) {
		return
	}
	for _, pair := range link.pairs {
		if !slices.ContainsFunc(v.pairs, func(p []byte) bool { return bytes.Equal(p, pair) }) {
			return
		}
	}
	page := without(link.front, link.pairs, nil)
	for _, name := range v.names() {
		c := l.claim(v.place(name))
		named := slices.ContainsFunc(link.pairs, func(p []byte) bool { return sameName(p, []byte(name)) })
		if named || d.wavers {
			c.deny(page)
			continue
		}
		c.add(page, byCanonical, url, string(l.urls.at(d.canonical-1)))
	}
}

// hearIgnored notes the parameters that the site says to ignore.
func (l *learner) hearIgnored(v *variant, url string, by int, ignored func(name string) bool) {
	var rest [][]byte
	for _, pair := range v.pairs {
		if name, _, _ := bytes.Cut(pair, []byte{'='}); len(name) > 0 && !ignored(string(name)) {
			rest = append(rest, pair)
		}
	}
	if len(rest) == len(v.pairs) {
		return
	}
	page := without(v.front, rest, nil)
	same := string(v.front)
	if len(rest) > 0 {
		same += "?" + string(bytes.Join(rest, []byte{'&'}))
	}
	for _, name := range v.names() {
		if ignored(name) {
			l.claim(v.place(name)).add(page, by, url, same)
		}
	}
}

// leastAlike is the least share of contents that must be equal, whatever the control says,
// where a rule rests on declarations.
const leastAlike = 0.9

// doubtDeclared returns the reason why declarations don't suffice to propose a rule, or "". The
// contents that there are must not speak against it, however few they are. Where a place shows too
// little of a Clean-param rule, and nothing against it, all places of the rule decide.
func doubtDeclared(c *claims, content evidence) string {
	if c == nil || len(c.pages) == 0 {
		return "nothing is declared"
	}
	switch {
	case len(c.against) > 0:
		return countPages(len(c.pages)) + " declare it, " + countPages(len(c.against)) + " the contrary"
	case content.loses():
		return countPages(len(c.pages)) + " declare it, but " + countPages(content.lost) + " are missing under one name"
	case content.bad > 0 && content.share() < minShare:
		return countPages(len(c.pages)) + " declare it, but the contents differ: " + ofContents(content.Evidence) + fmt.Sprintf(" are one page; want %g %%", 100*minShare)
	}
	why := doubtPages(c.declare(), content.alike)
	if why == "" || c.rule == nil || c.rule.denied || surelyDiffer(content.alike) {
		return why
	}
	return doubtPages(c.rule.pages, c.rule.alike)
}

func doubtPages(n [2]int, alike Evidence) string {
	all := float64(n[0] + n[1])
	switch {
	case float64(alike.Held) < leastAlike*float64(alike.Pairs):
		return countPages(n[0]+n[1]) + " declare it, but the contents differ: " + ofContents(alike) + fmt.Sprintf(" are equal; want %g %%", 100*leastAlike)
	case min(n[0], n[1]) < minPairs || Wilson(all, all, 0.95).Low < leastSure:
		return fmt.Sprintf("too few pages declare it: %d to learn from and %d to validate on; want %d of each, and 35 in all", n[0], n[1], minPairs)
	}
	return ""
}

// surelyDiffer reports whether fewer contents are equal than chance explains, if leastAlike are.
func surelyDiffer(alike Evidence) bool {
	return alike.Pairs > 0 && Wilson(float64(alike.Held), float64(alike.Pairs), 0.95).High < leastAlike
}

func countPages(n int) string {
	if n == 1 {
		return "1 page"
	}
	return fmt.Sprintf("%d pages", n)
}

func ofContents(e Evidence) string { return fmt.Sprintf("%d of %d", e.Held, e.Pairs) }
