package pebblestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/store"
)

// Report is what Verify found.
type Report struct {
	Rows     int64 // read
	Keys     int64 // seen rows among them
	Findings []Finding
	// More is the number of findings that are not listed.
	More int64
}

// Finding is something wrong.
type Finding struct {
	Row  []byte // key of the row, if it is about one
	Text string // what is wrong, and what it means
}

// maxFindings bounds the list of a report.
const maxFindings = 100

// Verify reads the whole database and compares it with itself: every block's
// checksum and the order of the tables (Pebble's own check), every row's form,
// every seen row's generation and presence in the index, every count, and the
// queue rows with the state in memory. Writes wait meanwhile, about a fifth of a
// second for a million keys.
//
// An error means that it could not read to the end, as with a wrong checksum;
// the report has what was found before.
func (s *Store) Verify(ctx context.Context) (*Report, error) {
	o := &verifyOp{ctx: ctx, report: &Report{}}
	if s.opt.ReadOnly {
		if err := s.usable(); err != nil {
			return nil, err
		}
		return o.report, o.verify(s)
	}
	err := s.do(ctx, o)
	return o.report, err
}

type verifyOp struct {
	ctx    context.Context
	report *Report
}

func (o *verifyOp) weight() int { return 1 }

func (o *verifyOp) apply(tx *txn) error {
	if tx.flush(); tx.err != nil {
		return tx.err
	}
	return o.verify(tx.s)
}

func (o *verifyOp) verify(s *Store) error {
	if err := s.db.CheckLevels(&pebble.CheckLevelsStats{}); err != nil {
		return fmt.Errorf("cannot verify: %w", corruption(err))
	}
	v := &verifier{s: s, r: o.report, gens: map[uint32]*counted{}, queues: map[uint32]*heldRows{}}
	for _, c := range s.crawls {
		for _, g := range c.gens {
			v.gens[g.num] = &counted{c: c, g: g}
		}
	}
	if err := v.rows(o.ctx); err != nil {
		return fmt.Errorf("cannot verify: %w", corruption(err))
	}
	v.counts()
	return nil
}

// verifier compares rows with the state in memory.
type verifier struct {
	s    *Store
	r    *Report
	gens map[uint32]*counted
	// queues are the rows read of each crawl, by its number.
	queues map[uint32]*heldRows
}

// counted is a generation and how many of its rows were read.
type counted struct {
	c *crawl
	g *generation
	n int64
}

func (v *verifier) found(row []byte, format string, args ...any) {
	if len(v.r.Findings) == maxFindings {
		v.r.More++
		return
	}
	v.r.Findings = append(v.r.Findings, Finding{Row: bytes.Clone(row), Text: fmt.Sprintf(format, args...)})
}

func (v *verifier) rows(ctx context.Context) error {
	it, err := v.s.db.NewIter(nil)
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		if v.r.Rows++; v.r.Rows%65536 == 0 && ctx.Err() != nil {
			return errors.Join(ctx.Err(), it.Close())
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return errors.Join(err, it.Close())
		}
		v.row(it.Key(), value)
	}
	return errors.Join(it.Error(), it.Close())
}

func (v *verifier) row(key, value []byte) {
	switch key[0] {
	case tableMeta:
		if len(key) != 2 || key[1] == 0 || key[1] > metaRuns {
			v.found(key, "a meta row of a name this version doesn't know")
		}
	case tableCrawl:
		if len(key) != 5 || v.s.byNum[binary.BigEndian.Uint32(key[1:])] == nil {
			v.found(key, "a crawl row that isn't loaded")
		}
	case tableGen:
		v.generation(key, value)
	case tableSeen:
		v.seen(key, value)
	default:
		v.queueRow(key, value)
	}
}

func (v *verifier) generation(key, value []byte) {
	crawl, g, err := parseGeneration(key, value)
	if err != nil {
		v.found(key, "%v", err)
		return
	}
	have := v.gens[g.num]
	switch {
	case have == nil || have.c.num != crawl:
		v.found(key, "a generation row of crawl %d that isn't loaded", crawl)
	case have.g.keys != g.keys:
		v.found(key, "the row says %d keys; memory says %d", g.keys, have.g.keys)
	case g.num >= v.s.nextGen:
		v.found(key, "generation %d is not below the next number, %d: it could be given out again", g.num, v.s.nextGen)
	}
}

func (v *verifier) seen(key, value []byte) {
	v.r.Keys++
	if len(key) != seenRowLen {
		v.found(key, "a seen row of %d bytes; want %d", len(key), seenRowLen)
		return
	}
	g := v.gens[binary.BigEndian.Uint32(key[1:])]
	if g == nil {
		v.found(key, "a seen row of a generation that isn't there: it answers no question and takes up room")
		return
	}
	g.n++
	k := store.Key(key[5:])
	if known, err := g.c.seen.has(&k); err != nil || !known {
		v.found(key, "the index doesn't have this key (%v): it would be called new again", err)
	}
	if len(value) > 0 {
		v.seenValue(key, value)
	}
}

func (v *verifier) counts() {
	for num, g := range v.gens {
		if g.n != g.g.keys {
			v.found(appendNumbered(nil, tableGen, num), "the generation has %d rows; its count says %d", g.n, g.g.keys)
		}
	}
	v.queueCounts()
}
