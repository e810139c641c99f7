package pebblestore

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/firstseen/firstseen/store"
)

// The numbers of a dashboard. The committer's counters are read without a lock; counts come from Stats, and the rest from Pebble,
// which may wait for its manifest.

// groupInfo is one commit.
type groupInfo struct {
	steps       int           // calls that shared it
	rows, bytes int           // written to the log
	busy        time.Duration // how long it kept the committer from the next one
}

// BusyBounds are the upper bounds of the counts of BusyTimes.
var BusyBounds = [...]time.Duration{ // an array, so that nobody appends to it
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond,
	30 * time.Millisecond, 40 * time.Millisecond, 50 * time.Millisecond, 75 * time.Millisecond, 100 * time.Millisecond,
	150 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 5 * time.Second,
}

// BusyTimes counts commits by how long they kept the committer from the next one, which is how long other callers
// wait beyond their own sync. It counts neither syncs nor the waits of PaceTime.
type BusyTimes struct {
	Counts [len(BusyBounds) + 1]int64 // commits up to each bound and above the one before; the last: above all
	Sum    time.Duration
}

// busyTimes are the BusyTimes of an open store.
type busyTimes struct {
	counts [len(BusyBounds) + 1]atomic.Int64
	sum    atomic.Int64
}

func (b *busyTimes) add(d time.Duration) {
	i, _ := slices.BinarySearch(BusyBounds[:], d)
	b.counts[i].Add(1)
	b.sum.Add(int64(d))
}

func (b *busyTimes) all() (t BusyTimes) {
	for i := range b.counts {
		t.Counts[i] = b.counts[i].Load()
	}
	t.Sum = time.Duration(b.sum.Load())
	return t
}

// Metrics are numbers of a store at one moment, for a dashboard.
type Metrics struct {
	store.Stats
	Index IndexInfo

	MarksEvicted int64 // marks evicted by newer ones since open: see store.Settlement.Mark

	Waiting int       // steps in the queue of the committer
	Groups  int64     // commits since open
	Steps   int64     // steps since open
	Busy    BusyTimes // of the commits since open

	DiskBytes    int64         // tables and log
	WrittenBytes int64         // by log, flushes and compactions, since open
	LogBytes     int64         // the part of WrittenBytes that is the log
	UserBytes    int64         // what steps asked to write
	CacheHits    int64         // of Pebble's block cache, since open
	CacheMisses  int64         //
	PaceTime     time.Duration // writes were slowed down to the pace of compactions, or waited for a flush, since open
	StallTime    time.Duration // writes were stopped for flushes or compactions, since open
	Compacting   int64         // compactions that run now
	L0Tables     int64         // not yet compacted: rising means that compaction lags
}

// WriteAmp is bytes written for each byte that steps asked to write.
func (m *Metrics) WriteAmp() float64 {
	if m.UserBytes == 0 {
		return 0
	}
	return float64(m.WrittenBytes) / float64(m.UserBytes)
}

// Metrics returns the current numbers.
func (s *Store) Metrics(ctx context.Context) (Metrics, error) {
	stats, err := s.Stats(ctx, "*")
	if err != nil {
		return Metrics{}, err
	}
	done, err := s.linger()
	if err != nil {
		return Metrics{}, err
	}
	defer done()
	index, p := s.Index(), s.db.Metrics() // which waits for the manifest
	if err := s.usable(); err != nil {
		return Metrics{}, err
	}
	m := Metrics{
		Stats: stats, Index: index, MarksEvicted: s.sched.evicted.Load(),
		Waiting: len(s.queue), Groups: s.groups.Load(), Steps: s.accepted.Load(), Busy: s.busy.all(),
		DiskBytes:   int64(p.DiskSpaceUsage()),
		LogBytes:    int64(p.WAL.BytesWritten),
		UserBytes:   int64(p.WAL.BytesIn),
		CacheHits:   p.BlockCache.Hits,
		CacheMisses: p.BlockCache.Misses,
		PaceTime:    time.Duration(s.pace.waited.Load()),
		StallTime:   s.stalls.all(),
		Compacting:  p.Compact.NumInProgress,
		L0Tables:    p.Levels[0].TablesCount,
	}
	m.WrittenBytes = m.UserBytes // in the log
	for i := range p.Levels {
		m.WrittenBytes += int64(p.Levels[i].TableBytesFlushed + p.Levels[i].TableBytesCompacted + p.Levels[i].TableBytesIngested)
	}
	return m, nil
}
