package replay

import (
	"strings"

	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/cmd/internal/uniq"
	"github.com/firstseen/firstseen/store"
)

// A batch is a run of events from one input, in order. The reader's batch is taken over by the stages, one after another.
type batch struct {
	*logs.Batch
	text   []byte // the spellings of the events' URLs
	events []Event
	kinds  Kinds

	number   int // of the input
	sums     []uniq.Sum
	ordinals []uint32 // of the spelling, or noOrdinal
	found    []found  // what the exact table didn't know
	exact    int64    // events answered by the exact table
	canon    []byte   // canonical forms of found
	ready    chan struct{}
}

// An Event is one URL that was found or fetched: its place in the text, and its data in the log.
type Event struct {
	Start, End uint32
	Line       uint32 // counted from that of the first event
	Size       int64  // bytes fetched, 0 when unknown
}

// Kinds are how many events were fetches, fetches of content that had not changed,
// and links that were found.
type Kinds struct {
	Fetches  int64 `json:"fetches"`
	Revisits int64 `json:"revisits"`
	Links    int64 `json:"links"`
}

func (k *Kinds) add(o Kinds) {
	k.Fetches += o.Fetches
	k.Revisits += o.Revisits
	k.Links += o.Links
}

// found is an event whose spelling wasn't known: its number in the batch and what
// canonicalizing it gave.
type found struct {
	event      uint32
	start, end uint32 // canonical form in canon
	host       uint32 // length of the host, which begins at hostAt
	hostAt     uint32
	key        store.Key
	unicode    bool
	trap       trapNumber
	group      uint64 // of the sample for the rules
	err        error
	unread     bool // err is the reader's, not the canonicalizer's
}

func (b *batch) spelling(event uint32) []byte {
	e := b.events[event]
	return b.text[e.Start:e.End]
}

// A Refusal is a line that is no URL, or a record that can't be read.
type Refusal struct {
	Input  string `json:"input"`
	Line   int64  `json:"line"`
	Text   string `json:"text"`
	Code   string `json:"code"`
	Reason string `json:"reason"`
}

// prepare makes events of the records, and hashes the spellings. It touches the batch only.
func (b *batch) prepare(h uniq.Hasher) {
	b.events = make([]Event, 0, b.Len())
	if b.Text != nil {
		b.split()
	}
	for i := range b.Records {
		b.event(&b.Records[i])
	}
	b.sums = make([]uniq.Sum, len(b.events))
	for i, e := range b.events {
		b.sums[i] = h.Sum(b.text[e.Start:e.End])
	}
}

// split makes an event of each line of a plain list. The events share its text.
func (b *batch) split() {
	b.text = b.Text
	end := cap(b.text)
	b.Each(func(line []byte, number int64) {
		start := uint32(end - cap(line)) // the line is a part of the text
		b.events = append(b.events, Event{Start: start, End: start + uint32(len(line)), Line: uint32(number - b.First())})
	})
	b.kinds.Links = int64(len(b.events))
}

// event makes an event of a record.
func (b *batch) event(r *logs.Record) {
	switch r.Kind {
	case logs.Revisit:
		b.kinds.Revisits++
	case logs.Link, logs.Listed:
		b.kinds.Links++
	default:
		b.kinds.Fetches++
	}
	start := uint32(len(b.text))
	b.text = append(b.text, r.URL...)
	b.events = append(b.events, Event{Start: start, End: uint32(len(b.text)), Line: uint32(max(r.Line-b.firstLine(), 0)), Size: r.Length})
}

// firstLine is the number of the line of the first event.
func (b *batch) firstLine() int64 {
	if len(b.Records) > 0 {
		return b.Records[0].Line
	}
	return b.First()
}

// excerpt is a spelling as it can be shown: short and valid.
func excerpt(p []byte) string {
	const most = 200
	if len(p) > most {
		return strings.ToValidUTF8(string(p[:most]), "\uFFFD") + "…"
	}
	return strings.ToValidUTF8(string(p), "\uFFFD")
}
