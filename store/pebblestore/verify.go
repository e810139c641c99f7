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
// queue rows with the state in memory, as they all were when it began. It takes
// about a fifth of a second for a million keys. Other steps go on meanwhile: the
// rows are those of a snapshot, and the index is asked for some thousand keys at a
// time.
//
// An error means that it could not read to the end, as with a wrong checksum;
// the report has what was found before.
func (s *Store) Verify(ctx context.Context) (*Report, error) {
	r := &Report{}
	done, err := s.linger()
	if err != nil {
		return r, err
	}
	defer done()
	if err := s.awaitIndex(ctx, nil); err != nil {
		return r, err
	}
	v := &verifier{ctx: ctx, s: s, r: r, gens: map[uint32]*counted{}, crawls: map[uint32]*heldRows{}}
	if err := s.do(ctx, readOp(v.begin)); err != nil {
		return r, err
	}
	err = errors.Join(v.verify(), s.unlessDead(v.snapshot.Close))
	if err != nil {
		return r, fmt.Errorf("cannot verify: %w", corruption(err))
	}
	return r, nil
}

// verifier compares the rows of a snapshot with the state in memory of its time.
type verifier struct {
	ctx      context.Context
	s        *Store
	r        *Report
	snapshot *pebble.Snapshot
	nextGen  uint32
	gens     map[uint32]*counted
	crawls   map[uint32]*heldRows // by number
	asked    []asked
	kept     []byte // the rows of asked
}

// counted is a generation, the keys it should have, and how many were read.
type counted struct {
	c       *crawl
	keys, n int64
}

// begin takes the snapshot, and notes the state in memory.
func (v *verifier) begin(*txn) error {
	v.snapshot, v.nextGen = v.s.db.NewSnapshot(), v.s.nextGen
	for _, c := range v.s.crawls {
		h := &heldRows{c: c, retired: map[uint32]bool{}}
		c.queues.addStats(&h.want)
		v.crawls[c.num] = h
		for _, g := range c.gens {
			v.gens[g.num] = &counted{c: c, keys: g.keys}
		}
	}
	for _, r := range v.s.sched.retired {
		v.crawls[r.c.num].retired[uint32(r.q.ID)] = true
	}
	return nil
}

func (v *verifier) verify() error {
	if err := v.levels(); err != nil {
		return err
	}
	if err := v.rows(); err != nil {
		return err
	}
	v.counts()
	return nil
}

// levels has Pebble check the order of its tables. Pebble takes no context: if that ends
// before, Close waits for the check.
func (v *verifier) levels() error {
	checked := make(chan error, 1)
	v.s.behind.Go(func() {
		checked <- v.s.unlessDead(func() error { return v.s.db.CheckLevels(&pebble.CheckLevelsStats{}) })
	})
	select {
	case err := <-checked:
		return err
	case <-v.ctx.Done():
		return v.ctx.Err()
	}
}

func (v *verifier) found(row []byte, format string, args ...any) {
	if len(v.r.Findings) == maxFindings {
		v.r.More++
		return
	}
	v.r.Findings = append(v.r.Findings, Finding{Row: bytes.Clone(row), Text: fmt.Sprintf(format, args...)})
}

// rows goes through all rows.
func (v *verifier) rows() error {
	it, err := v.snapshot.NewIter(nil)
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		v.r.Rows++
		value, err := it.ValueAndErr()
		if err == nil {
			v.row(it.Key(), value)
			err = v.ctx.Err()
		}
		if err == nil && len(v.asked) >= askedKeys {
			err = v.ask()
		}
		if err != nil {
			return errors.Join(err, v.s.closeAll(it))
		}
	}
	return errors.Join(it.Error(), v.s.closeAll(it), v.ask())
}

// askedKeys is how many keys the index is asked for in one step.
const askedKeys = 8192

// asked is a key that the index must have while a row is there.
type asked struct {
	c    *crawl
	key  store.Key
	row  []byte
	text string // what is wrong otherwise
}

// want has the index asked for a key of c, because of a row.
func (v *verifier) want(c *crawl, k store.Key, row []byte, text string) {
	n := len(v.kept)
	v.kept = append(v.kept, row...)
	v.asked = append(v.asked, asked{c, k, v.kept[n:len(v.kept):len(v.kept)], text})
}

// ask asks the index for keys. A key that isn't in it may have been forgotten since
// the snapshot was taken: then its row is gone, too.
func (v *verifier) ask() error {
	list := v.asked
	v.asked, v.kept = v.asked[:0], v.kept[:0]
	var missing []Finding
	err := v.s.do(v.ctx, readOp(func(*txn) error {
		for i := range list {
			a := &list[i]
			if v.s.byNum[a.c.num] != a.c {
				continue // the crawl was forgotten
			}
			known, err := a.c.seen.has(&a.key)
			if known && err == nil {
				continue
			}
			if _, closer, gone := v.s.db.Get(a.row); gone == nil {
				_ = closer.Close() // nothing can fail
			} else if errors.Is(gone, pebble.ErrNotFound) {
				continue
			}
			missing = append(missing, Finding{Row: a.row, Text: fmt.Sprintf("%s (%v)", a.text, err)})
		}
		return nil
	}))
	if err != nil {
		return err
	}
	for _, f := range missing {
		v.found(f.Row, "%s", f.Text)
	}
	return nil
}

func (v *verifier) row(key, value []byte) {
	switch key[0] {
	case tableMeta:
		if len(key) != 2 || key[1] == 0 || key[1] > metaWallTime {
			v.found(key, "a meta row of a name this version doesn't know")
		}
	case tableCrawl:
		if len(key) != 5 || v.crawls[binary.BigEndian.Uint32(key[1:])] == nil {
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
	case have.keys != g.keys:
		v.found(key, "the row says %d keys; memory says %d", g.keys, have.keys)
	case g.num >= v.nextGen:
		v.found(key, "generation %d is not below the next number, %d: it could be given out again", g.num, v.nextGen)
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
	v.want(g.c, store.Key(key[5:]), key, "the index doesn't have this key: it would be called new again")
	if len(value) > 0 {
		v.seenValue(key, value)
	}
}

func (v *verifier) counts() {
	for num, g := range v.gens {
		if g.n != g.keys {
			v.found(appendNumbered(nil, tableGen, num), "the generation has %d rows; its count says %d", g.n, g.keys)
		}
	}
	v.queueCounts()
}
