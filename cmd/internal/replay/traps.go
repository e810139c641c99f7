package replay

import (
	"bytes"
)

// A Trap is a pattern of URLs by which a site keeps a crawler busy without an end.
type Trap struct {
	Name    string `json:"name"`
	Unique  int64  `json:"unique"`  // unique URLs that show it
	Example string `json:"example"` // the first of them
}

// trapSet is which of the traps a URL shows.
type trapSet uint8

const (
	deepPath trapSet = 1 << iota
	repeatedSegment
	calendar
	sessionID
	sortLink
	manyParameters
)

// trapNames are in the order of the bits.
var trapNames = []string{
	"path of 12 segments or more", "segment that comes three times", "calendar", "session id", "sort link", "10 parameters or more",
}

// sessionNames and sortNames are names of parameters, in lower case.
var (
	sessionNames = [][]byte{[]byte("phpsessid="), []byte("jsessionid="), []byte("sid="), []byte("sessionid="), []byte("session_id="), []byte("cfid="), []byte("aspsessionid")}
	sortNames    = [][]byte{[]byte("sort="), []byte("order="), []byte("orderby="), []byte("sortby="), []byte("sort_by="), []byte("dir=asc"), []byte("dir=desc"), []byte("c=n;o="), []byte("c=m;o="), []byte("c=s;o="), []byte("c=d;o=")}
	calendarPart = [][]byte{[]byte("calendar"), []byte("month="), []byte("year="), []byte("date=")}
)

// trapsOf looks at a canonical form.
func trapsOf(form []byte, scratch []byte) (trapSet, []byte) {
	scratch = append(scratch[:0], form...)
	lower := scratch
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c | 0x20
		}
	}
	path, query, _ := bytes.Cut(lower, []byte("?"))
	var s trapSet
	if i := bytes.Index(path, []byte("://")); i >= 0 {
		path = path[i+3:]
	}
	if bytes.Count(path, []byte("/")) >= 12 {
		s |= deepPath
	}
	if repeatsSegment(path) {
		s |= repeatedSegment
	}
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

// repeatsSegment tells whether a segment of two letters or more stands three times.
func repeatsSegment(path []byte) bool {
	if bytes.Count(path, []byte("/")) < 4 {
		return false
	}
	segments := bytes.Split(path, []byte("/"))
	for i, s := range segments {
		times := 1
		for _, other := range segments[i+1:] {
			if len(s) > 1 && bytes.Equal(s, other) {
				times++
			}
		}
		if times >= 3 {
			return true
		}
	}
	return false
}

// hasParameter tells whether one of the names begins a parameter.
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

// trapCounts tallies the traps of unique URLs.
type trapCounts struct {
	unique  [8]int64
	example [8]string
}

// show keeps the first example of each trap.
func (c *trapCounts) show(s trapSet, form []byte) {
	for i := range trapNames {
		if s&(1<<i) != 0 && c.example[i] == "" {
			c.example[i] = excerpt(form)
		}
	}
}

func (c *trapCounts) add(s trapSet) {
	for i := range trapNames {
		if s&(1<<i) != 0 {
			c.unique[i]++
		}
	}
}

func (c *trapCounts) result() []Trap {
	list := []Trap{}
	for i, name := range trapNames {
		if c.unique[i] > 0 {
			list = append(list, Trap{name, c.unique[i], c.example[i]})
		}
	}
	return list
}
