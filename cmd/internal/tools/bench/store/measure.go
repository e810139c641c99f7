package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/tools/bench/store/storebench"
	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/pebblestore"
)

// room is how many new keys the loads may need: more than any has reached.
func (b *bench) room() (n int) {
	for _, dup := range b.dups {
		n += int(b.load.Length.Seconds() * min(6e6*(1-dup), 1.2e6))
	}
	return n + 100_000
}

// loaded opens the store and makes the stream, with as many keys recorded as
// were asked for or, in a database that was kept, as there are.
func (b *bench) loaded() (*pebblestore.Store, error) {
	w := startWatch()
	s, err := pebblestore.Open(b.dir, b.opt)
	if err != nil {
		return nil, err
	}
	st, err := s.Stats(context.Background(), "*")
	if err != nil {
		return nil, err
	}
	if st.Seen > 0 {
		w.print("open what was kept", st.Seen)
	}
	b.stream = storebench.NewStream(max(int(b.keys), int(st.Seen)) + b.room())
	b.stream.Known = int(st.Seen)
	if int(st.Seen) >= int(b.keys) {
		return s, nil
	}
	return s, b.fill(s)
}

// fill records the first keys.
func (b *bench) fill(s *pebblestore.Store) error {
	from, n := b.stream.Known, int(b.keys)
	if !b.bulk {
		w := startWatch()
		if err := b.stream.Preload(storebench.Pebble{Store: s}, n-from); err != nil {
			return err
		}
		w.print("load in batches", int64(n-from))
		return nil
	}
	keys := b.stream.NextSorted(n - from)
	w := startWatch()
	_, fresh, err := s.ImportSorted(context.Background(), "", func(yield func(store.Key, error) bool) {
		for _, k := range keys {
			if !yield(k, nil) {
				return
			}
		}
	}, store.SeeOptions{})
	if err != nil {
		return err
	}
	if fresh != int64(n-from) {
		return fmt.Errorf("cannot import; got %d new keys; want %d", fresh, n-from)
	}
	b.stream.Known = n
	w.print("import of sorted keys", int64(n-from))
	return nil
}

func (b *bench) loads(s *pebblestore.Store) error {
	p50, p99, err := storebench.SyncTimes(b.dir)
	if err != nil {
		return err
	}
	fmt.Printf("- a sync of the disk alone: p50 %.2f ms, p99 %.2f ms\n", p50.Seconds()*1e3, p99.Seconds()*1e3)
	fmt.Println("\n| duplicates |" + storebench.Columns + "\n|--:|" + storebench.Rule)
	defer fmt.Println()
	for _, b.load.Dup = range b.dups {
		r, err := b.one(s)
		if err != nil {
			return err
		}
		fmt.Printf("| %.0f %% |%s\n", b.load.Dup*100, r.Row())
	}
	return nil
}

// one runs the load once.
func (b *bench) one(s *pebblestore.Store) (storebench.Result, error) {
	if b.callers == 1 {
		return b.stream.Run(storebench.Pebble{Store: s}, b.load)
	}
	return b.stream.RunCallers(storebench.Pebble{Store: s}, b.callers, b.load)
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
	fmt.Printf("- index %s: %.2f B/key of %d keys; write amplification %.1f; %d tables in L0; slowed down for %.1f s, stopped for %.1f s\n",
		m.Index.Mode(), float64(m.Index.Bytes)/float64(m.Index.Keys), m.Index.Keys, m.WriteAmp(), m.L0Tables, m.PaceTime.Seconds(), m.StallTime.Seconds())
	debug.FreeOSMemory()
	stream := int64(len(b.stream.All)) * int64(len(hashkey.UrlShortHash{}))
	resident, files := storebench.RSS()
	fmt.Printf("- memory %d MB, without the %d MB of the stream's keys; mapped files %.2f B/key, of which %d MB are in the page cache\n",
		(resident-files-stream)>>20, stream>>20, float64(m.Index.Mapped)/float64(m.Index.Keys), files>>20)
	return nil
}

// settle waits for the compactions that the loads left behind, and exports again.
func (b *bench) settle(s *pebblestore.Store) error {
	start, disk := time.Now(), float64(storebench.DiskBytes(b.dir))/float64(s.Index().Keys)
	if err := storebench.Settle(storebench.Pebble{Store: s}.Compacts); err != nil {
		return err
	}
	fmt.Printf("- disk %.2f B/key; after %.0f s, with compactions at an end:\n", disk, time.Since(start).Seconds())
	if !b.bulk {
		return nil
	}
	return b.export(s)
}

func (b *bench) reopen() error {
	w := startWatch()
	s, err := pebblestore.Open(b.dir, b.opt)
	if err != nil {
		return err
	}
	st, err := s.Stats(context.Background(), "*")
	w.print("open", st.Seen)
	fmt.Printf("- disk %.2f B/key; max RSS %d MB\n",
		float64(storebench.DiskBytes(b.dir))/float64(st.Seen), storebench.MaxRSS()>>20)
	return errors.Join(err, s.Close())
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
