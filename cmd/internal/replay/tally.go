package replay

import (
	"context"
	"errors"
	"sync"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/store"
)

// A tally is the last stage: it offers keys to the store and counts the answers.
// What it has counted was acknowledged by the store.
type tally struct {
	opt     Options
	ctx     context.Context
	stop    context.CancelCauseFunc
	failed  error
	pending []pending
	keys    []store.Key
	fresh   []bool
	unicode bool

	lines   lineCounts
	held    lineCounts // of batches whose keys are pending
	owner   column[uint32]
	hosts   hosts
	bad     []Refusal
	spill   spill
	codes   []string // refusal codes, by number
	isNew   int64
	earlier *keySet // the keys of this run, where the store had some before
	refused map[string]int64
	files   fileErrors

	inputs    []InputStats
	kinds     Kinds
	heldKinds Kinds
	series    *series // of unique URLs
	clock     *series
	patterns  patternCounts
	redirects redirectCounts
	sample    *sample
	declared  *declarations
}

// lineCounts are the counts of a batch that need no store.
type lineCounts struct{ lines, blank, skipped, bad int64 }

func (l *lineCounts) add(m lineCounts) {
	l.lines += m.lines
	l.blank += m.blank
	l.skipped += m.skipped
	l.bad += m.bad
}

// pending is a URL on its way to the store.
type pending struct {
	ordinal  uint32
	host     uint32
	input    int
	sum      sum
	event    int64
	time     int64
	size     int64
	patterns patternSet
}

// badRecord is the code of what the reader refused, and not the canonicalizer.
const badRecord = "bad-record"

// mostBad is how many refusals are reported in full.
const mostBad = 20

// fileErrors are the inputs that failed; two stages write to it.
type fileErrors struct {
	mu   sync.Mutex
	list []InputError
}

func newTally(ctx context.Context, opt Options, stop context.CancelCauseFunc) (*tally, error) {
	t := &tally{opt: opt, ctx: context.WithoutCancel(ctx), stop: stop, hosts: newHosts(), refused: map[string]int64{}}
	t.spill.dir, t.spill.name = opt.TempDir, "exact"
	t.series, t.clock = newSeries(eventStretch), newSeries(timeStretch)
	if opt.ByRule {
		t.sample = newSample()
	}
	if opt.Declared {
		t.declared = newDeclarations(opt.Profile)
	}
	stats, err := opt.Store.Stats(ctx, opt.Crawl)
	if err != nil {
		return nil, err
	}
	if stats.Seen > 0 {
		t.earlier = newKeySet(opt)
	}
	return t, nil
}

func (t *tally) inputFailed(name string, err error) {
	t.files.mu.Lock()
	defer t.files.mu.Unlock()
	t.files.list = append(t.files.list, InputError{Input: name, Message: err.Error(), err: err})
}

// run counts batches until there are no more. After a failure it only drains.
func (t *tally) run(batches <-chan *batch) {
	for b := range batches {
		<-b.ready
		if t.failed == nil {
			t.fail(t.count(b))
		}
		b.Release()
	}
	if t.failed == nil {
		t.fail(t.flush())
	}
}

func (t *tally) fail(err error) {
	if err != nil {
		t.failed = err
		t.stop(err)
	}
}

func (t *tally) count(b *batch) error {
	c := &b.Counts
	t.held.add(lineCounts{c.Units, c.Blank, c.Skipped(), c.Refused})
	t.heldKinds.add(b.kinds)
	for _, r := range b.Refusals {
		reason := r.Err.Error()
		if r.Member != "" {
			reason = r.Member + ": " + reason
		}
		t.tell(Refusal{Line: r.Line, Text: excerpt([]byte(r.Text)), Code: badRecord, Reason: reason, number: b.number})
	}
	if t.declared != nil {
		for i := range b.Records {
			if r := &b.Records[i]; r.Kind == logs.Fetch && r.Redirect == "" && (r.Status == 0 || r.Status == 200) {
				t.declared.add(r)
			}
		}
	}
	for i := range b.found {
		f := &b.found[i]
		if f.err != nil {
			t.refuse(b, f, b.ordinals[f.event])
			continue
		}
		t.accept(b, f)
	}
	t.countInput(b)
	if len(t.keys) >= seeBatch {
		return t.flush()
	}
	return nil
}

// accept takes a spelling with a canonical form up for the store.
func (t *tally) accept(b *batch, f *found) {
	event := b.events[f.event]
	form := b.canon[f.start:f.end]
	t.pending = append(t.pending, pending{
		ordinal: b.ordinals[f.event], host: t.hosts.number(b.canon[f.hostAt : f.hostAt+f.host]), input: b.number,
		sum: b.sums[f.event], event: int64(b.base) + int64(f.event), time: event.Time, size: event.Size, patterns: f.patterns,
	})
	t.keys = append(t.keys, f.key)
	t.unicode = t.unicode || f.unicode
	t.patterns.show(f.patterns, form)
	t.redirects.add(f.redirect, b.spelling(f.event), f.to)
	if t.sample != nil {
		t.sample.add(f.group, b.spelling(f.event))
	}
}

// refuse counts a URL that has no canonical form, with all its repeats.
func (t *tally) refuse(b *batch, f *found, ordinal uint32) {
	code := canon.Code(f.err)
	if f.unread {
		code = badRecord
	}
	if ordinal == noOrdinal {
		t.refused[code]++
	} else {
		*t.owner.at(ordinal) = t.refusedOwner(code)
	}
	if len(t.bad) < mostBad {
		event := b.events[f.event]
		t.tell(Refusal{Line: b.firstLine() + int64(event.Line), Text: excerpt(b.spelling(f.event)), Code: code, Reason: f.err.Error(), number: b.number})
	}
}

func (t *tally) tell(r Refusal) {
	if len(t.bad) < mostBad {
		t.bad = append(t.bad, r)
	}
}

// flush offers the pending keys to the store, and counts once it has answered.
func (t *tally) flush() error {
	t.fresh = append(t.fresh[:0], make([]bool, len(t.keys))...)
	if len(t.keys) > 0 {
		opt := store.SeeOptions{UnicodeHosts: t.unicode}
		if err := t.opt.Store.See(t.ctx, t.opt.Crawl, t.keys, t.fresh, opt); err != nil {
			return err
		}
	}
	for i, p := range t.pending {
		if err := t.answered(p, t.keys[i], t.fresh[i]); err != nil {
			return err
		}
	}
	t.lines.add(t.held)
	t.kinds.add(t.heldKinds)
	t.held, t.heldKinds = lineCounts{}, Kinds{}
	t.pending, t.keys, t.unicode = t.pending[:0], t.keys[:0], false
	return nil
}

func (t *tally) answered(p pending, key store.Key, fresh bool) error {
	if fresh {
		t.isNew++
		t.opt.Counters.Unique.Add(1)
	}
	unique := fresh
	if t.earlier != nil {
		var err error
		if unique, err = t.earlier.add(key); err != nil {
			return err
		}
	}
	h := t.hosts.at(p.host)
	h.Bytes += p.size
	if unique {
		h.Unique++
		t.patterns.add(p.patterns)
		t.inputs[p.input].Unique++
		t.series.at(p.event).Unique++
		if p.time > 0 {
			t.clock.at(p.time).Unique++
		}
	} else {
		h.DuplicateBytes += p.size
	}
	if p.ordinal != noOrdinal {
		*t.owner.at(p.ordinal) = p.host + firstHost
		return nil
	}
	h.URLs++
	return t.spill.add(p.sum)
}

// Values of owner: whose a spelling is. Zero means that the store hasn't answered.
const (
	firstRefusal = 1
	firstHost    = 16
)

func (t *tally) refusedOwner(code string) uint32 {
	for i, c := range t.codes {
		if c == code {
			return firstRefusal + uint32(i)
		}
	}
	t.codes = append(t.codes, code)
	return firstRefusal + uint32(len(t.codes)-1)
}

func (t *tally) close() error {
	err := t.spill.close()
	if t.earlier != nil {
		err = errors.Join(err, t.earlier.over.close())
	}
	return err
}
