package replay

import (
	"bytes"
	"slices"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/zerocopy"
)

// A Pattern is what URLs of endless sites have in common: a trap, which is what
// [frontier.Traps] refuses, or a hint.
type Pattern struct {
	Name    string `json:"name"`
	Unique  int64  `json:"unique"`  // unique URLs that show it
	Example string `json:"example"` // the first of them
}

// patternSet is which of the patterns a URL shows: at most one trap, as a frontier names
// one reason, and any of the hints.
type patternSet uint8

const (
	calendar patternSet = 1 << (traps + iota)
	sessionID
	sortLink
	manyParameters
)

// patternNames are in the order of the bits; the first traps of them are reasons of a frontier.
var patternNames = []string{
	string(frontier.ReasonTooLong), string(frontier.ReasonPathDepth), string(frontier.ReasonRepeats),
	"calendar", "session id", "sort link", "10 parameters or more",
}

const traps = 3

// sessionNames and sortNames are names of parameters, in lower case.
var (
	sessionNames = [][]byte{[]byte("phpsessid="), []byte("jsessionid="), []byte("sid="), []byte("sessionid="), []byte("session_id="), []byte("cfid="), []byte("aspsessionid")}
	sortNames    = [][]byte{[]byte("sort="), []byte("order="), []byte("orderby="), []byte("sortby="), []byte("sort_by="), []byte("dir=asc"), []byte("dir=desc"), []byte("c=n;o="), []byte("c=m;o="), []byte("c=s;o="), []byte("c=d;o=")}
	calendarPart = [][]byte{[]byte("calendar"), []byte("month="), []byte("year="), []byte("date=")}
)

// patternsOf looks at a canonical form.
func patternsOf(form []byte, scratch []byte) (patternSet, []byte) {
	var s patternSet
	trap := (frontier.Traps{}).Check(zerocopy.String(form)) // which keeps nothing of it
	if i := slices.Index(patternNames[:traps], string(trap)); i >= 0 {
		s = 1 << i
	}
	scratch = append(scratch[:0], form...)
	lower := scratch
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c | 0x20
		}
	}
	path, query, _ := bytes.Cut(lower, []byte("?"))
	if hasPart(query, calendarPart) || bytes.Contains(path, []byte("/calendar/")) {
		s |= calendar
	}
	if hasParameter(query, sessionNames) || bytes.Contains(path, []byte(";jsessionid=")) {
		s |= sessionID
	}
	if hasParameter(query, sortNames) {
		s |= sortLink
	}
	if bytes.Count(query, []byte("&")) >= 9 {
		s |= manyParameters
	}
	return s, scratch
}

// hasParameter reports whether one of the names begins a parameter.
func hasParameter(query []byte, names [][]byte) bool {
	for len(query) > 0 {
		for _, name := range names {
			if bytes.HasPrefix(query, name) {
				return true
			}
		}
		i := bytes.IndexByte(query, '&')
		if i < 0 {
			return false
		}
		query = query[i+1:]
	}
	return false
}

func hasPart(query []byte, parts [][]byte) bool {
	for _, p := range parts {
		if bytes.Contains(query, p) {
			return true
		}
	}
	return false
}

// patternCounts counts the patterns of unique URLs.
type patternCounts [traps + 4]Pattern

// show keeps the first example of each pattern.
func (c *patternCounts) show(s patternSet, form []byte) {
	for i := range c {
		if s&(1<<i) != 0 && c[i].Example == "" {
			c[i].Example = excerpt(form)
		}
	}
}

func (c *patternCounts) add(s patternSet) {
	for i := range c {
		c[i].Unique += int64(s >> i & 1)
	}
}

// result returns the traps and the hints that were seen.
func (c *patternCounts) result() (trap, hint []Pattern) {
	for i, name := range patternNames {
		c[i].Name = name
	}
	unseen := func(p Pattern) bool { return p.Unique == 0 }
	return slices.DeleteFunc(append([]Pattern{}, c[:traps]...), unseen), slices.DeleteFunc(append([]Pattern{}, c[traps:]...), unseen)
}
