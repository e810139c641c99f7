package captures

import "fmt"

// Add offers captures to the sample. A capture without a canonical form, or with a text that
// is too long, is left out. On an error none of the captures was taken.
func (s *Sample) Add(all ...Capture) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return ErrClosed
	}
	return s.addAll(all)
}

// pending is a capture that is written but not yet noted in the index.
type pending struct {
	place, variant uint64
	at             int64
}

// addAll is Add; s.writing is held.
func (s *Sample) addAll(all []Capture) error {
	var lines []byte
	var written []pending
	for i := range all {
		c := &all[i]
		form, err := s.coarse.AppendCanonical(nil, []byte(c.URL))
		if err != nil || max(len(c.Digest), len(c.Redirect), len(c.Canonical), len(c.NoVarySearch), len(c.CleanParam)) > maxText {
			continue
		}
		p := pending{hash64(form), hash64([]byte(c.URL)), int64(len(lines))}
		if !s.wants(p) {
			continue
		}
		if lines = c.append(lines, p.place, p.variant); len(lines)-int(p.at) > maxLine {
			lines = lines[:p.at]
			continue
		}
		written = append(written, p)
	}
	if len(written) == 0 {
		return nil
	}
	at, err := s.write(lines, len(written))
	if err != nil {
		return fmt.Errorf("cannot keep %d captures: %w", len(written), err)
	}
	s.note(written, at)
	return nil
}

// wants counts a capture, and reports whether the sample has room for it.
func (s *Sample) wants(p pending) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Taken++
	if !kept(p.place, s.index.level) {
		return false
	}
	if s.index.full(p.place, p.variant) {
		s.counts.Full++
		return false
	}
	return true
}

// write appends n lines to the file, after its header.
func (s *Sample) write(lines []byte, n int) (at int64, err error) {
	if s.log.end == 0 {
		if _, err := s.log.append(append([]byte(header), '\n')); err != nil {
			s.fault(err)
			return 0, err
		}
		s.lines++
	}
	at, err = s.log.append(lines)
	if s.fault(err); err == nil {
		s.lines += n
	}
	return at, err
}

// fault reports when writes begin to fail, and when they work again.
func (s *Sample) fault(err error) {
	if s.faulty != (err != nil) {
		s.faulty = err != nil
		s.opt.OnFault(err)
	}
}

// note adds the written captures to the index, and keeps the sample and its file within their
// bounds.
func (s *Sample) note(written []pending, at int64) {
	s.mu.Lock()
	for _, p := range written {
		if !s.index.put(p.place, p.variant, at+p.at) {
			s.counts.Full++ // by others of this call
		}
	}
	level := s.index.level
	for s.index.rows > s.opt.MaxRows && s.index.level < maxLevel {
		s.index.raise(s.index.level + 1)
	}
	raised := s.index.level
	s.mu.Unlock()
	if raised > level {
		// If this fails, the places come back at the next Open, and are dropped again.
		_, _ = s.write(appendLevel(nil, raised), 1)
	}
	if s.lines >= s.rewrite {
		s.writeAgain()
	}
}

// setRewrite sets the size at which the file is written again.
func (s *Sample) setRewrite() { s.rewrite = 2*s.index.rows + 10_000 }

// writeAgain writes the file again, without the lines that were replaced or dropped.
func (s *Sample) writeAgain() {
	s.mu.Lock()
	all, rows, level := s.index.entries(), s.index.rows, s.index.level
	s.mu.Unlock()
	sortEntries(all)
	fresh, moved, err := s.log.rewrite(s.name, s.opt.open, level, all)
	if err != nil {
		s.rewrite = s.lines + s.lines/2 // the old file is as good; later there may be room
		s.fault(err)
		return
	}
	s.mu.Lock()
	old := s.log
	s.log = fresh
	s.index.replace(moved)
	s.lines = s.index.rows + 2
	s.setRewrite()
	s.damaged.Add(int64(rows - s.index.rows))
	s.mu.Unlock()
	_ = old.release() // nothing is in it that the new file has not
}
