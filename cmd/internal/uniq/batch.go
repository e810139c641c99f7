package uniq

import (
	"hash/maphash"

	"github.com/firstseen/firstseen/cmd/internal/input"
	"github.com/firstseen/firstseen/cmd/internal/replay"
	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/store"
)

// A batch is a run of lines on its way through the stages.
type batch struct {
	*replay.Batch
	ready chan struct{} // closed when a worker is done with it

	lines []line
	counts
}

// line is a URL that a later stage must look at.
type line struct {
	start, end uint32
	refused    bool      // passed through as it is
	unicode    bool      // an internationalised host, where Options.Memory asks for it
	passes     bool      // set by the last stage
	sum        sum       // of what makes it a duplicate
	group      sum       // of what Options.Group makes of it
	key        store.Key // where Options.keyed asks for it
	shown      string    // the group itself, where Options.ShowGroup asks for it
}

// counts are what a worker finds without the set.
type counts struct{ urls, recent, refused int64 }

// A worker canonicalizes and hashes batches.
type worker struct {
	opt    *Options
	hash   hasher // of what lines are compared by
	spell  hasher // of spellings
	recent *recent
	form   []byte
	group  []byte
}

func (w *worker) work(b *batch) {
	defer close(b.ready)
	if !b.Split {
		for _, e := range b.Events {
			w.line(b, e.Start, e.End)
		}
		return
	}
	base := cap(b.Text)
	input.Lines(b.Text, b.End, func(text []byte) bool {
		start := uint32(base - cap(text)) // the line is a part of b.Text
		if !isBlank(text) {
			w.line(b, start, start+uint32(len(text)))
		}
		return true
	})
}

func isBlank(text []byte) bool {
	for _, c := range text {
		if c > ' ' {
			return false
		}
	}
	return true
}

// line decides what can be decided about a line alone.
func (w *worker) line(b *batch, start, end uint32) {
	text := b.Text[start:end]
	b.urls++
	var slot *sum
	var hi uint64
	if w.recent != nil {
		hi = maphash.Bytes(w.spell.hi, text)
		if slot = w.recent.slot(hi); slot.hi == hi && slot.lo == maphash.Bytes(w.spell.lo, text) {
			b.recent++
			return
		}
	}
	l := line{start: start, end: end}
	var err error
	if w.form, err = w.opt.Identify(w.form[:0], text); err != nil {
		b.refused++
		if l.refused = w.opt.KeepInvalid; l.refused {
			b.lines = append(b.lines, l)
		}
		return
	}
	w.sums(&l)
	l.unicode = w.opt.Memory != nil && w.opt.Memory.Unicode(w.form)
	if slot != nil {
		*slot = sum{hi, maphash.Bytes(w.spell.lo, text)}
	}
	b.lines = append(b.lines, l)
}

// sums hashes what a line is compared by.
func (w *worker) sums(l *line) {
	switch {
	case w.opt.Group != nil:
		w.group = w.opt.Group(w.group[:0], w.form)
		l.group = w.hash.sum(w.group)
		if l.sum = l.group; w.opt.Keep > 1 {
			l.sum = w.hash.sum(w.form)
		}
		if w.opt.ShowGroup {
			l.shown = string(w.group)
		}
	case w.opt.keyed():
		l.key = hashkey.SumShort(w.form)
		l.sum = w.hash.sum(l.key[:])
		l.group = l.sum
	default:
		l.sum = w.hash.sum(w.form)
		l.group = l.sum
	}
}
