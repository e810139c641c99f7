package replay

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/cmd/internal/uniq"
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

	done, held           logs.Counts // of batches whose keys the store has, and of those whose keys are pending
	doneKinds, heldKinds Kinds

	owner  column[uint32]
	hosts  hosts
	bad    []Refusal
	codes  []string // refusal codes, by number
	isNew  int64
	unique int64 // keys of this run that it had not before

	earlier *uniq.Set  // the keys of this run, where the store had some before
	space   uniq.Space // of earlier
	// Spellings that the exact table has no room for. It has their memory, so they go to a store.
	beyond      *uniq.Set
	beyondSpace uniq.Space
	spilled     []uniq.Sum // of the pending ones
	spills      int64
	exact       int64      // different ones
	sums        []uniq.Sum // of the pending keys

	refused map[string]int64
	inputs  []InputStats
	traps   trapCounts
	sample  *sample
}

// pending is a URL on its way to the store.
type pending struct {
	ordinal uint32
	host    uint32
	input   int
	sum     uniq.Sum
	size    int64
	trap    trapNumber
}

// badRecord is the code of what the reader refused, and not the canonicalizer.
const badRecord = "bad-record"

// mostBad is how many refusals are reported in full.
const mostBad = 20

func newTally(ctx context.Context, inputs []logs.Input, opt Options, stop context.CancelCauseFunc) (*tally, error) {
	t := &tally{opt: opt, ctx: context.WithoutCancel(ctx), stop: stop, hosts: newHosts(), refused: map[string]int64{}}
	for i := range inputs {
		t.inputs = append(t.inputs, InputStats{Input: inputs[i].Name})
	}
	t.space = uniq.Space{Dir: opt.TempDir, Budget: opt.ExactBudget}
	t.beyondSpace = uniq.Space{Dir: opt.TempDir, Budget: 1}
	t.beyond = t.beyondSpace.New("spellings")
	if opt.ByRule {
		t.sample = newSample()
	}
	stats, err := opt.Store.Stats(ctx, opt.Crawl)
	if err != nil {
		return nil, err
	}
	if stats.Seen > 0 {
		t.earlier = t.space.New("keys")
	}
	return t, nil
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
	t.held.Add(&b.Counts)
	t.heldKinds.add(b.kinds)
	for _, r := range b.Refusals {
		reason := r.Err.Error()
		if r.Member != "" {
			reason = r.Member + ": " + reason
		}
		t.tell(b, r.Line, []byte(r.Text), badRecord, reason)
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
		sum: b.sums[f.event], size: event.Size, trap: f.trap,
	})
	t.keys = append(t.keys, f.key)
	t.unicode = t.unicode || f.unicode
	t.traps.show(f.trap, form)
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
		t.tell(b, b.firstLine()+int64(b.events[f.event].Line), b.spelling(f.event), code, f.err.Error())
	}
}

func (t *tally) tell(b *batch, line int64, text []byte, code, reason string) {
	if len(t.bad) < mostBad {
		t.bad = append(t.bad, Refusal{t.inputs[b.number].Input, line, excerpt(text), code, reason})
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
	firsts, err := t.firstOfRun()
	if err != nil {
		return err
	}
	t.spilled = t.spilled[:0]
	for i, p := range t.pending {
		t.answered(p, t.fresh[i], firsts[i])
	}
	fresh := make([]bool, len(t.spilled))
	if err := t.beyond.Add(t.ctx, t.spilled, fresh); err != nil {
		return err
	}
	for _, isFirst := range fresh {
		if isFirst {
			t.exact++
		}
	}
	t.spills += int64(len(t.spilled))
	t.done.Add(&t.held)
	t.doneKinds.add(t.heldKinds)
	t.held, t.heldKinds = logs.Counts{}, Kinds{}
	t.pending, t.keys, t.unicode = t.pending[:0], t.keys[:0], false
	return nil
}

// firstOfRun returns which of the keys this run has not had before.
func (t *tally) firstOfRun() ([]bool, error) {
	if t.earlier == nil { // the store had none, so they are those that are new to it
		return t.fresh, nil
	}
	t.sums = t.sums[:0]
	for _, key := range t.keys {
		t.sums = append(t.sums, uniq.Sum{Hi: binary.BigEndian.Uint64(key[:]), Lo: binary.BigEndian.Uint64(key[8:])})
	}
	firsts := make([]bool, len(t.sums))
	return firsts, t.earlier.Add(t.ctx, t.sums, firsts)
}

func (t *tally) answered(p pending, fresh, unique bool) {
	if fresh {
		t.isNew++
		t.opt.Counters.Unique.Add(1)
	}
	h := t.hosts.at(p.host)
	h.Bytes += p.size
	if unique {
		t.unique++
		h.Unique++
		t.traps[p.trap].Unique++
		t.inputs[p.input].Unique++
	} else {
		h.DuplicateBytes += p.size
	}
	if p.ordinal != noOrdinal {
		*t.owner.at(p.ordinal) = p.host + firstHost
		return
	}
	h.URLs++
	t.spilled = append(t.spilled, p.sum)
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
	return errors.Join(t.space.Close(), t.beyondSpace.Close())
}
