package replay

import "github.com/firstseen/firstseen/cmd/internal/logs"

// InputStats are the counts of one input. A URL is unique in the input that it was
// seen in first.
type InputStats struct {
	Input   string `json:"input"`
	Format  string `json:"format"`
	Lines   int64  `json:"lines"`
	URLs    int64  `json:"urls"`
	Refused int64  `json:"refused"`
	Unique  int64  `json:"unique"`
	// Units account for the lines or records as the reader took them: what it refused is among Refused, as are URLs
	// without a canonical form.
	Units logs.Counts `json:"units"`
}

// Duplicates is the number of events whose URL was seen before.
func (s InputStats) Duplicates() int64 { return s.URLs - s.Unique }

// countInput counts a batch for its input. Repeats of a refused spelling are refused,
// too: only the owner of the spelling knows.
func (t *tally) countInput(b *batch) {
	s := &t.inputs[b.number]
	refused, unread := int64(0), int64(0)
	if len(t.codes) > 0 {
		for _, ordinal := range b.ordinals {
			if owner := t.owned(ordinal); owner >= firstRefusal && owner < firstHost {
				refused++
				if t.codes[owner-firstRefusal] == badRecord {
					unread++
				}
			}
		}
	}
	for i := range b.found {
		if f := &b.found[i]; f.err != nil && b.ordinals[f.event] == noOrdinal {
			refused++
			if f.unread {
				unread++
			}
		}
	}
	s.Lines += b.Counts.Units
	s.URLs += int64(len(b.events)) - refused
	s.Refused += refused + b.Counts.Refused
	s.Units.Add(&b.Counts)
	s.Units.Reject(unread)
	if s.Format == "" {
		s.Format = string(b.Format)
	}
}

// owned is the owner of a spelling, 0 if it has no number.
func (t *tally) owned(ordinal uint32) uint32 {
	if ordinal == noOrdinal {
		return 0
	}
	return *t.owner.at(ordinal)
}
