package yield

import "github.com/firstseen/firstseen/internal/wire"

const (
	contentSets  = 1 << 16
	contentWays  = 4
	templateSets = 1 << 10
	templateWays = 8
)

// brought is what a fetch was to its content.
type brought uint8

const (
	first brought = iota // no other URL brought it
	again                // this URL brought it before
	known                // another URL did
)

// contents has the first URL of each content, in a table of fixed size. The zero value is empty.
type contents struct {
	sets [][contentWays]struct{ content, key uint64 }
}

// bring notes that a URL brought a content. With own set, the content becomes its own, so that
// the next fetch of the URL is recognized.
func (c *contents) bring(content, key uint64, own bool) brought {
	if c.sets == nil {
		c.sets = make([][contentWays]struct{ content, key uint64 }, contentSets)
	}
	set := &c.sets[content%contentSets]
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

// limits are how the score of a template changes, which is 0 at first.
type limits struct {
	known, new, lowest, lowered, highest int8
}

// kind is what a score is limited by.
type kind uint8

const (
	ordinary  kind = iota
	ofID           // below a directory that looks like an ID
	ofSeveral      // all URLs have several parameters
	ofFacets       // and the path has as many sets of them as facets
)

// limitsOf are the limits by kind. A score rises on average if more than 89 % of the fetches bring known
// content, or 33 % for combinations of parameters. Of facets 11 % suffice: most of their listings
// differ in their order, so that only the short ones are equal.
var limitsOf = [...]limits{
	ordinary:  {known: 1, new: 8, lowest: -8, lowered: 8, highest: 12},
	ofID:      {known: 1, new: 8, lowest: -8, lowered: 3, highest: 12},
	ofSeveral: {known: 2, new: 1, lowest: -8, lowered: 32, highest: 40},
	ofFacets:  {known: 8, new: 1, lowest: -8, lowered: 18, highest: 48},
}

// kindOf returns the kind of a template or a group by its name.
func kindOf(name []byte) kind {
	switch {
	case combined(name):
		return ofSeveral
	case generated(name):
		return ofID
	}
	return ordinary
}

// facetsFrom is how many different sets of parameters make the queries of a path facets.
const facetsFrom = 6

const halveAt = 64 // fetches: the counts that are shown are those of the latest

// entry is a template or a group of templates.
type entry struct {
	wire.Trap
	score   int8
	kind    kind
	queries [facetsFrom]uint16 // of the group of a path with any parameters: hashes of its first templates
}

// templates is a table of fixed size. An entry without a name is free. The hashes of a set share a cache line. Names are
// equal if their hashes are: with 8,192 names, two differ with equal hashes in one of 5e11 tables.
type templates [templateSets]struct {
	hashes  [templateWays]uint64
	entries [templateWays]entry
}

func (t *templates) find(hash uint64) *entry {
	set := &t[hash%templateSets]
	for i := range set.hashes {
		if set.hashes[i] == hash && set.entries[i].Template != "" {
			return &set.entries[i]
		}
	}
	return nil
}

// facets notes a template of a path, and reports whether the queries of the path are facets. The group is that of
// the path with any parameters, which the first fetch adds.
func (t *templates) facets(group, template uint64) bool {
	e := t.find(group)
	if e == nil {
		return false
	}
	hash := uint16(template>>48) | 1 // 0 is free
	for i := range e.queries {
		if e.queries[i] == 0 {
			e.queries[i] = hash
		}
		if e.queries[i] == hash {
			break
		}
	}
	return e.queries[facetsFrom-1] != 0
}

// count counts a fetch of a template or a group, and returns the change in the number of lowered templates.
func (t *templates) count(hash uint64, name []byte, known, facets bool) (change int64) {
	e := t.find(hash)
	if e == nil {
		e = t.evict(hash)
		if e.Lowered {
			change--
		}
		*e = entry{Trap: wire.Trap{Template: string(name)}, kind: kindOf(name)}
	}
	if e.Fetches == halveAt {
		e.Fetches, e.Known = e.Fetches/2, e.Known/2
	}
	e.Fetches++
	is := &limitsOf[e.kind]
	if facets && e.kind == ofSeveral {
		is = &limitsOf[ofFacets]
	}
	if known {
		e.Known++
		e.score = min(e.score+is.known, is.highest)
	} else {
		e.score = max(e.score-is.new, is.lowest)
	}
	switch {
	case !e.Lowered && e.score >= is.lowered:
		e.Lowered = true
		change++
	case e.Lowered && e.score < 0:
		e.Lowered = false
		change--
	}
	return change
}

// evict returns the entry of a set with the fewest fetches, for another name. Those that an operator lifted are
// evicted last.
func (t *templates) evict(hash uint64) *entry {
	set, least := &t[hash%templateSets], 0
	for i := range set.entries {
		if e, l := &set.entries[i], &set.entries[least]; e.Lifted == l.Lifted && e.Fetches < l.Fetches || !e.Lifted && l.Lifted {
			least = i
		}
	}
	set.hashes[least] = hash
	return &set.entries[least]
}
