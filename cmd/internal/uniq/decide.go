package uniq

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/firstseen/firstseen/cmd/internal/logs"
	"github.com/firstseen/firstseen/internal/whatwg"
	"github.com/firstseen/firstseen/internal/wire"
)

// take decides about the lines of a batch and prints them, in order. The sets are asked about
// all of them at once.
func (r *runner) take(ctx context.Context, b *batch) error {
	r.result.URLs += b.urls
	r.result.Duplicates += b.recent
	r.result.Refused += b.refused
	r.result.ByStatus += b.byStatus
	r.result.Unreadable += b.Counts.Refused - b.unread
	for i, n := range b.filtered {
		r.result.Filtered[i] += n
	}
	r.account(b)
	err := errors.Join(r.writeRefused(b), r.passInvalid(ctx, b))
	r.collect(b)
	if err == nil {
		err = r.dropSeen(ctx)
	}
	if err == nil {
		err = r.dropCompared(ctx)
	}
	if err == nil {
		err = r.dropKnown(ctx)
	}
	if err != nil {
		return err
	}
	for _, l := range r.lines {
		l.passes = true
	}
	for i := range b.lines {
		if err := r.pass(b, &b.lines[i]); err != nil {
			return err
		}
	}
	return nil
}

// account adds the counts of a batch to those of its input.
func (r *runner) account(b *batch) {
	in := &r.result.Inputs[b.input]
	in.Units.Add(&b.Counts)
	in.URLs += b.urls
	in.NoURLs += b.refused
	for why, n := range b.reasons {
		logs.CountReason(&in.Why, why, n)
	}
	in.Refused += b.refused + b.Counts.Refused - b.unread
	for _, refusal := range b.Refusals {
		b.examples = append(b.examples, refusal.Example())
	}
	in.Examples = append(in.Examples, b.examples[:min(len(b.examples), mostExamples-len(in.Examples))]...)
}

// writeRefused writes the units and URLs of a batch that cannot be used, in order.
func (r *runner) writeRefused(b *batch) error {
	if r.opt.Refused == nil {
		return nil
	}
	all := append(b.Refusals, b.unusable...)
	slices.SortStableFunc(all, func(x, y logs.Refusal) int { return cmp.Compare(x.Line, y.Line) })
	out := json.NewEncoder(r.opt.Refused)
	out.SetEscapeHTML(false)
	for _, refused := range all {
		at := item{offset: -1}
		if b.isArchive() {
			at.offset = refused.Offset
		}
		if err := out.Encode(outRefused{whatwg.UTF8(r.fileOf(b)), refused.Line, at.start(), whatwg.UTF8(refused.Text), wire.BytesOf(refused.Text), refused.Err.Error()}); err != nil {
			return fmt.Errorf("cannot write what was refused: %w", err)
		}
	}
	return nil
}

// outRefused is a line of Options.Refused. Bytes that are not UTF-8 are as in outLine.
type outRefused struct {
	File   string `json:"file"`
	Row    int64  `json:"row"`
	Offset *int64 `json:"offset,omitempty"` // of archives
	Text   string `json:"text"`
	Bytes  []byte `json:"text_bytes,omitempty"`
	Reason string `json:"reason"`
}

// fileOf is the name of the file that a batch is of, with the member of a WACZ.
func (r *runner) fileOf(b *batch) string {
	name := r.result.Inputs[b.input].Name
	if b.Member != "" {
		name += "!" + b.Member
	}
	return name
}

// passInvalid lets those lines of a batch pass that are no URL and are new.
func (r *runner) passInvalid(ctx context.Context, b *batch) error {
	if !r.opt.KeepInvalid {
		return nil
	}
	r.lines, r.sums = r.lines[:0], r.sums[:0]
	for i := range b.lines {
		if l := &b.lines[i]; l.refused {
			r.lines, r.sums = append(r.lines, l), append(r.sums, l.sum)
		}
	}
	yes := r.answers()
	err := r.seen.Add(ctx, r.sums, yes)
	for i, l := range r.lines {
		l.passes = err == nil && yes[i]
	}
	return err
}

// collect makes r.lines the URLs of a batch, and r.sums the sums of their groups.
func (r *runner) collect(b *batch) {
	r.lines, r.sums = r.lines[:0], r.sums[:0]
	for i := range b.lines {
		if l := &b.lines[i]; !l.refused {
			r.lines, r.sums = append(r.lines, l), append(r.sums, l.group)
		}
	}
}

// answers returns room for an answer about each of r.sums.
func (r *runner) answers() []bool {
	if cap(r.yes) < len(r.sums) {
		r.yes = make([]bool, len(r.sums))
	}
	return r.yes[:len(r.sums)]
}

// keep leaves the lines for which yes[i] is want, and returns how many it dropped.
func (r *runner) keep(yes []bool, want bool) int64 {
	n := 0
	for i, l := range r.lines {
		if yes[i] == want {
			r.lines[n], r.sums[n] = l, r.sums[i]
			n++
		}
	}
	dropped := len(r.lines) - n
	r.lines, r.sums = r.lines[:n], r.sums[:n]
	return int64(dropped)
}

// dropSeen drops lines that the run has seen, unless the ledger looks at them.
func (r *runner) dropSeen(ctx context.Context) error {
	if r.ledger != nil || r.chosen != nil {
		return nil
	}
	for i, l := range r.lines {
		r.sums[i] = l.sum
	}
	yes := r.answers()
	if err := r.seen.Add(ctx, r.sums, yes); err != nil {
		return err
	}
	for i, l := range r.lines {
		r.sums[i] = l.group
	}
	r.result.Duplicates += r.keep(yes, true)
	return nil
}

// dropCompared drops lines by Options.Against.
func (r *runner) dropCompared(ctx context.Context) error {
	if !r.opt.compares() {
		return nil
	}
	yes := r.answers()
	if err := r.against.Has(ctx, r.sums, yes); err != nil {
		return err
	}
	r.result.Known += r.keep(yes, r.opt.Common)
	return nil
}

// dropKnown drops lines that earlier runs printed.
func (r *runner) dropKnown(ctx context.Context) error {
	if r.opt.Memory == nil || len(r.lines) == 0 {
		return nil
	}
	r.keys = r.keys[:0]
	for _, l := range r.lines {
		r.keys = append(r.keys, l.key)
	}
	yes := r.answers()
	if err := r.opt.Memory.has(ctx, r.keys, yes); err != nil {
		return err
	}
	r.result.Known += r.keep(yes, false)
	return nil
}

// pass prints a line that nothing dropped.
func (r *runner) pass(b *batch, l *line) error {
	it := item{text: b.text[l.start:l.end]}
	if !l.passes {
		return nil
	}
	if r.opt.Form != Text {
		it.file, it.row, it.offset = r.fileOf(b), l.row, l.offset
	}
	it.sum, it.order, it.shown, it.sorted, it.key, it.unicode = l.sum, l.order, l.shown, l.sorted, l.key, l.unicode
	switch {
	case l.refused:
		r.result.Kept++
		r.invalid(&it)
		return nil
	case r.ledger != nil:
		return r.enter(&it)
	case r.chosen != nil:
		if r.opt.ChooseBy != "" {
			r.ordered.add(l.order)
		}
		return r.chosen.add(&it)
	case r.groups != nil && !r.room(l.group):
		r.result.Duplicates++
		return nil
	}
	return r.emit(&it)
}

// emit prints a URL, or keeps it until all are sorted.
func (r *runner) emit(it *item) error {
	if r.sorter != nil {
		return r.sorter.add(it)
	}
	return r.print(it)
}

func (r *runner) print(it *item) error {
	r.url(it)
	switch {
	case r.table == nil:
		r.gathered(it)
	case r.opt.Memory == nil:
		r.result.Printed++
	default:
		r.result.Printed++
		if r.unrecorded == nil {
			var err error
			if r.unrecorded, err = newSpool(r.opt.TempDir); err != nil {
				return err
			}
		}
		_, err := r.unrecorded.put(&item{key: it.key, unicode: it.unicode})
		return err
	}
	return nil
}

// gathered notes that a line is in the output to be written.
func (r *runner) gathered(it *item) {
	r.pending = append(r.pending, printed{it.key, it.unicode, r.buf.Len()})
}

// room reports whether another line of a group may be printed, and counts it.
func (r *runner) room(group Sum) bool {
	n := r.groups[group]
	if n >= r.opt.Keep {
		return false
	}
	r.groups[group] = n + 1
	return true
}

// enter enters a line in the ledger. A duplicate is printed with the first line, if that is
// asked for.
func (r *runner) enter(it *item) error {
	e, repeated, err := r.ledger.add(it)
	if err != nil || !repeated {
		return err
	}
	r.result.Duplicates++
	if !r.opt.Duplicates {
		return nil
	}
	if it.first, err = r.ledger.firsts.textAt(e.at); err != nil {
		return err
	}
	r.duplicate(it)
	r.gathered(it)
	return nil
}

// settle prints what waits for the end of the input.
func (r *runner) settle(ctx context.Context) error {
	if r.ledger != nil {
		return r.settleLedger(ctx)
	}
	if r.chosen != nil {
		if r.result.Unordered = r.ordered.without(); r.result.Unordered > 0 && uint64(r.result.Unordered) == r.chosen.lines {
			return fmt.Errorf("cannot choose by %q: none of the %d URLs has a number or a time of that name; name a column or field of the input", r.opt.ChooseBy, r.chosen.lines)
		}
		err := r.chosen.chosen(r.opt.Choose == Last, r.ordered.areTimes(), r.space.Budget, func(it *item) error {
			r.result.Duplicates += it.n - 1
			return errors.Join(r.emit(it), r.flushIfFull(ctx))
		})
		if err != nil {
			return err
		}
	}
	if r.sorter == nil {
		return nil
	}
	return r.sorter.all(func(it *item) error { return errors.Join(r.print(it), r.flushIfFull(ctx)) })
}

// end ends a table. From then on its URLs are printed, and can be recorded.
func (r *runner) end() {
	if r.table == nil {
		return
	}
	if r.failed == nil {
		r.failed = r.table.Close()
	}
	if r.closed = r.failed == nil; !r.closed {
		r.result.Printed = 0 // and flush returns why
	}
}

// settleLedger prints what the ledger can say when the input has ended.
func (r *runner) settleLedger(ctx context.Context) error {
	r.against = nil // its memory is for the ledger
	if r.opt.Duplicates {
		return r.ledger.duplicates(func(it *item) error {
			r.result.Duplicates++
			r.duplicate(it)
			r.gathered(it)
			return r.flushIfFull(ctx)
		})
	}
	inMemory := len(r.ledger.entries)
	return r.ledger.counts(func(it *item) error {
		if inMemory--; inMemory < 0 {
			r.result.Duplicates += it.n - 1
		}
		r.count(it)
		r.gathered(it)
		return r.flushIfFull(ctx)
	})
}

func (r *runner) flushIfFull(ctx context.Context) error {
	if r.full() {
		return r.flush(ctx)
	}
	return nil
}

// flush writes the output, and then counts and records the URLs that were written: after a kill between the
// two a line is printed again, and none is lost.
func (r *runner) flush(ctx context.Context) error {
	n, err := r.write()
	if r.closed && err == nil {
		return r.recordAll(ctx)
	}
	return errors.Join(err, r.record(ctx, n))
}

// record counts the URLs that lie whole in the first n bytes of the output as printed, and records them.
func (r *runner) record(ctx context.Context, n int) error {
	whole := r.pending
	for len(whole) > 0 && whole[len(whole)-1].end > n {
		whole = whole[:len(whole)-1]
	}
	if r.pending = r.pending[:0]; r.table == nil {
		r.result.Printed += int64(len(whole))
	}
	if r.opt.Memory == nil {
		return nil
	}
	return r.opt.Memory.record(ctx, whole)
}

// recordAll records the URLs of a table that is whole.
func (r *runner) recordAll(ctx context.Context) error {
	if r.unrecorded == nil {
		return nil
	}
	err := r.unrecorded.each(func() error {
		r.pending = append(r.pending, printed{r.unrecorded.at.key, r.unrecorded.at.unicode, 0})
		if len(r.pending) < 1<<14 {
			return nil
		}
		return r.record(ctx, 0)
	})
	return errors.Join(err, r.record(ctx, 0))
}
