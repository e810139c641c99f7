package replay

import (
	"errors"
	"fmt"
	"iter"

	"github.com/firstseen/firstseen/cmd/internal/crawllog"
	"github.com/firstseen/firstseen/cmd/internal/input"
)

// Choice selects the records of a log that are events.
type Choice string

// The choices. Auto selects fetches if a log of fetches also lists URLs that were only found
// (Heritrix), and otherwise all records.
const (
	Auto    Choice = "auto"
	All     Choice = "all"
	Fetches Choice = "fetches"
	Links   Choice = "links"
)

// takes reports whether a record of a kind is an event.
func (c Choice) takes(format crawllog.Format, kind crawllog.Kind) bool {
	link := kind == crawllog.Link
	switch {
	case kind == crawllog.Other:
		return false
	case c == Fetches || c == Auto && format == crawllog.Heritrix:
		return !link
	case c == Links:
		return link
	}
	return true
}

// LogOptions configure the reading of a log.
type LogOptions struct {
	crawllog.Options
	// Events chooses the records. The default is Auto.
	Events Choice
	// Zero reads a list that has NULs as one whose lines end with NUL.
	Zero bool
}

// Log reads any log that package crawllog can read; a list of URLs by a shorter way.
func Log(f *input.File, opt LogOptions) iter.Seq2[*Batch, error] {
	if opt.Format == "" {
		opt.Format = crawllog.DetectFile(f)
	}
	if opt.Zero && (opt.Format == crawllog.Binary || opt.Format == crawllog.List && f.Binary()) {
		return list(f, 0)
	}
	if opt.Events == "" {
		opt.Events = Auto
	}
	if opt.Format == crawllog.List {
		return List(f)
	}
	opt.Links = opt.Events == Links
	return func(yield func(*Batch, error) bool) {
		b := &logBatcher{opt: opt, yield: yield}
		opt.Idle = func() { b.stopped = b.stopped || !b.flush() }
		var records iter.Seq2[crawllog.Record, error]
		b.format, records = crawllog.Read(f, opt.Options, &b.counts)
		for r, err := range records {
			if b.stopped || !b.take(r, err) {
				return
			}
		}
		if !b.stopped {
			b.flush()
		}
	}
}

// batchText and batchEvents are when a batch is full.
const (
	batchText   = 512 << 10
	batchEvents = 8 << 10
)

// A logBatcher gathers records into batches.
type logBatcher struct {
	opt     LogOptions
	format  crawllog.Format
	yield   func(*Batch, error) bool
	b       *Batch
	counts  crawllog.Counts // by the reader, up to now
	counted crawllog.Counts // of counts, what batches have
	stopped bool            // yield was false
}

// take takes a record or an error, and reports whether to continue.
func (l *logBatcher) take(r crawllog.Record, err error) bool {
	var line *crawllog.LineError
	switch {
	case errors.As(err, &line):
		l.bad(line)
	case err != nil:
		return l.flush() && l.yield(nil, err)
	default:
		l.record(r)
	}
	if l.b != nil && (len(l.b.Text) >= batchText || len(l.b.Events) >= batchEvents) {
		return l.flush()
	}
	return true
}

func (l *logBatcher) batch(line int64) *Batch {
	if l.b == nil {
		l.b = &Batch{Format: string(l.format), First: line}
	}
	return l.b
}

func (l *logBatcher) bad(e *crawllog.LineError) {
	b := l.batch(e.Line)
	if b.BadCount++; len(b.Bad) < mostBad {
		b.Bad = append(b.Bad, Refusal{Line: e.Line, Text: excerpt([]byte(e.Text)), Code: "bad-record", Reason: fmt.Sprint(e.Err)})
	}
}

func (l *logBatcher) record(r crawllog.Record) {
	b := l.batch(r.Line)
	if !l.opt.Events.takes(l.format, r.Kind) {
		b.Skipped++
		return
	}
	switch r.Kind {
	case crawllog.Revisit:
		b.Kinds.Revisits++
	case crawllog.Link:
		b.Kinds.Links++
	default:
		b.Kinds.Fetches++
	}
	if l.opt.Declared && r.Kind == crawllog.Fetch && r.Redirect == "" && (r.Status == 0 || r.Status == 200) {
		b.Fetched = append(b.Fetched, Fetched{r.URL, r.Digest, r.Canonical, r.NoVarySearch, r.CleanParam})
	}
	e := Event{Line: uint32(max(r.Line-b.First, 0)), Size: r.Length}
	if !r.Time.IsZero() {
		e.Time = r.Time.Unix()
	}
	e.Start, e.End = b.append(r.URL)
	if r.Redirect != "" {
		e.ToStart, e.ToEnd = b.append(r.Redirect)
	}
	b.Events = append(b.Events, e)
}

func (b *Batch) append(s string) (start, end uint32) {
	start = uint32(len(b.Text))
	b.Text = append(b.Text, s...)
	return start, uint32(len(b.Text))
}

// flush hands the batch on, with the lines that held no record.
func (l *logBatcher) flush() bool {
	if l.b == nil && l.counts == l.counted {
		return true
	}
	b := l.batch(1)
	b.Lines += l.counts.Lines - l.counted.Lines
	b.Skipped += l.counts.Skipped - l.counted.Skipped
	l.counted = l.counts
	l.b = nil
	return l.yield(b, nil)
}
