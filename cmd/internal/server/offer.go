package server

import (
	"slices"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/frontier/frontierpb"
)

// offered is a URL as a client sent it, in the frontier's terms. ok is false
// for one that is refused before anybody looks at it.
type offered struct {
	url frontier.Link
	ok  bool
}

// putItem is a URLItem: what codec reads of it.
type putItem struct {
	offered
	id    string
	known bool   // it states the result of a URL rather than offering one
	date  uint64 // refetchable_from_date, when known
	size  int    // about its bytes in memory

	from *messageReader // reads it
}

// putBatch is a DiscoveredBatch.
type putBatch struct {
	id   string
	urls []offered // until they are in an addList
	n    int       // how many there were
	size int

	from *messageReader
}

// itemOf is a URLItem that was decoded by the generated code.
func (s *Server) itemOf(m *frontierpb.URLItem) *putItem {
	it := &putItem{id: m.GetID()}
	info := m.GetDiscovered().GetInfo()
	if known := m.GetKnown(); known != nil {
		it.known, it.date = true, known.RefetchableFromDate
		info = known.GetInfo()
	}
	it.url, it.ok = s.urlOf(info)
	if it.id == "" {
		it.id = info.GetUrl()
	}
	it.size = len(m.GetID()) + sizeOfInfo(info)
	return it
}

// offerList returns an empty list with room for n URLs.
func (s *Server) offerList(n int) []offered {
	l, ok := s.offerings.Get().(*[]offered)
	if !ok {
		l = new([]offered)
	}
	return slices.Grow((*l)[:0], n)
}

// mostOffered is the largest list that is kept for reuse.
const mostOffered = 1 << 10

// recycle takes back the list of a batch whose URLs went elsewhere.
func (s *Server) recycle(b *putBatch) {
	l := b.urls
	if b.urls = nil; cap(l) <= mostOffered {
		clear(l)
		s.offerings.Put(&l)
	}
}

const (
	// perURL is about what a URL costs in memory besides its texts, from its message to
	// its commit.
	perURL = 1 << 10
	// perEntry is about what a name of its metadata costs besides.
	perEntry = 192
)

func sizeOfInfo(info *frontierpb.URLInfo) int {
	n := perURL + len(info.GetUrl()) + len(info.GetKey()) + len(info.GetCrawlID())
	for name, list := range info.GetMetadata() {
		n += perEntry + len(name)
		for _, v := range list.GetValues() {
			n += 16 + len(v)
		}
	}
	return n
}
