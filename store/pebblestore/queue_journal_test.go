package pebblestore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/store"
)

// addTo adds a URL to each of n queues in one step, which is the round-th to do so.
func addTo(t *testing.T, s *Store, n, round int) {
	t.Helper()
	items := make([]store.Item, n)
	for i := range items {
		url := fmt.Sprintf("http://h%d/%d", i, round)
		items[i] = store.Item{Key: testKey(round*1000 + i), Queue: fmt.Sprintf("h%d", i), URL: url}
	}
	if _, err := s.Add(context.Background(), "", items, store.AddOptions{}); err != nil {
		t.Fatal(err)
	}
}

// wantHeld wants so many URLs in each of n queues.
func wantHeld(t *testing.T, s *Store, n int, want int64) {
	t.Helper()
	seen := 0
	for q, err := range s.Queues(context.Background(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		seen++
		if q.Held != want {
			t.Errorf("got %d URLs in queue %s; want %d", q.Held, q.Name, want)
		}
	}
	if seen != n {
		t.Errorf("got %d queues; want %d", seen, n)
	}
}

// countJournal counts the rows of the journal.
func countJournal(t *testing.T, s *Store) (n int) {
	t.Helper()
	if err := s.scan([]byte{tableJournal}, rowBound(tableJournal), func(_, _ []byte) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestJournalRows checks that a journal is read from the first row after the removed ones.
func TestJournalRows(t *testing.T) {
	for _, tt := range []struct {
		name     string
		set      []uint64
		removed  []uint64
		from, to uint64 // of the rows that are read
	}{
		{"none", nil, nil, 0, 0},
		{"from nought", []uint64{0, 1, 2}, nil, 0, 3},
		{"none removed", []uint64{1, 2, 3}, nil, 1, 4},
		{"removed", []uint64{1, 2, 3, 4, 5, 6}, []uint64{1, 2, 3, 4}, 5, 7},
		{"all removed", []uint64{1, 2, 3}, []uint64{1, 2, 3}, 0, 0},
		{"not from the beginning", []uint64{7, 8}, nil, 7, 9},
		{"long numbers", []uint64{254, 255, 256, 257}, []uint64{254}, 255, 258},
		{"the row before is missing", []uint64{1, 2, 4, 5}, nil, 4, 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustOpen(t, "db", Options{FS: vfs.NewMem()})
			defer s.Close()
			b, removal := s.db.NewBatch(), s.db.NewBatch()
			var err error
			for _, table := range []byte{tableJournal, tablePlaces} {
				for _, n := range tt.set {
					err = errors.Join(err, b.Set(appendLongRow(nil, table, n), fmt.Append(nil, n), nil))
				}
				for _, n := range tt.removed {
					err = errors.Join(err, removal.SingleDelete(appendLongRow(nil, table, n), nil))
				}
			}
			if err := errors.Join(err, b.Commit(pebble.Sync), removal.Commit(pebble.Sync)); err != nil {
				t.Fatal(err)
			}
			for _, table := range []byte{tableJournal, tablePlaces} {
				first, values, err := journalRows(s.db, table)
				if err != nil || first != tt.from || len(values) != int(tt.to-tt.from) {
					t.Fatalf("got %d rows from %d, %v; want %d from %d", len(values), first, err, tt.to-tt.from, tt.from)
				}
				for i, v := range values {
					if want := fmt.Sprint(first + uint64(i)); string(v) != want {
						t.Errorf("row %s: got %q", want, v)
					}
				}
			}
		})
	}
}

// TestJournalIsRead checks that a store reopens with the states that only the journal has,
// repeatedly, and that the journal is bounded.
func TestJournalIsRead(t *testing.T) {
	const queues = 100
	opt := Options{FS: vfs.NewMem(), tuning: tuning{journalFrom: 10, keptStates: 500}}
	round := 0
	for range 4 {
		s := mustOpen(t, "db", opt)
		for range 7 {
			addTo(t, s, queues, round)
			round++
			if rows, most := countJournal(t, s), 1+opt.keptStates/queues; round > 1 && (rows == 0 || rows > most) {
				t.Errorf("got %d journal rows after %d rounds; want 1 to %d", rows, round, most)
			}
		}
		wantHeld(t, s, queues, int64(round))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := mustOpen(t, "db", opt)
	defer s.Close()
	wantHeld(t, s, queues, int64(round))
}

// TestJournalIsOlder checks that the queue's own row is used if it was written after that of the
// journal: by a small step, or when the queue left memory.
func TestJournalIsOlder(t *testing.T) {
	const queues = 20
	opt := Options{FS: vfs.NewMem(), tuning: tuning{journalFrom: 10}}
	s := mustOpen(t, "db", opt)
	addTo(t, s, queues, 0)
	addTo(t, s, queues, 1) // into the journal
	addTo(t, s, 1, 2)      // not into it
	taken, err := s.Take(context.Background(), store.TakeRequest{Queue: "h1", MaxURLs: 2, MaxPerQueue: 2})
	if err != nil || len(taken.Leases) != 2 {
		t.Fatalf("got %d leases, %v; want 2", len(taken.Leases), err)
	}
	settle(t, s, taken.Leases)
	if rows := countJournal(t, s); rows != 1 {
		t.Fatalf("got %d journal rows; want 1", rows)
	}
	s = reopen(t, s, "db", opt)
	defer s.Close()
	for queue, want := range map[string][2]int64{"h0": {3, 0}, "h1": {0, 2}, "h2": {2, 0}} {
		q, err := s.QueueInfo(context.Background(), "", queue)
		if err != nil || q.Held != want[0] || q.Completed != want[1] {
			t.Errorf("got %d held, %d completed, %v of %s; want %v", q.Held, q.Completed, err, queue, want)
		}
	}
}

func settle(t *testing.T, s *Store, leases []store.Entry) {
	t.Helper()
	done := make([]store.Settlement, len(leases))
	for i, l := range leases {
		done[i] = store.Settlement{Key: l.Key, Token: l.Token, Outcome: store.Complete}
	}
	if _, err := s.Settle(context.Background(), "", done); err != nil {
		t.Fatal(err)
	}
}

// TestJournalRowsGo checks that the state of an idle queue outlives the journal row it was in, also
// if the row is from before a restart.
func TestJournalRowsGo(t *testing.T) {
	const queues = 240
	for _, twice := range []bool{false, true} {
		opt := Options{FS: vfs.NewMem(), tuning: tuning{journalFrom: 10, keptStates: 3 * queues}}
		s := mustOpen(t, "db", opt)
		addTo(t, s, queues, 0)
		addTo(t, s, queues, 1)
		if twice {
			s = reopen(t, s, "db", opt)
		}
		for round := range 20 {
			addTo(t, s, queues/2, 2+round)
		}
		if first := firstJournalRow(t, s); first < 2 {
			t.Errorf("got row %d still; want it gone", first)
		}
		s = reopen(t, s, "db", opt)
		for i := range queues {
			want := int64(2)
			if i < queues/2 {
				want = 22
			}
			q, err := s.QueueInfo(context.Background(), "", fmt.Sprintf("h%d", i))
			if err != nil || q.Held != want {
				t.Errorf("got %d held, %v of queue %d; want %d (reopened before: %v)", q.Held, err, i, want, twice)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func firstJournalRow(t *testing.T, s *Store) (num uint64) {
	t.Helper()
	err := s.scan([]byte{tableJournal}, rowBound(tableJournal), func(key, _ []byte) error {
		num = binary.BigEndian.Uint64(key[1:])
		return errPage
	})
	if !errors.Is(err, errPage) {
		t.Fatalf("got %v; want a journal row", err)
	}
	return num
}

// TestJournalOfSettlements settles many queues at once, of which half hold
// nothing then: these leave memory, and are found by their rows.
func TestJournalOfSettlements(t *testing.T) {
	const queues = 60
	opt := Options{FS: vfs.NewMem(), tuning: tuning{journalFrom: 10}}
	s := mustOpen(t, "db", opt)
	addTo(t, s, queues, 0)
	addTo(t, s, queues/2, 1)
	taken, err := s.Take(context.Background(), store.TakeRequest{MaxURLs: queues})
	if err != nil || len(taken.Leases) != queues {
		t.Fatalf("got %d leases, %v; want %d", len(taken.Leases), err, queues)
	}
	settle(t, s, taken.Leases)
	for range 2 {
		for i := range queues {
			want := int64(0)
			if i < queues/2 {
				want = 1
			}
			q, err := s.QueueInfo(context.Background(), "", fmt.Sprintf("h%d", i))
			if err != nil || q.Held != want || q.Completed != 1 {
				t.Errorf("got %d held, %d completed, %v of queue %d; want %d, 1", q.Held, q.Completed, err, i, want)
			}
		}
		s = reopen(t, s, "db", opt)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestJournalIsChecked checks that invalid rows of the journal are found.
func TestJournalIsChecked(t *testing.T) {
	for name, row := range map[string][2]string{
		"last row is missing": {"J\x00\x00\x00\x00\x00\x00\x00\x01", "delete"},
		"number never given":  {"J\x00\x00\x00\x00\x00\x00\x00\x09", ""},
		"short key":           {"J\x00", ""},
		"broken state":        {"J\x00\x00\x00\x00\x00\x00\x00\x00", "\x01\x05h"},
	} {
		t.Run(name, func(t *testing.T) {
			opt := Options{FS: vfs.NewMem(), tuning: tuning{journalFrom: 1}}
			s := mustOpen(t, "db", opt)
			addTo(t, s, 2, 0)
			addTo(t, s, 2, 1)
			addTo(t, s, 2, 2)
			err := s.db.Set([]byte(row[0]), []byte(row[1]), pebble.Sync)
			if row[1] == "delete" {
				err = s.db.Delete([]byte(row[0]), pebble.Sync)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if s, err := openPrepared("db", opt); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("got %v; want %v", err, store.ErrCorrupt)
				if err == nil {
					s.Close()
				}
			}
		})
	}
}
