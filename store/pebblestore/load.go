package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/sync/errgroup"

	"github.com/firstseen/firstseen/internal/fault"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/runfile"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// Open reads the places of all runs and the keys of packed rows into memory, and compares
// their numbers with the generations' counts. Tables and runs answer until the index is filled
// from runs and packed rows in the background.
//
// An earlier version leased URLs before the packed keys were in tables. That took a lock, two kinds
// of steps and a phase of the index, and saved 0.2 s at a restart.

// load reads the state from disk into memory.
func (s *Store) load() error {
	for _, load := range []func() error{s.loadMeta, s.loadCrawls, s.loadWallTime, s.openAlsoSeen} {
		if err := load(); err != nil {
			return err
		}
	}
	var tables errgroup.Group
	for _, load := range []func() error{s.loadKeys, s.loadQueues, s.loadPlaces} {
		tables.Go(load)
	}
	if err := tables.Wait(); err != nil {
		return err
	}
	if s.note != nil {
		var runs []runNote
		for g := range s.generations() {
			for _, r := range g.runs {
				runs = append(runs, noteOfRun(r.File))
			}
		}
		slices.SortFunc(runs, runNote.compare)
		runs = slices.Compact(runs)
		return cmp.Or(s.note.complete(runs), s.cleanRuns(runs)) // a store that is refused keeps all of its files
	}
	return nil
}

// loadCrawls reads the crawls and their generations.
func (s *Store) loadCrawls() error {
	err := s.scan([]byte{tableCrawl}, rowBound(tableCrawl), func(key, value []byte) error {
		if len(key) != 5 {
			return fmt.Errorf("cannot read crawl row %x: %w", key, store.ErrCorrupt)
		}
		s.addCrawl(&crawl{num: binary.BigEndian.Uint32(key[1:]), name: string(value)})
		return nil
	})
	if err != nil {
		return err
	}
	return s.scan([]byte{tableGen}, rowBound(tableGen), func(key, value []byte) error {
		num, g, err := parseGeneration(key, value)
		if err != nil {
			return err
		}
		c := s.byNum[num]
		if c == nil {
			return fmt.Errorf("cannot read generation row %x; got unknown crawl %d: %w", key, num, store.ErrCorrupt)
		}
		g.c, c.gens = c, append(c.gens, g)
		return nil
	})
}

// formatOf returns the format of a database, 0 if it is empty.
func formatOf(db *pebble.DB) (format uint32, err error) {
	err = readRow(db, metaKey(metaFormat), func(row []byte) error {
		if len(row) != 4 {
			return fmt.Errorf("got format row %x; want 4 bytes: %w", row, store.ErrCorrupt)
		}
		format = binary.BigEndian.Uint32(row)
		return nil
	})
	if err != nil || format > 0 {
		return format, corruption(err)
	}
	it, err := db.NewIter(nil)
	if err != nil {
		return 0, err
	}
	if it.First() {
		err = fault.As(store.ErrFormat, "got a Pebble database without our format row")
	}
	return 0, errors.Join(err, it.Close())
}

// loadMeta reads the meta rows into s, or stamps a new database.
func (s *Store) loadMeta() error {
	format, err := formatOf(s.db)
	if err != nil {
		return err
	}
	if format == 0 && s.opt.Mode == OpenOrCreate {
		return s.stampNew()
	}
	if format != s.opt.format {
		return s.opt.otherFormat(format, s.dir)
	}
	rows := map[byte][]byte{}
	err = s.scan([]byte{tableMeta}, rowBound(tableMeta), func(key, value []byte) error {
		rows[key[len(key)-1]] = bytes.Clone(value)
		return nil
	})
	if err != nil {
		return err
	}
	flags, next, secret, identity := rows[metaFlags], rows[metaNext], rows[metaSecret], rows[metaIdentity]
	if len(flags) != 1 || len(next) != 8 || len(secret) != secretLen {
		return fmt.Errorf("cannot read the meta rows; got flags of %d bytes, numbers of %d and a secret of %d; want 1, 8 and %d: %w",
			len(flags), len(next), len(secret), secretLen, store.ErrCorrupt)
	}
	s.unicodeHosts = flags[0]&flagUnicodeHosts != 0
	s.nextCrawl, s.nextGen = binary.BigEndian.Uint32(next), binary.BigEndian.Uint32(next[4:])
	s.secret = [secretLen]byte(secret)
	s.setOwner(secret)
	id, err := store.ParseIdentity(identity)
	if err != nil {
		return err
	}
	s.identity.Store(&id)
	return nil
}

// otherFormat is the error of a store of another format, with the command that helps.
func (o *Options) otherFormat(format uint32, dir string) error {
	if err := o.readable(format); err != nil {
		return err
	}
	return fault.As(store.ErrFormat, "it has format %d, and this program reads format %d; run: firstseen migrate --db %s --to NEW", format, o.format, dir)
}

// stampNew writes the meta rows of a new store, and has Pebble begin another log. Pebble began the
// first one before it raised its format, so that damage to that log looks like a torn write: the offsets
// up to which a log was synced are in those that it begins later.
func (s *Store) stampNew() error {
	_, _ = rand.Read(s.secret[:]) // it never fails
	s.setOwner(s.secret[:])
	s.nextCrawl, s.nextGen = 1, 1
	b := s.db.NewBatch()
	defer b.Close()
	for _, row := range []struct {
		name  byte
		value []byte
	}{
		{metaFormat, binary.BigEndian.AppendUint32(nil, s.opt.format)},
		{metaIdentity, store.Identity{}.AppendTo(nil)},
		{metaFlags, []byte{0}},
		{metaSecret, s.secret[:]},
		{metaNext, appendNext(nil, 1, 1)},
	} {
		if err := b.Set(metaKey(row.name), row.value, nil); err != nil {
			return fmt.Errorf("cannot stamp a new store: %w", err)
		}
	}
	return errors.Join(b.Commit(pebble.Sync), s.db.Flush())
}

// loadKeys loads the state that decides which keys are known.
func (s *Store) loadKeys() error {
	gens := map[uint32]*generation{}
	for g := range s.generations() {
		gens[g.num] = g
	}
	if s.opt.fits(s.keys()) {
		s.index = filling
	}
	for _, c := range s.crawls {
		c.seen = s.newKeySet(c)
	}
	for _, load := range []func(map[uint32]*generation) error{s.loadRuns, s.loadTombs, s.loadPacked} {
		if err := load(gens); err != nil {
			return err
		}
	}
	for _, g := range gens {
		if err := s.checkCount(g); err != nil {
			return err
		}
		g.c.seen.learnPacked(g)
	}
	return nil
}

// scanOf calls f for the rows of a table that generations have.
func (s *Store) scanOf(gens map[uint32]*generation, table byte, f func(g *generation, key, value []byte) error) error {
	return s.scan([]byte{table}, rowBound(table), func(key, value []byte) error {
		if len(key) < 5 || gens[binary.BigEndian.Uint32(key[1:])] == nil {
			return fmt.Errorf("cannot read row %x; got an unknown generation: %w", key, store.ErrCorrupt)
		}
		return f(gens[binary.BigEndian.Uint32(key[1:])], key, value)
	})
}

// loadRuns opens the files of runs.
func (s *Store) loadRuns(gens map[uint32]*generation) error {
	files := map[string]*runfile.File{} // by name
	err := s.scanOf(gens, tableRun, func(g *generation, key, value []byte) error {
		_, id, place, err := parseRunRow(key, value)
		if err != nil {
			return err
		}
		name := id.Name()
		f := files[name]
		if f == nil {
			if f, err = runfile.Open(s.opt.FS, s.runsDir(), id); errors.Is(err, os.ErrNotExist) {
				err = fmt.Errorf("%w: %w; restore a copy of the directory or import an export", store.ErrCorrupt, err)
			}
			if err != nil {
				return err
			}
			files[name] = f
			s.removeUnused(f)
		}
		r, err := f.Run(g.num, place)
		if err != nil {
			return err
		}
		if err := f.Damage(); err != nil {
			s.damage.note(f.Path(), err)
		}
		f.Use()
		g.runs = append(g.runs, &run{Run: r})
		return nil
	})
	if len(files) > 0 {
		s.cold.left.Store(warmAfter)
	}
	for _, f := range files {
		f.Release()
	}
	return err
}

// cleanRuns makes the directory of runs, or removes from it the files that no run
// is in: a crash left them.
func (s *Store) cleanRuns(used []runNote) error {
	fs := s.opt.FS
	names, err := fs.List(s.runsDir())
	if errors.Is(err, os.ErrNotExist) {
		if err = fs.MkdirAll(s.runsDir(), 0o755); err == nil {
			err = s.syncDir(s.dir)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot use the directory of runs: %w", err)
	}
	for _, name := range names {
		if _, found := slices.BinarySearchFunc(used, runNote{name: name}, runNote.compare); !found && runName.MatchString(name) { // other names are of others
			_ = fs.Remove(fs.PathJoin(s.runsDir(), name)) // or the next open does
		}
	}
	return nil
}

func (s *Store) loadTombs(gens map[uint32]*generation) error {
	return s.scanOf(gens, tableTomb, func(g *generation, key, _ []byte) error {
		if len(key) != keyRowLen {
			return fmt.Errorf("cannot read tombstone row %x: %w", key, store.ErrCorrupt)
		}
		if g.dead == nil {
			g.dead = map[store.Key]struct{}{}
		}
		g.dead[store.Key(key[5:])] = struct{}{}
		return nil
	})
}

func (s *Store) loadPacked(gens map[uint32]*generation) error {
	s.nextPacked = 1
	return s.scanOf(gens, tablePacked, func(g *generation, key, value []byte) error {
		_, row, value, err := parsePackedRow(key, value)
		if err != nil {
			return err
		}
		s.nextPacked = max(s.nextPacked, row+1)
		g.rows.add(row, value)
		s.packed += int64(len(value) / keyLen)
		return nil
	})
}

// checkCount compares the number of keys of g with what its row says.
func (s *Store) checkCount(g *generation) error {
	n := g.packed()
	for _, r := range g.runs {
		n += r.Len()
		if g.low != nil {
			low, err := r.CountUpTo(g.low)
			if errors.Is(err, runfile.ErrDamaged) { // the count cannot be compared: verify reports it
				s.damage.note(r.File.Path(), err)
				return nil
			}
			if err != nil {
				return err
			}
			n -= low
		}
	}
	for k := range g.dead {
		if g.low == nil || k.Compare(*g.low) > 0 {
			n--
		}
	}
	switch {
	case n == g.keys:
		return nil
	case s.opt.Mode == OpenRepair:
		s.repaired = append(s.repaired, fmt.Sprintf("the count of generation %d of crawl %q was corrected from %d to %d keys", g.num, g.c.name, g.keys, n))
		g.keys = n
		return s.db.Set(appendNumbered(nil, tableGen, g.num), appendGeneration(nil, g.c.num, g), pebble.Sync)
	}
	return fmt.Errorf("cannot load generation %d of crawl %q: it has %d keys, and its row counts %d; to correct the count, open it with OpenRepair (firstseen verify --repair): %w",
		g.num, g.c.name, n, g.keys, store.ErrCorrupt)
}

// loadQueues brings the leases and their queues into memory, and the first of the other queues that hold something. Open read the
// rows of all queues at first: with a million of them, the first lease came seconds after a restart. So loadRest reads those
// beyond openQueues between the steps of callers, and a step that needs one of them reads it before (oldQueue). No lease,
// and no limit of a crawl, depends on queues that are not loaded. But until all are:
//
//   - Queues of a group wait: any other may be the one that was served last. QueueInfo does not know for how long.
//   - A Take that finds nothing looks again after the next part.
//   - A name that is not loaded may have a row.
//   - The journal of queues keeps the states that Open found.
//
// The order of the others is that of their names either way, since turns are not stored.
func (s *Store) loadQueues() error {
	s.sched.journal.table = tableJournal
	s.sched.Closed = func(l *sched.Lease) { s.sched.closed = append(s.sched.closed, l) }
	if err := cmp.Or(s.loadScheduler(), s.loadMarks()); err != nil {
		return err
	}
	leases, err := s.loadLeases()
	if err != nil {
		return err
	}
	if err := s.loadJournal(); err != nil {
		return err
	}
	now := sched.Now(s.opt.Clock())
	if err := s.loadRetired(leases, now); err != nil {
		return err
	}
	first := budget{s.opt.openQueues, math.MaxInt}
	if s.opt.Mode == OpenReadOnly || s.opt.Mode == OpenRepair {
		first.rows = math.MaxInt
	}
	s.sched.Loading, s.sched.unread = true, []byte{tableQueue}
	if err := s.loadSome(leases, now, &first); err != nil || !s.sched.Loading {
		return err
	}
	return s.loadLeased(leases, now)
}

// loadSome loads the next queues that hold something, and takes their leases from the map.
func (s *Store) loadSome(leases map[queueNum][]leaseRow, now int64, left *budget) (err error) {
	sc := &s.sched
	if sc.Loading {
		sc.unread, err = s.walk(sc.unread, rowBound(tableQueue), left, func(key, value []byte) error {
			return s.loadQueue(key, value, leases, now)
		})
		if err != nil || left.spent() {
			return err
		}
		sc.Loading, sc.states = false, nil
	}
	left.rows = sc.FileLate(now, left.rows)
	return complete(leases)
}

// loadLeased loads the queues of leases that loadSome did not come to.
func (s *Store) loadLeased(leases map[queueNum][]leaseRow, now int64) error {
	var rows [][]byte // their keys
	err := inTable(s.db, tableName, slices.SortedFunc(maps.Keys(leases), queueNum.compare), func(r rowGetter, at queueNum) error {
		return readRow(r, appendOfQueue(nil, tableName, at.crawl, at.queue), func(name []byte) error {
			rows = append(rows, append(appendNumbered(nil, tableQueue, at.crawl), name...))
			return nil
		})
	})
	if err != nil {
		return err
	}
	slices.SortFunc(rows, bytes.Compare)
	err = inTable(s.db, tableQueue, rows, func(r rowGetter, key []byte) error {
		return readRow(r, key, func(value []byte) error { return s.loadQueue(key, value, leases, now) })
	})
	return cmp.Or(err, complete(leases))
}

// complete returns an error if the queues of leases are missing.
func complete(leases map[queueNum][]leaseRow) error {
	if len(leases) == 0 {
		return nil
	}
	return fmt.Errorf("cannot load leases; got %d queues with leases and no row: %w", len(leases), store.ErrCorrupt)
}

// loadedRows is how many times as many rows a part of loadRest may look at as that of another step, whose rows take longer. With as few, callers
// that made queues made them nearly as fast as loadRest came past their rows, and groups waited for half a minute.
const loadedRows = 8

// loadRest loads the queues that Open left.
func (s *Store) loadRest() {
	s.awaitStart(s.needed)
	err := s.submit(context.Background(), 1, func(tx *txn) error {
		tx.flush()
		left := budget{loadedRows * tx.left.rows, loadedRows * partBytes}
		if err := s.loadSome(nil, sched.Now(tx.now), &left); err != nil || !s.sched.Filing() {
			return err
		}
		return errMore
	})
	if err != nil && !errors.Is(err, store.ErrClosed) {
		s.die(fmt.Errorf("cannot load queues: %w", err))
	}
}

// loadScheduler reads the rows of the store and the crawls.
func (s *Store) loadScheduler() error {
	if err := readRow(s.db, []byte{tableCrawlQueues}, s.sched.parse); err != nil {
		return err
	}
	return s.scan(appendNumbered(nil, tableCrawlQueues, 0), rowBound(tableCrawlQueues), func(key, value []byte) error {
		c := s.numbered(key, 5)
		if c == nil {
			return fmt.Errorf("cannot load queues of crawl %x; got no such crawl: %w", key, store.ErrCorrupt)
		}
		return c.queues.parse(value)
	})
}

// numbered returns the crawl that the key of a row names, nil if it is too
// short or names none.
func (s *Store) numbered(key []byte, least int) *crawl {
	if len(key) < least {
		return nil
	}
	return s.byNum[binary.BigEndian.Uint32(key[1:])]
}

// queueNum names a queue of any crawl.
type queueNum struct{ crawl, queue uint32 }

func (n queueNum) compare(b queueNum) int {
	return cmp.Or(cmp.Compare(n.crawl, b.crawl), cmp.Compare(n.queue, b.queue))
}

// restore puts a lease back into its queue.
func (l *leaseRow) restore(q *queue, now int64) {
	if l.over {
		q.RestoreOvertaken(l.rec.Key, l.token, l.given, l.until, now)
	} else {
		q.Restore(l.rec, l.token, l.given, l.until, now).Client = l.client
	}
}

// loadMarks reads the marks of keys, of all crawls.
func (s *Store) loadMarks() error {
	var list []*sched.Mark
	err := s.scan([]byte{tableMark}, rowBound(tableMark), func(key, value []byte) error {
		m, err := parseMark(key, value)
		if c := s.numbered(key, 5); c != nil {
			m.Crawl = c.queues.Crawl
		} else if err == nil {
			err = fmt.Errorf("cannot load mark %x; got no such crawl: %w", key, store.ErrCorrupt)
		}
		list = append(list, &m)
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b *sched.Mark) int { return cmp.Compare(a.Num, b.Num) })
	for _, m := range list {
		m.Crawl.RestoreMark(m)
	}
	return nil
}

func (s *Store) loadLeases() (map[queueNum][]leaseRow, error) {
	leases, clients := map[queueNum][]leaseRow{}, map[string]string{}
	err := s.scan([]byte{tableLease}, rowBound(tableLease), func(key, value []byte) error {
		l, err := parseLease(key, value)
		if _, known := clients[l.client]; !known {
			clients[l.client] = l.client
		}
		l.client = clients[l.client] // leases of one client share its name
		l.rec.Shorten(s.opt.leaseBytes)
		at := queueNum{l.crawl, l.queue}
		leases[at] = append(leases[at], l)
		return err
	})
	return leases, err
}

// loadQueue loads a queue that holds something, unless a step did, and takes its leases from the map.
func (s *Store) loadQueue(key, value []byte, leases map[queueNum][]leaseRow, now int64) error {
	c := s.numbered(key, 5)
	if c == nil {
		return fmt.Errorf("cannot load queue %q; got no such crawl: %w", key, store.ErrCorrupt)
	}
	if q := c.queues.named(string(key[5:])); q != nil {
		if q.Idle() { // a step of this group read it
			q.Recall(now)
		}
		return nil
	}
	q, err := s.stored(c, string(key[5:]), key, value)
	if err != nil {
		return err
	}
	at := queueNum{c.num, q.id}
	for _, l := range leases[at] {
		l.restore(q, now)
	}
	delete(leases, at)
	if q.Idle() {
		c.queues.name(q.Name)
		q.Recall(now)
		return nil
	}
	s.sched.hold(q)
	q.File(now)
	return nil
}
