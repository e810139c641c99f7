package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
)

// Verify compares everything that is kept twice: checksums with bytes, counts with rows, keys with the index, a
// URL with the place that leads to it, a queue's state with its first URLs. The rows are read from a snapshot, and the counts in memory
// are copied in the step that takes it, so other steps can continue. Keys are looked up in the live index, a few thousand a step, and
// a missing one counts only if its row or generation is still there.
//
// Stopping the store would have been simpler, but Verify takes minutes for a billion keys.

// Report is what Verify found.
type Report struct {
	Rows     int64 // read
	Keys     int64 // known
	Findings []Finding
	// More is the number of findings that are not listed.
	More int64
	// Repaired is what an Open with OpenRepair corrected.
	Repaired []string
}

// Finding is something wrong.
type Finding struct {
	Row  []byte // key of the row, if it is about one
	Text string // the error, and its consequence
}

// maxFindings bounds the list of a report.
const maxFindings = 100

// Verify reads the whole database and all run files, and compares them with each
// other: every block's checksum and the order of the tables (Pebble's own check), every
// row's form, every key's order, checksum and presence in the index, every count, the
// first URL of every queue, and the place of every URL, as they all were when it
// began. It takes about a fifth of a second for a million keys, and memory for the queues
// that hold URLs. Other steps run in the meantime: the rows are those of a snapshot, and the
// index is asked for a few thousand keys at a time.
//
// An error means that Verify could not read to the end, as with a wrong checksum;
// the report has the findings until then.
func (s *Store) Verify(ctx context.Context) (*Report, error) {
	r := &Report{Repaired: s.repaired}
	done, err := s.linger()
	if err != nil {
		return r, err
	}
	defer done()
	v := newVerifier(ctx, s, r)
	if err := s.read(ctx, v.begin); err != nil {
		return r, err
	}
	err = errors.Join(v.verify(), v.end())
	if err != nil {
		return r, cmp.Or(s.failure(), fmt.Errorf("cannot verify: %w", corruption(err))) // what a store that failed last wrote is not there
	}
	return r, nil
}

// verifies returns an error unless the store verifies.
func (s *Store) verifies(ctx context.Context) error {
	r, err := s.Verify(ctx)
	if err == nil && len(r.Findings) > 0 {
		err = fault.As(store.ErrCorrupt, "%d findings, the first of row %x: %s", int64(len(r.Findings))+r.More, r.Findings[0].Row, r.Findings[0].Text)
	}
	return err
}

// verifier compares the rows of a snapshot with the state in memory of its time.
type verifier struct {
	ctx      context.Context
	s        *Store
	r        *Report
	snapshot *pebble.Snapshot
	runs     heldRuns
	nextGen  uint32
	gens     map[uint32]*counted
	crawls   map[uint32]*heldRows // by number
	asked    []asked

	// Of the queue side, as they were read.
	places map[placeKey]pointer      // that the journal has
	states map[string]journalState   // that the journal has, by the key of the queue's row
	queues map[queueNum]*urlsOfQueue // that have queued URLs by their state

	firstPlaces, firstJournal uint64 // the numbers of the first rows that were read
}

func newVerifier(ctx context.Context, s *Store, r *Report) *verifier {
	return &verifier{ctx: ctx, s: s, r: r, gens: map[uint32]*counted{}, crawls: map[uint32]*heldRows{},
		places: map[placeKey]pointer{}, queues: map[queueNum]*urlsOfQueue{}}
}

// counted is a generation as it was, and how many keys were read.
type counted struct {
	c       *crawl
	g       *generation
	keys, n int64
	low     *store.Key
	runs    []*run // that no row was read of
}

// begin takes the snapshot, notes the state in memory, and holds the runs.
func (v *verifier) begin(*txn) error {
	v.snapshot, v.nextGen, v.runs = v.s.db.NewSnapshot(), v.s.nextGen, v.s.holdRuns()
	for _, c := range v.s.crawls {
		v.crawls[c.num] = &heldRows{c: c, held: c.queues.Held, retired: map[uint32]bool{}}
		for _, g := range c.gens {
			v.gens[g.num] = &counted{c: c, g: g, keys: g.keys, low: g.low, runs: slices.Clone(g.runs)}
			for _, r := range g.runs {
				v.runs.hold(r)
			}
		}
	}
	for _, r := range v.s.sched.retired {
		v.crawls[r.q.crawl().num].retired[r.q.id] = true
	}
	return nil
}

func (v *verifier) end() error {
	v.runs.release()
	return v.snapshot.Close()
}

func (v *verifier) verify() error {
	for _, step := range []func() error{v.levels, v.s.checkTables, v.journals, v.rows} {
		if err := step(); err != nil {
			return err
		}
	}
	v.counts()
	return nil
}

// levels has Pebble check the order of its tables. Pebble takes no context: if that ends
// before, Close waits for the check.
func (v *verifier) levels() error {
	checked := make(chan error, 1)
	v.s.behind.Go(func() {
		checked <- v.s.db.CheckLevels(&pebble.CheckLevelsStats{})
	})
	select {
	case err := <-checked:
		if failed := (*fs.PathError)(nil); err == nil || errors.As(err, &failed) || pebble.IsCorruptionError(err) {
			return err
		}
		return fault.As(store.ErrCorrupt, "the tables of Pebble contradict one another: %s; %s", firstLine(err), adviceDamaged)
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

// unreadable reports a row that cannot be read, if there is an error.
func (v *verifier) unreadable(row []byte, err error) bool {
	if err != nil {
		v.found(row, "%v", err)
	}
	return err != nil
}

func (v *verifier) rows() error {
	err := scanRows(v.snapshot, nil, nil, func(key, value []byte) error {
		v.r.Rows++
		err := cmp.Or(v.row(key, value), v.ctx.Err())
		if err == nil && len(v.asked) >= askedKeys {
			err = v.ask()
		}
		return err
	})
	if err != nil {
		return err
	}
	return v.ask()
}

// askedKeys is how many keys the index is asked for in one step.
const askedKeys = 8192

// asked is a key that the index must have: while a row is there, or while a
// generation has it.
type asked struct {
	c    *crawl
	key  store.Key
	row  []byte
	g    *generation // nil: row counts
	text string      // the finding otherwise
}

// want has the index asked for a key of c, because of a row.
func (v *verifier) want(c *crawl, k store.Key, row []byte, text string) {
	v.asked = append(v.asked, asked{c: c, key: k, row: bytes.Clone(row), text: text})
}

// ask asks the index for keys. A key that is not in it may have been forgotten since
// the snapshot was taken.
func (v *verifier) ask() error {
	var missing []*asked
	err := v.s.read(v.ctx, func(*txn) error {
		for i := range v.asked {
			a := &v.asked[i]
			if a.c.gone || a.g != nil && (a.g.gone || a.g.hidden(&a.key)) {
				continue
			}
			known, err := a.c.seen.has(&a.key)
			if err != nil {
				return err
			}
			if !known && (a.g != nil || v.s.hasRow(a.row)) {
				missing = append(missing, a)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, a := range missing {
		v.found(a.row, "key %x: %s", a.key, a.text)
	}
	v.asked = v.asked[:0]
	return nil
}

func (v *verifier) row(key, value []byte) error {
	switch table, n := key[0], len(key); {
	case table == tableMeta && n == 2 && key[1] > 0 && key[1] <= metaWallTime:
	case table == tableGen:
		v.generation(key, value)
	case table == tablePacked:
		return v.packed(key, value)
	case table == tableRun:
		return v.run(key, value)
	case table == tableTomb && n == keyRowLen:
		v.tomb(key)
	case table == tablePlace && n == keyRowLen:
		v.place(key, value)
	case table == tableOrder && n > 5:
		return v.queued(key, value)
	case table == tableMark && n == 13:
		v.crawlOf(key)
		_, err := parseMark(key, value)
		v.unreadable(key, err)
	case table == tableLease && n == 9:
		return v.leased(key, value)
	case table == tableDone && n == 9+keyLen:
		return v.ended(key)
	case table == tableQueue && n >= 5:
		v.queue(key, value)
	case table == tableCrawl && n == 5, (table == tableName || table == tableRetired) && n == 9:
		v.crawlOf(key)
	case table == tableJournal && n == 9:
		v.journalRow(key, v.firstJournal)
	case table == tablePlaces && n == 9:
		v.journalRow(key, v.firstPlaces)
	case table == tableCrawlQueues && (n == 1 || n == 5):
	default:
		v.found(key, "a row of no table that this version knows")
	}
	return nil
}

func (v *verifier) generation(key, value []byte) {
	crawl, g, err := parseGeneration(key, value)
	if v.unreadable(key, err) {
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

func (v *verifier) packed(key, value []byte) error {
	gen, _, value, err := parsePackedRow(key, value)
	if v.unreadable(key, err) {
		return nil
	}
	g := v.gens[gen]
	if g == nil {
		v.found(key, "packed keys of a generation that isn't there")
		return nil
	}
	var keys []store.Key
	for ; len(value) > 0; value = value[keyLen:] {
		keys = append(keys, store.Key(value))
	}
	return v.keysOf(g, keys)
}

// run verifies a run, with all of its keys.
func (v *verifier) run(key, value []byte) error {
	gen, id, place, err := parseRunRow(key, value)
	if v.unreadable(key, err) {
		return nil
	}
	g := v.gens[gen]
	i := -1
	if g != nil {
		i = slices.IndexFunc(g.runs, func(r *run) bool { return r.File.ID() == id && r.Place == place })
	}
	if i < 0 {
		v.found(key, "a run that isn't loaded")
		return nil
	}
	r := g.runs[i]
	v.unreadable(key, r.File.Damage())
	g.runs = slices.Delete(g.runs, i, i+1)
	var last store.Key
	n := int64(0)
	for from := r.Read(nil); ; {
		keys, err := from()
		if err != nil {
			v.s.damage.note(r.File.Path(), err)
			return err
		}
		if len(keys) == 0 {
			break
		}
		for j := range keys {
			if n++; n > 1 && last.Compare(keys[j]) >= 0 {
				v.found(key, "key %x of the run comes after %x", keys[j], last)
			}
			last = keys[j]
		}
		if err := v.keysOf(g, keys); err != nil {
			return err
		}
	}
	if n != place.Keys {
		v.found(key, "the run has %d keys; its row says %d", n, place.Keys)
	}
	return nil
}

// keysOf counts keys of a generation, and has the index asked for them.
func (v *verifier) keysOf(g *counted, keys []store.Key) error {
	for i := range keys {
		if g.low != nil && keys[i].Compare(*g.low) <= 0 {
			continue
		}
		g.n++
		v.r.Keys++
		v.asked = append(v.asked, asked{c: g.c, key: keys[i], g: g.g, text: "the index doesn't have it: it would be called new again"})
		if len(v.asked) >= askedKeys {
			if err := v.ask(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *verifier) tomb(key []byte) {
	g, k := v.gens[binary.BigEndian.Uint32(key[1:])], store.Key(key[5:])
	if g == nil {
		v.found(key, "a tombstone of a generation that isn't there")
		return
	}
	if g.low == nil || k.Compare(*g.low) > 0 {
		g.n--
		v.r.Keys--
	}
}

// counts compares the rows with the counts, after all rows were read.
func (v *verifier) counts() {
	for num, g := range v.gens {
		if g.n != g.keys {
			v.found(appendNumbered(nil, tableGen, num), "the generation has %d keys; its count says %d", g.n, g.keys)
		}
		for _, r := range g.runs {
			v.found(appendRunRow(nil, num, r.File.ID()), "a run without a row: its keys would be lost")
		}
	}
	v.queueCounts()
}

// # The queue side

// heldRows counts the rows of URLs of a crawl that are in a queue or leased.
type heldRows struct {
	c              *crawl
	held           int64 // by the counts
	queued, leased int64
	retired        map[uint32]bool
}

const heldText = "the URL is held and its key isn't in the index: it would be called new"

// urlsOfQueue is a queue by its state, and its URLs as they were read.
type urlsOfQueue struct {
	q      *queue
	row    []byte
	n      int64
	levels uint8 // of which URLs were read
}

// journals reads the journals of the snapshot.
func (v *verifier) journals() (err error) {
	var values [][]byte
	if v.firstPlaces, values, err = journalRows(v.snapshot, tablePlaces); err != nil {
		return err
	}
	for _, row := range values {
		if err := eachPlace(row, func(k placeKey, p pointer) { v.places[k] = p }); err != nil {
			return err
		}
	}
	if v.firstJournal, values, err = journalRows(v.snapshot, tableJournal); err != nil {
		return err
	}
	v.states, err = journalStates(v.firstJournal, values, &journal{})
	return err
}

// journalRow reports a row that journals did not read.
func (v *verifier) journalRow(key []byte, first uint64) {
	if binary.BigEndian.Uint64(key[1:]) < first {
		v.found(key, "a journal row before a row that is missing")
	}
}

// crawlOf returns the crawl that a row names, and reports if there is none.
func (v *verifier) crawlOf(key []byte) *heldRows {
	h := v.crawls[binary.BigEndian.Uint32(key[1:])]
	if h == nil {
		v.found(key, "a row of a crawl that isn't there")
	}
	return h
}

// queue notes a queue whose state has queued URLs.
func (v *verifier) queue(key, value []byte) {
	h := v.crawlOf(key)
	if h == nil {
		return
	}
	st, _ := newer(v.states, key, value)
	q, err := parseQueue(h.c, string(key[5:]), st.value)
	if v.unreadable(key, err) {
		return
	}
	if q.Queued > 0 || q.Levels() != 0 {
		v.queues[queueNum{h.c.num, q.id}] = &urlsOfQueue{q: q, row: bytes.Clone(key)}
	}
}

func (v *verifier) queued(key, value []byte) error {
	h := v.crawlOf(key)
	if h == nil {
		return nil
	}
	rec, err := recordAt(key, value)
	if v.unreadable(key, err) {
		return nil
	}
	num, priority, at := queueNumber(key), rec.Priority, rec.Place()
	if h.retired[num] {
		return nil // it is being forgotten, and so is its key, unless that was queued elsewhere
	}
	h.queued++
	v.want(h.c, rec.Key, key, heldText)
	if u := v.queues[queueNum{h.c.num, num}]; u != nil {
		u.n++
		if u.levels&(1<<priority) == 0 && u.q.Head(priority) != at {
			v.found(key, "the first URL of priority %d is not the one that the queue's state names: URLs would not be served", priority)
		}
		u.levels |= 1 << priority
	} else {
		v.found(key, "the URL is in a queue that holds none by its state: it would not be served")
	}
	return v.wantPlace(h, &rec.Key, key, pointer{num, priority, at})
}

// wantPlace verifies that a key leads to where its URL is; to the queue only if p has no
// arrival number.
func (v *verifier) wantPlace(h *heldRows, k *store.Key, row []byte, p pointer) error {
	have, err := v.placeOf(h.c, k)
	if err == nil && (have.queue != p.queue || p.at.Seq > 0 && have != p) {
		v.found(row, "the place of the URL's key is another: it cannot be found by its key")
	}
	return err
}

// placeOf returns the place of a key, the zero pointer if it has none.
func (v *verifier) placeOf(c *crawl, k *store.Key) (pointer, error) {
	if p, ok := v.places[placeKey{c.num, *k}]; ok {
		return p, nil
	}
	p, err := readPlace(v.snapshot, c.num, k)
	if errors.Is(err, store.ErrCorrupt) {
		err = nil // place reports what can't be read
	}
	return p, err
}

func (v *verifier) leased(key, value []byte) error {
	l, err := parseLease(key, value)
	if v.unreadable(key, err) {
		return nil
	}
	h := v.crawls[l.crawl]
	if h == nil {
		v.found(key, "a lease of a crawl that isn't there")
		return nil
	}
	if l.over { // its key may have been forgotten by age
		return nil
	}
	h.leased++
	if h.retired[l.queue] {
		return nil
	}
	v.want(h.c, l.rec.Key, key, heldText)
	return v.wantPlace(h, &l.rec.Key, key, pointer{queue: l.queue})
}

// ended verifies the row of a URL that was completed or dropped.
func (v *verifier) ended(key []byte) error {
	h := v.crawlOf(key)
	if h == nil || h.retired[queueNumber(key)] {
		return nil
	}
	k := store.Key(key[9:])
	return v.wantPlace(h, &k, key, pointer{queue: queueNumber(key)})
}

func (v *verifier) place(key, value []byte) {
	v.crawlOf(key)
	_, err := parsePointer(value)
	v.unreadable(key, err)
}

// queueCounts is counts for the queue side.
func (v *verifier) queueCounts() {
	for _, h := range v.crawls {
		if h.queued+h.leased != h.held {
			v.found(nil, "crawl %q has rows of %d queued and %d leased URLs; its counts say %d held",
				h.c.name, h.queued, h.leased, h.held)
		}
	}
	for _, u := range v.queues {
		if u.n != u.q.Queued || u.levels != u.q.Levels() {
			v.found(u.row, "the queue has %d URLs, of priorities %08b; its state says %d, of %08b", u.n, u.levels, u.q.Queued, u.q.Levels())
		}
	}
}
