package replay

import (
	"hash/maphash"
	"strings"

	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/store"
)

// A batch is a run of events from one input, in order. The reader's batch is taken over by the stages, one after another.
type batch struct {
	*logs.Batch
	text   []byte // the spellings of the events' URLs
	events []Event
	kinds  Kinds

	number   int // of the input
	sums     []sum
	ordinals []uint32 // of the spelling, or noOrdinal
	found    []found  // what the exact table didn't know
	exact    int64    // events answered by the exact table
	base     uint64   // number of the first event
	canon    []byte   // canonical forms of found
	ready    chan struct{}
}

// An Event is one URL that was found or fetched: its place in the text, and its data
// in the log.
type Event struct {
	Start, End uint32
	Line       uint32 // counted from that of the first event
	Time       int64  // seconds since 1970, 0 when unknown
	Size       int64  // bytes fetched, 0 when unknown
	// To is the place of a redirect's target in the text; none if both are 0.
	ToStart, ToEnd uint32
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
	patterns   patternSet
	redirect   redirect
	to         []byte // canonical form that it redirects to
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

	number int // of the input, until its name is filled in
}

// sum is a hash of a spelling: 96 bits, so that among 10 million spellings two
// share one with a probability of 1e-15.
type sum struct {
	hi uint64
	lo uint32
}

// hasher makes sums. Its seeds are random in each process, so that collisions cannot be crafted.
type hasher struct{ a, b maphash.Seed }

func newHasher() hasher { return hasher{maphash.MakeSeed(), maphash.MakeSeed()} }

func (h hasher) sum(p []byte) sum {
	return sum{maphash.Bytes(h.a, p), uint32(maphash.Bytes(h.b, p))}
}

// prepare makes events of the records, and hashes the spellings. It touches the batch only.
func (b *batch) prepare(h hasher) {
	b.events = make([]Event, 0, b.Len())
	if b.Text != nil {
		b.split()
	}
	for i := range b.Records {
		b.event(&b.Records[i])
	}
	b.sums = make([]sum, len(b.events))
	for i, e := range b.events {
		b.sums[i] = h.sum(b.text[e.Start:e.End])
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
	e := Event{Line: uint32(max(r.Line-b.firstLine(), 0)), Size: r.Length}
	if !r.Time.IsZero() {
		e.Time = r.Time.Unix()
	}
	e.Start, e.End = b.append(r.URL)
	if r.Redirect != "" {
		e.ToStart, e.ToEnd = b.append(r.Redirect)
	}
	b.events = append(b.events, e)
}

func (b *batch) append(s string) (start, end uint32) {
	start = uint32(len(b.text))
	b.text = append(b.text, s...)
	return start, uint32(len(b.text))
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
