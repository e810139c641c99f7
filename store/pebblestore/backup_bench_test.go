package pebblestore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/firstseen/firstseen/store"
)

// BenchmarkBackup makes backups of a store of FIRSTSEEN_BENCH_KEYS keys, a million by default, on the
// file system of the store, while a caller adds queued URLs, a hundred a step: one of all keys and ten
// incremental ones. It reports how long adds take without and with backups.
func BenchmarkBackup(b *testing.B) {
	keys := 1_000_000
	if n, err := strconv.Atoi(os.Getenv("FIRSTSEEN_BENCH_KEYS")); err == nil {
		keys = n
	}
	dir := b.TempDir()
	s := mustOpen(b, filepath.Join(dir, "db"), Options{})
	defer s.Close()
	const batch = 10_000
	fresh := make([]bool, batch)
	for i := 0; i < keys; i += batch {
		if err := s.See(context.Background(), "", testKeys(i, i+batch), fresh, store.SeeOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	next := 1 << 40
	load := func(until <-chan struct{}) (took []time.Duration) {
		for {
			select {
			case <-until:
				return took
			default:
			}
			items := benchItems(next, 100, 1000)
			next += 100
			began := time.Now()
			if _, err := s.Add(context.Background(), "", items, store.AddOptions{}); err != nil {
				b.Error(err)
				return took
			}
			took = append(took, time.Since(began))
			time.Sleep(time.Millisecond)
		}
	}
	during := func(what string, f func()) {
		until, out := make(chan struct{}), make(chan []time.Duration)
		go func() { out <- load(until) }()
		began := time.Now()
		f()
		elapsed := time.Since(began)
		close(until)
		took := <-out
		slices.Sort(took)
		b.Logf("%s: %.2f s; %d adds of 100, p50 %v, p99 %v, longest %v", what, elapsed.Seconds(), len(took),
			took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	}
	for b.Loop() {
		during("no backup", func() { time.Sleep(20 * time.Second) })
		var size BackupSize
		backup := func() { size = backUp(b, s, filepath.Join(dir, fmt.Sprint(time.Now().UnixNano()))) }
		during("a backup", backup)
		b.Logf("a backup: %d keys, %d bytes, %d copied", size.Keys, size.Bytes, size.Copied)
		during("ten incremental backups", func() {
			for range 10 {
				backup()
			}
		})
		b.Logf("the last: %d keys, %d bytes, %d copied", size.Keys, size.Bytes, size.Copied)
	}
}
