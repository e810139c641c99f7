package yield

import "github.com/firstseen/firstseen/internal/wire"

const (
	contentSets  = 1 << 16
	contentWays  = 4
	templateSets = 1 << 9
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

// templates is a table of fixed size. An entry without a name is free.
type templates [templateSets][templateWays]wire.Trap

func (t *templates) find(place uint64, name string) *wire.Trap {
	set := &t[place%templateSets]
	for i := range set {
		if set[i].Template == name && name != "" {
			return &set[i]
		}
	}
	return nil
}

// count counts a fetch of a template, and returns the change in the number of lowered templates.
func (t *templates) count(place uint64, name string, known bool) (change int64) {
	e := t.find(place, name)
	if e == nil {
		e = t.evict(place)
		if e.Lowered {
			change--
		}
		*e = wire.Trap{Template: name}
	}
	if e.Fetches == halveAt {
		e.Fetches, e.Known = e.Fetches/2, e.Known/2
	}
	e.Fetches++
	if known {
		e.Known++
	}
	switch {
	case !e.Lowered && e.Fetches >= minFetches && e.Known*100 >= e.Fetches*lowerAt:
		e.Lowered = true
		change++
	case e.Lowered && e.Known*100 < e.Fetches*raiseBelow:
		e.Lowered = false
		change--
	}
	return change
}

// evict returns the entry of a set with the fewest fetches. Those that an operator lifted are
// evicted last.
func (t *templates) evict(place uint64) *wire.Trap {
	set := &t[place%templateSets]
	least := &set[0]
	for i := range set {
		if e := &set[i]; e.Lifted == least.Lifted && e.Fetches < least.Fetches || !e.Lifted && least.Lifted {
			least = e
		}
	}
	return least
}
