package replay

// InputStats are the counts of one input. A URL is unique in the input that it was
// seen in first.
type InputStats struct {
	Input   string `json:"input"`
	Format  string `json:"format"`
	Lines   int64  `json:"lines"`
	URLs    int64  `json:"urls"`
	Refused int64  `json:"refused"`
	Unique  int64  `json:"unique"`
}

// Duplicates is the number of events whose URL was seen before.
func (s InputStats) Duplicates() int64 { return s.URLs - s.Unique }

// countInput counts a batch for its input. Repeats of a refused spelling are refused,
// too: only the owner of the spelling knows.
func (t *tally) countInput(b *Batch) {
	for b.number >= len(t.inputs) {
		t.inputs = append(t.inputs, InputStats{})
	}
	s := &t.inputs[b.number]
	refused := int64(0)
	if len(t.codes) > 0 {
		for _, ordinal := range b.ordinals {
			if owner := t.owned(ordinal); owner >= firstRefusal && owner < firstHost {
				refused++
			}
		}
	}
	for i := range b.found {
		if f := &b.found[i]; f.err != nil && b.ordinals[f.event] == noOrdinal {
			refused++
		}
	}
	s.Lines += b.Lines
	s.URLs += int64(len(b.Events)) - refused
	s.Refused += refused + b.BadCount
	if s.Format == "" {
		s.Format = b.Format
	}
}

// owned is the owner of a spelling, 0 if it has no number.
func (t *tally) owned(ordinal uint32) uint32 {
	if ordinal == noOrdinal {
		return 0
	}
	return *t.owner.at(ordinal)
}
