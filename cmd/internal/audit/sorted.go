package audit

import (
	"cmp"
	"slices"
)

// located is a capture with its URL.
type located struct {
	capture
	url uint32
}

// runCaptures is how many captures are kept together until they are sorted.
const runCaptures = 1 << 16

// keep adds a capture to those that came since the last sort.
func (l *Log) keep(url uint32, c capture) {
	last := len(l.fresh) - 1
	if last < 0 || len(l.fresh[last]) == cap(l.fresh[last]) {
		l.fresh = append(l.fresh, make([]located, 0, min(runCaptures, 64<<min(len(l.fresh), 10))))
		last++
	}
	l.fresh[last] = append(l.fresh[last], located{c, url})
}

// sort puts the captures in order of URL and time, by counting: those of a URL take the
// places that are counted for them. What was sorted before is moved to its new places.
func (l *Log) sort() {
	n := l.urls.len()
	if len(l.fresh) == 0 && len(l.first) == n+1 {
		return
	}
	first := make([]uint32, n+2)
	l.eachKept(func(url uint32, _ capture) { first[url+2]++ })
	for i := 2; i < len(first); i++ {
		first[i] += first[i-1]
	}
	captures := make([]capture, first[n+1])
	l.eachKept(func(url uint32, c capture) { // first[url+1] is where the next one goes
		captures[first[url+1]] = c
		first[url+1]++
	})
	l.captures, l.first, l.fresh = captures, first[:n+1], nil
	l.urls.index.drop() // nothing is looked up by text until more is added
	l.digests.index.drop()
	for url := range n {
		if of := captures[first[url]:first[url+1]]; len(of) > 1 {
			slices.SortFunc(of, func(a, b capture) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.digest, b.digest)) })
		}
	}
}

// eachKept calls yield with all captures, the sorted ones first.
func (l *Log) eachKept(yield func(url uint32, c capture)) {
	for url := 0; url+1 < len(l.first); url++ {
		for _, c := range l.captures[l.first[url]:l.first[url+1]] {
			yield(uint32(url), c)
		}
	}
	for _, run := range l.fresh {
		for _, c := range run {
			yield(c.url, c.capture)
		}
	}
}

// of returns the captures of a URL, in order of time.
func (l *Log) of(url uint32) []capture { return l.captures[l.first[url]:l.first[url+1]] }
