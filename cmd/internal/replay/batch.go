package replay

import (
	"hash/maphash"
	"strings"

	"github.com/firstseen/firstseen/cmd/internal/input"
	"github.com/firstseen/firstseen/store"
)

// A Batch is a run of events from one input, in order. A source makes it; the
// stages then fill it in.
type Batch struct {
	// Text holds the spellings of the events' URLs.
	Text []byte
	// Events are the URLs; nil with Split set means one a line of Text.
	Events []Event
	// Format is what the input is.
	Format string
	// Split is set if Text is whole lines, to be split into events.
	Split bool
	// End ends a line of Text.
	End byte
	// First is the number of the first line.
	First int64
	// Lines is how many lines were read for it.
	Lines int64
	// Blank is how many of them hold nothing.
	Blank int64
	// Skipped is how many records are no event of the kind that is replayed.
	Skipped int64
	// Kinds counts the events by what the log says of them.
	Kinds Kinds
	// Fetched are the fetches with content, if LogOptions.Declared asks for them.
	Fetched []Fetched
	// Bad are records that can't be read, and how many there are.
	Bad      []Refusal
	BadCount int64

	block  *input.Block
	number int // of its input

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
	Line       uint32 // counted from the batch's first
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
}

// Release frees the memory of the text, which is not valid afterwards.
func (b *Batch) Release() {
	if b.block != nil {
		b.block.Release()
	}
}

func (b *Batch) spelling(event uint32) []byte {
	e := b.Events[event]
	return b.Text[e.Start:e.End]
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

// prepare splits the text and hashes the spellings. It touches the batch only.
func (b *Batch) prepare(h hasher) {
	if b.Split {
		b.split()
	}
	b.sums = make([]sum, len(b.Events))
	for i, e := range b.Events {
		b.sums[i] = h.sum(b.Text[e.Start:e.End])
	}
}

func (b *Batch) split() {
	b.Events = make([]Event, 0, b.Lines)
	at, number := uint32(0), uint32(0)
	input.Lines(b.Text, b.End, func(line []byte) bool {
		n := uint32(len(line))
		if isBlank(line) {
			b.Blank++
		} else {
			b.Events = append(b.Events, Event{Start: at, End: at + n, Line: number})
		}
		at += n
		for at < uint32(len(b.Text)) && b.Text[at] != b.End { // the CR of a line end
			at++
		}
		at++
		number++
		return true
	})
	b.Kinds.Links = int64(len(b.Events))
}

func isBlank(line []byte) bool {
	for _, c := range line {
		if c > ' ' {
			return false
		}
	}
	return true
}

// excerpt is a spelling as it can be shown: short and valid.
func excerpt(p []byte) string {
	const most = 200
	if len(p) > most {
		return strings.ToValidUTF8(string(p[:most]), "\uFFFD") + "…"
	}
	return strings.ToValidUTF8(string(p), "\uFFFD")
}
