package runfile

import (
	"encoding/binary"
	"slices"

	"github.com/firstseen/firstseen/store/internal/osfile"
)

// Source is where a merge or a copy of keys comes from: ascending keys, in
// portions that are valid until the next call; none at the end.
type Source interface {
	Next() ([]Key, error)
}

// Read returns the keys of the run from one on, in order, each bucket compared with
// its checksum. Nil is from the first on.
func (r *Run) Read(from *Key) Source {
	s := &reader{r: r, from: from}
	if from != nil {
		s.next = bucketOf(from, r.buckets())
	}
	return s
}

// reader returns some buckets at a time.
type reader struct {
	r    *Run
	from *Key   // until the first key that is not less
	next uint64 // bucket
	buf  []Key
	cold int64 // up to where the system knows that the bytes are not needed again
	here int64 // up to where the system was asked to read ahead
}

// portion is about how many keys a source returns.
const portion = 4096

// aheadBytes is how much the system is asked to read ahead.
const aheadBytes = 1 << 20

// Next implements Source.
func (s *reader) Next() ([]Key, error) {
	s.buf = s.buf[:0]
	err := s.r.File.guarded(func() {
		for ; s.next < s.r.buckets() && len(s.buf) < portion; s.next++ {
			lo, _ := s.r.page(s.next / pageBuckets)
			s.readAhead(lo)
			at, b := s.r.load(s.next)
			s.readAhead(at.hi)
			for ; len(b) > 0; b = b[keyLen:] {
				k := Key(b)
				if s.from != nil && k.Less(s.from) {
					continue
				}
				s.from = nil
				s.buf = append(s.buf, k)
			}
		}
	})
	return s.buf, err
}

// readAhead makes the system read ahead, and evict the pages behind first: reading a run for a merge
// must not evict pages that look-ups need.
func (s *reader) readAhead(at int64) {
	if s.from != nil || at < s.here {
		return
	}
	if s.cold < s.here-aheadBytes/2 {
		osfile.Advise(s.r.data[s.cold:s.here-aheadBytes/2], osfile.Cold)
		s.cold = s.here - aheadBytes/2
	}
	s.here = at + aheadBytes/2
	s.r.ask(at, min(at+aheadBytes, int64(len(s.r.data))))
}

// Merge returns the keys of some sources in order. Keys that are in two of them
// come once.
func Merge(sources []Source) Source {
	if len(sources) == 1 {
		return sources[0]
	}
	return &merger{from: sources, heads: make([][]Key, len(sources))}
}

// merger takes from all sources the keys up to the least of their last ones, which
// are all there are so far, and merges them two by two.
type merger struct {
	from  []Source
	heads [][]Key // what a source returned and was not taken yet
	parts [][]Key
	bufs  [2][]Key
}

// Next implements Source.
func (m *merger) Next() ([]Key, error) {
	for i := 0; i < len(m.from); i++ {
		if len(m.heads[i]) > 0 {
			continue
		}
		keys, err := m.from[i].Next()
		if err != nil {
			return nil, err
		}
		if m.heads[i] = keys; len(keys) == 0 {
			m.from, m.heads = slices.Delete(m.from, i, i+1), slices.Delete(m.heads, i, i+1)
			i--
		}
	}
	if len(m.heads) == 0 {
		return nil, nil
	}
	end := m.heads[0][len(m.heads[0])-1]
	for _, h := range m.heads[1:] {
		if last := &h[len(h)-1]; last.Less(&end) {
			end = *last
		}
	}
	m.parts = m.parts[:0]
	for i, h := range m.heads {
		n, found := slices.BinarySearchFunc(h, end, Key.Compare)
		if found {
			n++
		}
		m.parts, m.heads[i] = append(m.parts, h[:n]), h[n:]
	}
	return m.join(), nil
}

func (m *merger) join() []Key {
	n := 0
	for _, p := range m.parts {
		n += len(p)
	}
	for i := range m.bufs {
		m.bufs[i] = slices.Grow(m.bufs[i][:0], n)
	}
	for which := 0; len(m.parts) > 1; which = 1 - which {
		next, out := m.parts[:0], m.bufs[which][:0]
		for i := 0; i < len(m.parts); i += 2 {
			at := len(out)
			if i+1 < len(m.parts) {
				out = join(out, m.parts[i], m.parts[i+1])
			} else {
				out = append(out, m.parts[i]...)
			}
			next = append(next, out[at:])
		}
		m.parts = next
	}
	return m.parts[0]
}

// join appends two ascending lists as one.
func join(dst, a, b []Key) []Key {
	for len(a) > 0 && len(b) > 0 {
		switch x, y := &a[0], &b[0]; {
		case x.Less(y):
			dst, a = append(dst, *x), a[1:]
		case y.Less(x):
			dst, b = append(dst, *y), b[1:]
		default:
			a = a[1:]
		}
	}
	return append(append(dst, a...), b...)
}

// Sort sorts keys, and returns them without those that are there twice.
func Sort(keys []Key) []Key {
	if len(keys) < 1<<14 {
		slices.SortFunc(keys, Key.Compare)
		return slices.Compact(keys)
	}
	var counts [1<<16 + 1]uint32
	for i := range keys {
		counts[int(binary.BigEndian.Uint16(keys[i][:]))+1]++
	}
	for i := range len(counts) - 1 {
		counts[i+1] += counts[i]
	}
	out := make([]Key, len(keys))
	for i := range keys {
		at := &counts[binary.BigEndian.Uint16(keys[i][:])]
		out[*at] = keys[i]
		*at++
	}
	for lo := 0; lo < len(out); {
		hi := lo + 1
		for hi < len(out) && binary.BigEndian.Uint16(out[hi][:]) == binary.BigEndian.Uint16(out[lo][:]) {
			hi++
		}
		sortFew(out[lo:hi])
		lo = hi
	}
	return slices.Compact(out)
}

// sortFew sorts a list that is short, as a rule.
func sortFew(keys []Key) {
	if len(keys) > 64 {
		slices.SortFunc(keys, Key.Compare)
		return
	}
	for i := range keys {
		for j := i; j > 0 && keys[j].Less(&keys[j-1]); j-- {
			keys[j], keys[j-1] = keys[j-1], keys[j]
		}
	}
}
