package uniq

import (
	"fmt"
	"slices"
	"sync"

	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/store"
)

// A batch is a run of lines on its way through the stages.
type batch struct {
	*logs.Batch
	input int           // its number
	text  []byte        // of the URLs
	ready chan struct{} // closed when a worker is done with it

	lines []line
	counts
}

var lineRoom = sync.Pool{New: func() any { return new([]line) }}

func newBatch(b *logs.Batch, input int) *batch {
	return &batch{Batch: b, input: input, ready: make(chan struct{}), lines: (*lineRoom.Get().(*[]line))[:0]}
}

// isArchive reports whether records have an offset.
func (b *batch) isArchive() bool {
	return b.Format == logs.WARC || b.Format == logs.ARC || b.Format == logs.WACZ
}

// release frees the memory of the batch.
func (b *batch) release() {
	b.Release()
	lines := b.lines
	clear(lines) // of texts
	lineRoom.Put(&lines)
	b.lines = nil
}

// line is a URL that a later stage must look at.
type line struct {
	start, end uint32
	refused    bool      // to be passed through as it is, once
	unicode    bool      // an internationalised host, where Options.Memory asks for it
	passes     bool      // set by the last stage
	sum        Sum       // of what makes it a duplicate
	group      Sum       // of what Options.Group makes of it
	key        store.Key // where Options.keyed asks for it
	shown      string    // the group itself, where Options.ShowGroup asks for it
	order      string    // what Options.Choose compares
	sorted     string    // what Options.Sort compares
	row        int64     // its number in the file
	offset     int64     // of the record that has it, in an archive; elsewhere -1
}

// counts are what a worker finds without the set.
type counts struct {
	urls, recent, refused int64
	byStatus              int64
	unread                int64 // of refused, by the reader
	filtered              []int64
	examples              []string
	unusable              []logs.Refusal   // of refused, where Options.Refused asks for them
	reasons               map[string]int64 // of refused, and of the units that could not be read
}

// A worker canonicalizes and hashes batches.
type worker struct {
	opt    *Options
	hash   Hasher // of what lines are compared by
	recent *recent
	texts  [ahead]text
	form   []byte
	group  []byte
}

// mostExamples is how many refused lines of an input are kept.
const mostExamples = 3

// ahead is how many lines are looked up in the recent texts together, so that the processor
// waits for its memory once.
const ahead = 32

// text is the place of a line in a batch, and its mark in the recent texts.
type text struct {
	start, end uint32
	number     int64 // of the line; of a record, its place in the batch
	slot       uint32
	mark       uint64
	known      bool
}

func (w *worker) work(b *batch) {
	defer close(b.ready)
	n := 0
	b.filtered = make([]int64, len(w.opt.Filters))
	add := func(start, end uint32, number int64) {
		w.texts[n] = text{start: start, end: end, number: number}
		if n++; n == ahead {
			w.lines(b, w.texts[:n])
			n = 0
		}
	}
	if b.Text != nil {
		b.text = b.Text
		end := cap(b.text)
		b.Each(func(line []byte, number int64) { // the line is a part of the text
			start := uint32(end - cap(line))
			add(start, start+uint32(len(line)), number)
		})
	}
	room := 0
	for i := range b.Records {
		room += len(b.Records[i].URL)
	}
	b.text = slices.Grow(b.text, room)
	for i := range b.Records {
		start := uint32(len(b.text))
		b.text = append(b.text, b.Records[i].URL...)
		add(start, uint32(len(b.text)), int64(i))
	}
	w.lines(b, w.texts[:n])
	for why, n := range b.Counts.RefusedFor {
		logs.CountReason(&b.reasons, why, n)
	}
	b.Counts.Reject(b.unread) // which have their reasons
}

// lines decides what can be decided about lines alone.
func (w *worker) lines(b *batch, texts []text) {
	b.urls += int64(len(texts))
	if w.recent == nil {
		for i := range texts {
			w.line(b, &texts[i])
		}
		return
	}
	for i := range texts {
		t := &texts[i]
		t.slot, t.mark = w.recent.place(b.text[t.start:t.end])
	}
	for i := range texts {
		t := &texts[i]
		t.known = w.recent.slots[t.slot] == t.mark
	}
	for i := range texts {
		t := &texts[i]
		if t.known || w.recent.slots[t.slot] == t.mark { // by a line before it
			b.recent++
		} else if w.line(b, t) {
			w.recent.slots[t.slot] = t.mark
		}
	}
}

// line adds a line to those that a later stage looks at, and reports whether it is a URL.
func (w *worker) line(b *batch, t *text) bool {
	l := line{start: t.start, end: t.end, row: t.number, offset: -1}
	text := b.text[t.start:t.end]
	status := 0
	var err error
	if len(b.Records) == 0 {
		if text, status, err = b.Check(text); err != nil {
			b.unread++
		}
		l.start = uint32(cap(b.text) - cap(text)) // what was cut stood around the URL
		l.end = l.start + uint32(len(text))
	} else {
		r := &b.Records[t.number]
		status = r.Status
		if l.row = r.Line; b.isArchive() {
			l.offset = r.Offset
		}
		if len(r.Fields) > 0 {
			l.order = r.Fields[0]
		}
	}
	if err == nil && w.opt.Status != nil && !w.opt.Status(status) {
		b.byStatus++
		return false
	}
	if err == nil {
		w.form, err = w.opt.Identify(w.form[:0], text)
	}
	if err != nil {
		b.refused++
		logs.CountReason(&b.reasons, logs.Reason(err), 1)
		l.start, l.end = t.start, t.end // with blanks: KeepInvalid prints lines as they are
		if len(b.examples) < mostExamples {
			b.examples = append(b.examples, fmt.Sprintf("%.100q: %v", text, err))
		}
		if w.opt.Refused != nil {
			b.unusable = append(b.unusable, logs.Refusal{Line: l.row, Offset: l.offset, Text: string(text), Err: err})
		}
		if l.refused = w.opt.KeepInvalid; l.refused {
			w.form = append(append(w.form[:0], "no URL: "...), text...) // which no canonical form is
			l.sum = w.hash.Sum(w.form)
			b.lines = append(b.lines, l)
		}
		return false
	}
	for i, stays := range w.opt.Filters {
		if !stays(text, w.form) {
			b.filtered[i]++
			return false
		}
	}
	if w.opt.Sort != nil {
		l.sorted = string(w.opt.Sort(nil, w.form))
	}
	w.sums(&l)
	l.unicode = w.opt.Memory != nil && w.opt.Memory.Unicode(w.form)
	b.lines = append(b.lines, l)
	return true
}

// sums hashes what a line is compared by.
func (w *worker) sums(l *line) {
	switch {
	case w.opt.Group != nil:
		w.group = w.opt.Group(w.group[:0], w.form)
		l.group = w.hash.Sum(w.group)
		if l.sum = l.group; w.opt.Keep > 1 {
			l.sum = w.hash.Sum(w.form)
		}
		if w.opt.ShowGroup {
			l.shown = string(w.group)
		}
	case w.opt.keyed():
		l.key = hashkey.SumShort(w.form)
		l.sum = w.hash.Sum(l.key[:])
		l.group = l.sum
	default:
		l.sum = w.hash.Sum(w.form)
		l.group = l.sum
	}
}
