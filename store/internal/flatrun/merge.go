package flatrun

import "bytes"

// Source is where a merge or a copy of keys comes from: ascending keys, in
// portions that are valid until the next call; none at the end.
type Source interface {
	Next() ([]Key, error)
}

// Read returns the keys of the run in order, each bucket compared with its
// checksum.
func (r *Run) Read() Source { return &reader{r: r} }

// reader hands out some buckets at a time.
type reader struct {
	r    *Run
	next uint64 // bucket
	buf  []Key
}

// portion is about how many keys a source hands out.
const portion = 4096

// Next implements Source.
func (s *reader) Next() ([]Key, error) {
	s.buf = s.buf[:0]
	err := guarded(func() error {
		for ; s.next < s.r.m && len(s.buf) < portion; s.next++ {
			sp := s.r.span(s.next)
			if !s.r.fetch([]span{sp}) {
				return ErrDamaged
			}
			b, ok := s.r.bucket(sp)
			if !ok {
				return ErrDamaged
			}
			for ; len(b) > 0; b = b[keyLen:] {
				s.buf = append(s.buf, Key(b))
			}
		}
		return nil
	})
	return s.buf, err
}

// Merge returns the keys of some sources in order. Keys that are in two of them
// come once.
func Merge(sources []Source) Source {
	if len(sources) == 1 {
		return sources[0]
	}
	m := &merger{buf: make([]Key, 0, portion)}
	for _, s := range sources {
		m.heads = append(m.heads, head{from: s})
	}
	return m
}

// merger takes the least of the heads each time: there are few.
type merger struct {
	heads []head
	buf   []Key
	last  Key // handed out before
	begun bool
}

// head is what a source handed out and wasn't taken yet.
type head struct {
	from Source
	keys []Key
}

// Next implements Source.
func (m *merger) Next() ([]Key, error) {
	if !m.begun {
		m.begun = true
		for i := len(m.heads) - 1; i >= 0; i-- {
			if err := m.fill(i); err != nil {
				return nil, err
			}
		}
	}
	var last *Key
	if len(m.buf) > 0 {
		m.last = m.buf[len(m.buf)-1]
		last = &m.last
	}
	m.buf = m.buf[:0]
	for len(m.heads) > 0 && len(m.buf) < portion {
		least := 0
		for i := 1; i < len(m.heads); i++ {
			if bytes.Compare(m.heads[i].keys[0][:], m.heads[least].keys[0][:]) < 0 {
				least = i
			}
		}
		h := &m.heads[least]
		if last == nil || *last != h.keys[0] {
			m.buf = append(m.buf, h.keys[0])
			last = &m.buf[len(m.buf)-1]
		}
		if h.keys = h.keys[1:]; len(h.keys) == 0 {
			if err := m.fill(least); err != nil {
				return nil, err
			}
		}
	}
	return m.buf, nil
}

// fill gets more from a source, or drops it at its end.
func (m *merger) fill(i int) (err error) {
	if m.heads[i].keys, err = m.heads[i].from.Next(); err != nil {
		return err
	}
	if len(m.heads[i].keys) == 0 {
		m.heads = append(m.heads[:i], m.heads[i+1:]...)
	}
	return nil
}
