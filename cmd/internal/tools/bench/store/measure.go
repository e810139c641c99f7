package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/firstseen/firstseen/canon"
	"github.com/firstseen/firstseen/cmd/internal/tools/bench/store/storebench"
	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// loaded opens the store, with as many keys recorded as were asked for or, in a
// database that was kept, as there are.
func (b *bench) loaded() (*pebblestore.Store, error) {
	s, err := b.open()
	if err != nil || b.stream.Known >= int(b.keys) {
		return s, err
	}
	return s, b.fill(s)
}

// open opens the store.
func (b *bench) open() (*pebblestore.Store, error) {
	w := startWatch()
	s, err := pebblestore.Open(b.dir, b.opt)
	if err != nil {
		return nil, err
	}
	if err := s.Prepare(context.Background(), store.Terms{Identity: store.IdentityOf(canon.Qiita())}); err != nil {
		return nil, err
	}
	st, err := s.Stats(context.Background(), "*")
	if err != nil {
		return nil, err
	}
	if b.stream.Known == 0 {
		b.stream.Known = int(st.Seen)
	}
	if st.Seen > 0 {
		w.print("open", st.Seen)
	}
	return s, nil
}

// fill records the first keys.
func (b *bench) fill(s *pebblestore.Store) error {
	n, w := int(b.keys)-b.stream.Known, startWatch()
	if err := b.stream.Preload(storebench.Pebble{Store: s}, n); err != nil {
		return err
	}
	w.print("load in batches", int64(n))
	return nil
}

// rival measures the same loads on Pebble's own group commit.
func (b *bench) rival() (err error) {
	dir, err := os.MkdirTemp(b.dir, "groupcommit")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	g, err := storebench.OpenGroupCommit(dir, b.load.Syncs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	var stream storebench.Stream
	if err := stream.Preload(g, int(b.keys)); err != nil {
		return err
	}
	fmt.Println("Pebble's own group commit, with a look-up before each write:")
	err = b.loads(g, &stream)
	fmt.Println("pebblestore:")
	return err
}

// loads measures each share of duplicates.
func (b *bench) loads(e storebench.Engine, stream *storebench.Stream) error {
	p50, p99, err := storebench.SyncTimes(b.dir)
	if err != nil {
		return err
	}
	fmt.Printf("- a sync of the disk alone: p50 %.2f ms, p99 %.2f ms\n", p50.Seconds()*1e3, p99.Seconds()*1e3)
	fmt.Println("\n| duplicates |" + storebench.Columns + "\n|--:|" + storebench.Rule)
	defer fmt.Println()
	for _, b.load.Dup = range b.dups {
		r, err := stream.Run(e, b.load)
		if err != nil {
			return err
		}
		fmt.Printf("| %.0f %% |%s\n", b.load.Dup*100, r.Row())
	}
	return nil
}

func (b *bench) export(s *pebblestore.Store) error {
	w := startWatch()
	n, err := s.Export(context.Background(), io.Discard, "")
	if err != nil {
		return err
	}
	w.print("export", n)
	return nil
}

func (b *bench) report(s *pebblestore.Store) error {
	m, err := s.Metrics(context.Background())
	if err != nil {
		return err
	}
	fmt.Printf("- answered by the %s: %.2f B/key of %d keys; write amplification %.1f; slowed down for %.1f s, stopped for %.1f s\n",
		m.Index.Mode(), float64(m.Index.Bytes)/float64(m.Index.Keys), m.Index.Keys, m.WriteAmp(), m.PaceTime.Seconds(), m.StallTime.Seconds())
	debug.FreeOSMemory()
	resident, files := storebench.RSS()
	fmt.Printf("- memory %d MB; mapped files %.2f B/key, of which %d MB are in the page cache\n",
		(resident-files)>>20, float64(m.Index.Mapped)/float64(m.Index.Keys), files>>20)
	return nil
}

// settle waits for the compactions of Pebble that the loads left, and exports again.
func (b *bench) settle(s *pebblestore.Store) error {
	start, disk := time.Now(), b.disk()
	if err := storebench.Settle(storebench.Pebble{Store: s}.Compacts); err != nil {
		return err
	}
	fmt.Printf("- disk %.2f B/key; after %.0f s, when Pebble compacts no more, %.2f (runs may still be merged)\n", disk, time.Since(start).Seconds(), b.disk())
	if !b.bulk {
		return nil
	}
	return b.export(s)
}

// disk returns the bytes on disk for each key.
func (b *bench) disk() float64 {
	return float64(storebench.DiskBytes(b.dir)) / float64(b.stream.Known)
}

// firstBatch opens the store and asks it for 1,000 keys, half of them new, which are those
// from number next on; 0 is the next of the stream.
func (b *bench) firstBatch(next uint64) error {
	start := time.Now()
	s, err := b.open()
	if err != nil {
		return err
	}
	if next == 0 {
		next = uint64(b.stream.Known)
		b.stream.Known += 500
	}
	keys, fresh := make([]hashkey.UrlShortHash, 1000), make([]bool, 1000)
	for i := range 500 {
		keys[i], keys[500+i] = storebench.Key(uint64(i)), storebench.Key(next+uint64(i))
	}
	if err := (storebench.Pebble{Store: s}).See(keys, fresh); err != nil {
		return err
	}
	fmt.Printf("- the first 1,000 keys, half of them new, answered %.2f s after the start of open\n", time.Since(start).Seconds())
	for i, f := range fresh {
		if f != (i >= 500) {
			return fmt.Errorf("key %d: got new %v", i, f)
		}
	}
	b.filled(s)
	fmt.Printf("- all answers from the %s %.2f s after it; max RSS %d MB\n", s.Index().Mode(), time.Since(start).Seconds(), storebench.MaxRSS()>>20)
	return s.Close()
}

// filled waits until the index has all keys.
func (b *bench) filled(s *pebblestore.Store) {
	for s.Index().Filling {
		time.Sleep(20 * time.Millisecond)
	}
}

// watch measures the time of a whole job.
type watch struct {
	start time.Time
	cpu   time.Duration
}

func startWatch() watch { return watch{time.Now(), storebench.ProcessCPU()} }

func (w watch) print(what string, n int64) {
	wall, cpu := time.Since(w.start), storebench.ProcessCPU()-w.cpu
	fmt.Printf("- %s: %d keys in %.2f s, %.0f keys/s, CPU %.3f µs/key\n", what, n, wall.Seconds(),
		float64(n)/wall.Seconds(), cpu.Seconds()*1e6/float64(n))
}
