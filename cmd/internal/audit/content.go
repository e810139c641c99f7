package audit

// pairContent identifies the contents that a pair of URLs was judged by. Two pairs with
// equal values are one piece of evidence.
type pairContent struct {
	outcome Outcome
	a, b    uint64 // a <= b
}

// contentOf returns what the outcome of a pair is based on: the digests that were compared;
// for a redirect the content it leads to; for an error the content of the page that exists.
func (x *index) contentOf(a, b uint32, o Outcome, near [2]capture) pairContent {
	switch o {
	case Redirect:
		if !x.redirectsInto(a, b, x.never) { // b redirects to a, or to another URL of its form
			b = a
		}
		page := x.pageOf(b)
		return pairContent{o, page, page}
	case Failed:
		if x.failed(b) {
			b = a
		}
		page := x.pageOf(b)
		return pairContent{o, page, page}
	case Volatile:
		o = Different
	}
	u, v := uint64(near[0].digest), uint64(near[1].digest)
	return pairContent{o, min(u, v), max(u, v)}
}

func (*index) never(uint32, uint32) bool { return false }

// pageOf returns the digest of the first content of a URL or, where there is none, a number
// that no other URL and no digest has.
func (x *index) pageOf(url uint32) uint64 {
	for _, c := range x.of(url) {
		if c.usable() {
			return uint64(c.digest)
		}
	}
	return 1<<32 + uint64(url)
}

// contents is a set of them. The zero value is empty.
type contents struct{ seen map[pairContent]struct{} }

// add reports whether c is new.
func (s *contents) add(c pairContent) bool {
	if _, ok := s.seen[c]; ok {
		return false
	}
	if s.seen == nil {
		s.seen = map[pairContent]struct{}{}
	}
	s.seen[c] = struct{}{}
	return true
}
