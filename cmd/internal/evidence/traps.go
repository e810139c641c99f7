package evidence

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"iter"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/internal/zerocopy"
	"github.com/firstseen/firstseen/store/captures"
)

// Traps by yield: path templates whose fetches bring nothing new. URLs of such a template are queued with a
// lower priority. URLs that were queued before go back with it, once, when their turn comes. Nothing is dropped.
//
// A template is the shape of a canonical URL ([AppendShape]), up to 256 bytes. A fetch counts if its status is 2xx or none. It brings
// nothing new if
//
//   - another URL of the host brought the same digest before, or
//   - it declares a canonical link with its own path, on its own host, and another URL has that
//     canonical form or declared it before. A link to another path counts for nothing: sites
//     that name their home page everywhere are common; or
//   - its masked digest (declared.Masked) is the one that most fetches of the template brought. That another URL
//     brought it is not enough: the temperatures of days have 40 values, and are no trap.
//
// A second fetch of one URL does not count. A fetch counts for its template, and for the groups that
// the template is in: those of its path with one of its parameters, with any, and those below each
// of its directories. The name of a group ends in {rest}.
//
//	shop.example/list?color&size      a template
//	shop.example/list?size&{rest}     its path with this parameter and others
//	shop.example/list?{rest}          its path with any parameters
//	shop.example/s/{hash}/{rest}      what is below a directory
//
// Each has a score from -8 to 12, which is 0 at first. Nothing new adds 1, new content takes away 8.
// At 8 the template or the group is lowered, and below 0 it is raised again. Four kinds need less:
//
//   - Below a directory that looks like an ID (a hash or a UUID), as sites have it that put sessions
//     into paths, 3 suffice.
//   - If one masked digest leads by 8 fetches, new content takes away 3: a calendar has events on some days.
//   - If all URLs have two or more parameters, nothing new adds 2 and new content takes away 1, with a
//     score from -8 to 40: lowered at 32. So one known content in 3 fetches keeps it where it is.
//   - If the queries of the path have 6 or more sets of parameters, of fewer names than sets, as facets combine them, known content
//     adds 8: lowered at 12. So one known content in 9 fetches keeps it where it is. Without the
//     condition on names, a shop whose categories have a parameter each would be taken for one.
//
// URLs of a group that is lowered have a lower priority, also if their template was never fetched,
// unless a smaller group brings new content. They are still fetched when nothing else of their
// queue is due. An operator can lift the rule from a template or a group until the process ends.
//
// A kind of pages that all ask robots to leave them alone is lowered as well. With LeaveOutTraps it is excluded, since a crawl that goes on
// until its queues are empty saves nothing by fetching it last. The kinds are those of declared.Unlisted. To count such a page as one that
// brings nothing new was tried, and delayed the articles of a wiki: they share a directory with its special pages, and a template with its forms.
//
// The lowest priority, 0, is reserved for lowered URLs: frontier.Options.Lower queues all others
// with at least 1. The alternative, to store all priorities one higher, would have to translate
// them in every call that reads or writes one. URLs that were queued with priority 0 before
// count as lowered, so the mode is best switched on with the crawl.
//
// The state is in memory only, and is learned again after a restart: 4 MiB for 262,144 contents,
// two or three for each fetched URL, and up to 2.7 MiB for 8,192 templates and groups; 7 MiB for kinds. The oldest
// content of four that share a place is evicted; its next fetch counts as new. Of eight templates that
// share a place, the one with the fewest fetches is evicted.
//
// What it cannot find: traps whose every page differs in more than its URL tells. To links, a calendar is an archive of many pages:
// fetches of both lead to nothing but more of their directory (TestLinksOfCalendars). Pages that only sort
// differently differ as well: without canonical links, facets are found by those
// listings that show at most one product.
// Sites with a session ID in every URL have one template for the trap and the real pages.
// TestShareOfTraps prints what share of fetches goes to traps, and what share would if an oracle knew
// each URL of a trap.
// A site that declares page 1 as the canonical link of each page of a list, by a parameter, has
// these pages fetched late. So has one whose pages have two parameters, if a fifth are copies (TestCopiesOfCombinations).

const (
	maxTemplate = 256
	maxBuffer   = 4096 // bytes of a template that are kept for the next

	contentSets  = 1 << 16
	contentWays  = 4
	templateSets = 1 << 10
	templateWays = 8
)

// traps are the contents and the templates that were seen. The zero value is empty. Evidence.mu is held.
type traps struct {
	contents  [][contentWays]struct{ content, key uint64 } // the first URL of each content; made by the first fetch
	templates [templateSets]struct {
		// The hashes of a set share a cache line. Names are equal if their hashes are: with 8,192 names, two differ
		// with equal hashes in one of 5e11 tables.
		hashes  [templateWays]uint64
		entries [templateWays]template // one without a name is free
	}
	scratch []byte
	name    []byte // the template of the URL that is judged
}

// template is a path template or a group of them.
type template struct {
	wire.Trap
	score   int8
	common  uint32             // of the masked digests that its fetches brought, the most common of the latest, as a hash
	lead    uint8              // by how many it leads
	queries [facetsFrom]uint16 // of the group of a path with any parameters: hashes of its first templates
	names   uint64             // and of the names of their parameters: a bit each
}

// limits are how the score of a template changes, which is 0 at first. It rises on average if more than 89 % of the fetches
// bring nothing new, or 33 % for combinations of parameters. Of facets 11 % suffice: most of their listings differ in
// their order, so that only the short ones are equal.
type limits struct {
	known, new, lowest, lowered, highest int8
}

var (
	ordinary  = limits{known: 1, new: 8, lowest: -8, lowered: 8, highest: 12}
	ofID      = limits{known: 1, new: 8, lowest: -8, lowered: 3, highest: 12}  // below a directory that looks like an ID
	ofSeveral = limits{known: 2, new: 1, lowest: -8, lowered: 32, highest: 40} // all URLs have several parameters
	ofFacets  = limits{known: 8, new: 1, lowest: -8, lowered: 12, highest: 48} // and the path has as many sets of them as facets
)

// facetsFrom is how many different sets of parameters make the queries of a path facets, if they have fewer names: facets are combined.
const facetsFrom = 6

const halveAt = 64 // fetches: the counts that are shown are those of the latest

func limitsOf(name []byte, facets bool) *limits {
	_, query, _ := bytes.Cut(name, []byte{'?'})
	switch several := bytes.IndexByte(query, '&') >= 0; {
	case several && facets:
		return &ofFacets
	case several:
		return &ofSeveral
	case bytes.Contains(name, []byte("/{hash}/")) || bytes.Contains(name, []byte("/{uuid}/")):
		return &ofID
	}
	return &ordinary
}

// A masked digest leads a template if it was brought more often than all others together, by so many. Then a fetch that
// brings another takes away less: a calendar has events on some days.
const (
	leads       = 8
	mostLead    = 16
	newAmongOne = 3
)

// countFetch counts a fetch for its template and its groups. link is the canonical form of its canonical link, or its own.
func (e *Evidence) countFetch(form, link string, f *captures.Capture) {
	host, name := e.split(form)
	if host == nil || len(name) > maxTemplate {
		return
	}
	key := maphash.String(e.seed, form)
	own := e.bring(e.hash(host, 'p', form), key, true)
	if own == again {
		return
	}
	isKnown := own == known
	if link != form {
		isKnown = e.bring(e.hash(host, 'p', link), key, false) == known || isKnown
	}
	if f.Digest != "" {
		isKnown = e.bring(e.hash(host, 'd', f.Digest), key, false) == known || isKnown
	}
	masked := uint32(0)
	if f.Masked != "" {
		masked = uint32(e.hash(host, 'm', f.Masked)) | 1
	}
	facets := e.isFacet(name)
	for group := range e.groups(name) {
		e.count(group, isKnown, facets, masked)
	}
}

// split returns the host of a canonical form, nil if it has none, and its template. They are good until the next call.
func (e *Evidence) split(form string) (host, name []byte) {
	t, url := &e.traps, zerocopy.Bytes(form)
	if cap(t.name) > maxBuffer {
		t.name = nil
	}
	host = canon.Host(url)
	t.name = AppendShape(t.name[:0], url, host)
	return host, t.name
}

// samePath reports whether two canonical forms differ in their queries only.
func samePath(a, b string) bool {
	pathA, _, _ := strings.Cut(a, "?")
	pathB, _, _ := strings.Cut(b, "?")
	return pathA == pathB
}

// hash returns what stands for a page or a digest of a host, which has no space in it.
func (e *Evidence) hash(host []byte, kind byte, value string) uint64 {
	e.traps.scratch = append(append(append(e.traps.scratch[:0], host...), ' ', kind), value...)
	return maphash.Bytes(e.seed, e.traps.scratch)
}

// brought is what a fetch was to its content.
type brought uint8

const (
	first brought = iota // no other URL brought it
	again                // this URL brought it before
	known                // another URL did
)

// bring notes that a URL brought a content. With own set, the content becomes its own, so that
// the next fetch of the URL is recognized.
func (e *Evidence) bring(content, key uint64, own bool) brought {
	t := &e.traps
	if t.contents == nil {
		t.contents = make([][contentWays]struct{ content, key uint64 }, contentSets)
	}
	set := &t.contents[content%contentSets]
	for i := range set {
		if set[i].content == content && set[i].key == key {
			return again
		}
		if set[i].content == content {
			if own {
				set[i].key = key
			}
			return known
		}
	}
	copy(set[1:], set[:]) // the last is the oldest
	set[0].content, set[0].key = content, key
	return first
}

// rest ends the name of a group. A canonical URL has no raw braces, so no template is named like one.
const rest = "{rest}"

// maxGroups bounds the parameters, and the directories, that a template is counted for.
const maxGroups = 8

// groups yields a template and the groups that it belongs to, the smallest first: the URLs of its path
// with one of its parameters, those with any, and those below each of its directories. The whole host
// is no group: lowering it would change nothing. A name is good until the next.
func (e *Evidence) groups(template []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if !yield(template) {
			return
		}
		named := func(path []byte, mark byte, param []byte, end string) bool {
			e.traps.scratch = append(append(append(append(e.traps.scratch[:0], path...), mark), param...), end...)
			return yield(e.traps.scratch)
		}
		path, query, hasQuery := bytes.Cut(template, []byte{'?'})
		if bytes.IndexByte(query, '&') >= 0 {
			i := 0
			for param := range bytes.SplitSeq(query, []byte{'&'}) {
				if i++; i > maxGroups {
					break
				}
				if !named(path, '?', param, "&"+rest) {
					return
				}
			}
		}
		if hasQuery && !named(path, '?', nil, rest) {
			return
		}
		host := bytes.IndexByte(path, '/')
		for range maxGroups {
			end := bytes.LastIndexByte(path, '/')
			if end <= host || !named(path[:end], '/', nil, rest) {
				return
			}
			path = path[:end]
		}
	}
}

// byParameter reports whether a group is that of one parameter. A URL is in several of them, none
// of which is smaller than the others.
func byParameter(name []byte) bool { return bytes.HasSuffix(name, []byte("&"+rest)) }

// find returns the template or group of a name, nil if it is not in the table, and the hash of the name.
func (e *Evidence) find(name []byte) (*template, uint64) {
	hash := maphash.Bytes(e.seed, name)
	set := &e.traps.templates[hash%templateSets]
	for i := range set.hashes {
		if set.hashes[i] == hash && set.entries[i].Template != "" {
			return &set.entries[i], hash
		}
	}
	return nil, hash
}

// isFacet notes a template, and reports whether the queries of its path are facets. What it notes is kept by the group of the
// path with any parameters, which the first fetch adds.
func (e *Evidence) isFacet(name []byte) bool {
	path, query, ok := bytes.Cut(name, []byte{'?'})
	if !ok {
		return false
	}
	e.traps.scratch = append(append(append(e.traps.scratch[:0], path...), '?'), rest...)
	group, _ := e.find(e.traps.scratch)
	if group == nil {
		return false
	}
	hash := uint16(maphash.Bytes(e.seed, name)>>48) | 1 // 0 is free
	for i := range group.queries {
		if group.queries[i] == 0 {
			group.queries[i] = hash
			for param := range bytes.SplitSeq(query, []byte{'&'}) {
				group.names |= 1 << (maphash.Bytes(e.seed, param) % 64)
			}
		}
		if group.queries[i] == hash {
			break
		}
	}
	return group.queries[facetsFrom-1] != 0 && bits.OnesCount64(group.names) < facetsFrom
}

// count counts a fetch of a template or a group, and decides whether it is lowered.
func (e *Evidence) count(name []byte, known, facets bool, masked uint32) {
	t, hash := e.find(name)
	if t == nil {
		t = e.evict(hash)
		if t.Lowered {
			e.lowered.Add(-1)
		}
		*t = template{Trap: wire.Trap{Template: string(name)}}
	}
	if t.Fetches == halveAt {
		t.Fetches, t.Known = t.Fetches/2, t.Known/2
	}
	t.Fetches++
	is, less := limitsOf(name, facets), int8(math.MaxInt8)
	switch { // the most common is found by majority vote: no table of all is needed
	case masked == 0:
	case masked == t.common:
		known, t.lead = true, min(t.lead+1, mostLead)
	case t.lead == 0:
		t.common, t.lead = masked, 1
	default:
		if t.lead >= leads {
			less = newAmongOne
		}
		t.lead--
	}
	if known {
		t.Known++
		t.score = min(t.score+is.known, is.highest)
	} else {
		t.score = max(t.score-min(is.new, less), is.lowest)
	}
	switch {
	case !t.Lowered && t.score >= is.lowered:
		t.Lowered = true
		e.lowered.Add(1)
	case t.Lowered && t.score < 0:
		t.Lowered = false
		e.lowered.Add(-1)
	}
}

// evict returns the place of a set with the fewest fetches, for another name. Those that an operator lifted are
// evicted last.
func (e *Evidence) evict(hash uint64) *template {
	set, least := &e.traps.templates[hash%templateSets], 0
	for i := range set.entries {
		if t, l := &set.entries[i], &set.entries[least]; t.Lifted == l.Lifted && t.Fetches < l.Fetches || !t.Lifted && l.Lifted {
			least = i
		}
	}
	set.hashes[least] = hash
	return &set.entries[least]
}

// Lower reports whether a URL is queued behind the others, by its canonical form, or goes back behind
// them if it is queued already. It is frontier.Options.Lower. CountTraps counts no queued URL: it would
// count those twice that were counted when they were offered.
func (e *Evidence) Lower(canonical string, queued bool) bool {
	shadow := e.opt.Traps == CountTraps
	if e.opt.Traps == IgnoreTraps || queued && shadow {
		return false
	}
	asks := e.asks.Load() && e.unlisted.Exclude(canonical)
	if !asks && e.lowered.Load() == 0 {
		return false
	}
	if of, _ := e.Of(canonical); of.Lifted || !asks && !of.Lowered {
		return false
	}
	e.urls.Add(1)
	return !shadow
}

// Exclude reports whether a URL is left out, by its canonical form: it is of a kind whose pages all asked robots neither to index them nor
// to follow their links (declared.Unlisted), and no operator lifted a template or group of it. It is for frontier.Options.Exclude.
func (e *Evidence) Exclude(canonical string) bool {
	if e.opt.Traps != LeaveOutTraps || !e.asks.Load() || !e.unlisted.Exclude(canonical) {
		return false
	}
	of, _ := e.Of(canonical)
	return !of.Lifted
}

// Of returns what decides about a canonical form: a group of it that an operator lifted, else the
// smallest that is lowered, unless a smaller one brings new content. If none decides, it returns
// the smallest whose fetches were counted; ok is false if there is none.
func (e *Evidence) Of(canonical string) (of wire.Trap, ok bool) {
	if e.opt.Traps == IgnoreTraps {
		return of, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_, name := e.split(canonical)
	decided := false
	for group := range e.groups(name) {
		t, _ := e.find(group)
		if t == nil {
			continue
		}
		if t.Lifted {
			return t.Trap, true
		}
		if !ok || t.Lowered && !decided {
			of, ok = t.Trap, true
		}
		decided = decided || t.Lowered || t.score < 0 && !byParameter(group)
	}
	return of, ok
}

// List returns the templates and groups that are lowered or lifted, by name.
func (e *Evidence) List() []wire.Trap {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := []wire.Trap{}
	for i := range e.traps.templates {
		for _, t := range e.traps.templates[i].entries {
			if t.Lowered || t.Lifted {
				list = append(list, t.Trap)
			}
		}
	}
	slices.SortFunc(list, func(a, b wire.Trap) int { return cmp.Compare(a.Template, b.Template) })
	return list
}

// Lift keeps a template, or all templates of a group, from being lowered, or with lifted false lets
// their fetches decide again. It reports whether the name is in the table.
func (e *Evidence) Lift(name string, lifted bool) (of wire.Trap, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t, _ := e.find([]byte(name))
	if t == nil {
		return wire.Trap{}, false
	}
	t.Lifted = lifted
	return t.Trap, true
}
