package pebblestore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// wantSound verifies a store that should have nothing wrong.
func wantSound(t testing.TB, s *Store) {
	t.Helper()
	r, err := s.Verify(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		t.Errorf("row %x: %s", f.Row, f.Text)
	}
	st, err := s.Stats(context.Background(), "*")
	if err != nil || st.Seen != r.Keys {
		t.Errorf("got %d seen rows; want %d (%v)", r.Keys, st.Seen, err)
	}
}

// TestVerifyFinds puts one wrong thing after the other into a database.
func TestVerifyFinds(t *testing.T) {
	key := testKey(3)
	for _, tt := range []struct {
		name string
		do   func(s *Store, b *pebble.Batch) error
		want string
	}{
		{"nothing", func(*Store, *pebble.Batch) error { return nil }, ""},
		{"lost row", func(s *Store, b *pebble.Batch) error {
			return b.Delete(appendPackedRow(nil, 1, 1), nil)
		}, "has 0 keys; its count says 100"},
		{"row more", func(s *Store, b *pebble.Batch) error {
			k := testKey(1000)
			return b.Set(appendPackedRow(nil, 1, 99), k[:], nil)
		}, "doesn't have it"},
		{"orphan", func(s *Store, b *pebble.Batch) error {
			return b.Set(appendPackedRow(nil, 77, 1), key[:], nil)
		}, "a generation that isn't there"},
		{"short row", func(s *Store, b *pebble.Batch) error {
			return b.Set(appendPackedRow(nil, 1, 9), []byte("short"), nil)
		}, "cannot read packed row"},
		{"count", func(s *Store, b *pebble.Batch) error {
			g := &generation{num: 1, keys: 5}
			return b.Set(appendNumbered(nil, tableGen, 1), appendGeneration(nil, 1, g), nil)
		}, "the row says 5 keys; memory says 100"},
		{"unknown table", func(s *Store, b *pebble.Batch) error {
			return b.Set([]byte("zzz"), nil, nil)
		}, "table"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
			defer s.Close()
			see(t, s, "", testKeys(0, 100))
			b := s.db.NewBatch()
			if err := tt.do(s, b); err != nil {
				t.Fatal(err)
			}
			if err := b.Commit(pebble.Sync); err != nil {
				t.Fatal(err)
			}
			r, err := s.Verify(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "" && len(r.Findings) == 0 {
				return
			}
			for _, f := range r.Findings {
				if strings.Contains(f.Text, tt.want) && tt.want != "" {
					return
				}
			}
			t.Errorf("got %v; want one that says %q", r.Findings, tt.want)
		})
	}
}

// TestVerifyFindsInQueues puts one wrong thing after the other into the queues, heads,
// counts and places.
func TestVerifyFindsInQueues(t *testing.T) {
	state := func(s *Store, change func(q *sched.Queue)) []byte {
		q := *s.crawls[store.DefaultCrawl].queues.named("q1")
		change(&q.Queue)
		return appendQueue(nil, &q, s.sched.journal.next)
	}
	row := appendQueueRow(nil, 1, "q1")
	for _, tt := range []struct {
		name string
		do   func(s *Store, b *pebble.Batch) error
		want string
	}{
		{"count", func(s *Store, b *pebble.Batch) error {
			return b.Set(row, state(s, func(q *sched.Queue) { q.Queued++ }), nil)
		}, "the queue has 15 URLs, of priorities 00000001; its state says 16"},
		{"head", func(s *Store, b *pebble.Batch) error {
			return b.Set(row, state(s, func(q *sched.Queue) { q.SetHead(0, sched.Head{Due: 7, Seq: 7}) }), nil)
		}, "the first URL of priority 0 is not"},
		{"level", func(s *Store, b *pebble.Batch) error {
			return b.Set(row, state(s, func(q *sched.Queue) { q.SetHead(3, sched.Head{Due: 7, Seq: 7}) }), nil)
		}, "of priorities 00000001; its state says 15, of 00001001"},
		{"no state", func(s *Store, b *pebble.Batch) error {
			return b.Set(row, state(s, func(q *sched.Queue) { q.Queued = 0; q.SetHead(0, sched.Head{Due: sched.Never}) }), nil)
		}, "a queue that holds none by its state"},
		{"places", func(_ *Store, b *pebble.Batch) error {
			return b.Delete(appendLongRow(nil, tablePlaces, 1), nil)
		}, "cannot be found by its key"},
		{"place", func(_ *Store, b *pebble.Batch) error {
			k := testKey(1)
			return errors.Join(b.Delete(appendLongRow(nil, tablePlaces, 1), nil),
				b.Set(appendKeyRow(nil, tablePlace, 1, &k), appendPointer(nil, pointer{queue: 5}), nil))
		}, "cannot be found by its key"},
		{"gap of places", func(s *Store, b *pebble.Batch) error {
			return readRow(s.db, appendLongRow(nil, tablePlaces, 1), func(places []byte) error {
				return b.Set(appendLongRow(nil, tablePlaces, s.sched.places.next+1), places, nil)
			})
		}, "a journal row before a row that is missing"},
		{"gap of states", func(_ *Store, b *pebble.Batch) error {
			return errors.Join(b.Set(appendLongRow(nil, tableJournal, 1), nil, nil), b.Set(appendLongRow(nil, tableJournal, 3), nil, nil))
		}, "a journal row before a row that is missing"},
		{"done elsewhere", func(_ *Store, b *pebble.Batch) error {
			k := testKey(2)
			return b.Set(appendDoneRow(nil, 1, 1, &k), nil, nil)
		}, "cannot be found by its key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustOpen(t, "db", Options{FS: vfs.NewMem(), KeepURLs: true})
			defer s.Close()
			addItems(t, s, placedItems(0, 100))
			wantSound(t, s)
			b := s.db.NewBatch()
			if err := errors.Join(tt.do(s, b), b.Commit(pebble.Sync)); err != nil {
				t.Fatal(err)
			}
			r, err := s.Verify(t.Context())
			if err != nil || !slices.ContainsFunc(r.Findings, func(f Finding) bool { return strings.Contains(f.Text, tt.want) }) {
				t.Errorf("got %v, %v; want one that says %q", r.Findings, err, tt.want)
			}
		})
	}
}

// TestRepairTakesRows opens a store whose count is wrong.
func TestRepairTakesRows(t *testing.T) {
	opt := Options{FS: vfs.NewMem()}
	s := mustOpen(t, "db", opt)
	see(t, s, "", testKeys(0, 100))
	see(t, s, "", testKeys(100, 101))
	if err := s.db.Delete(appendPackedRow(nil, 1, 2), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantOpenError(t, "db", opt, store.ErrCorrupt)
	opt.Mode = OpenRepair
	s = mustOpen(t, "db", opt)
	wantSeen(t, s, "", 100)
	opt.Mode = OpenOrCreate
	s = reopen(t, s, "db", opt)
	defer s.Close()
	wantSeen(t, s, "", 100)
	wantSound(t, s)
}

// TestVerifyEndsWithItsContext: neither Pebble's check nor the rows are gone through to
// the end.
func TestVerifyEndsWithItsContext(t *testing.T) {
	s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
	defer s.Close()
	see(t, s, "", testKeys(0, 5000))
	ctx, cancel := context.WithCancel(t.Context())
	v := newVerifier(ctx, s, &Report{})
	if err := s.read(ctx, v.begin); err != nil {
		t.Fatal(err)
	}
	defer v.snapshot.Close()
	cancel()
	if err := v.rows(); !errors.Is(err, context.Canceled) || v.r.Rows > 1 {
		t.Errorf("got %v after %d rows; want the end of the context", err, v.r.Rows)
	}
	if _, err := s.Verify(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v; want the end of the context", err)
	}
}

// TestIndexWhileClosing is for the race detector.
func TestIndexWhileClosing(t *testing.T) {
	for range 20 {
		s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
		see(t, s, "", testKeys(0, 2000))
		var wg sync.WaitGroup
		wg.Go(func() {
			for s.Index().Keys > 0 {
			}
		})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
	}
}
