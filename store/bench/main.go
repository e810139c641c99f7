// Bench measures pebblestore: rates at given shares of duplicates, many
// callers, opening, memory and disk of a key, import and export. Every answer is
// checked. The rival stores are in store/rivals.
//
//	go run ./store/bench -keys 10e6 -length 15s
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/storebench"
	"github.com/firstseen/firstseen/store/pebblestore"
)

func main() {
	var b bench
	flag.StringVar(&b.dir, "dir", "", "where to make the database, which is removed afterwards (default: the temporary directory)")
	flag.Float64Var(&b.keys, "keys", 10e6, "keys loaded before measuring")
	flag.DurationVar(&b.load.Length, "length", 15*time.Second, "length of each load")
	flag.IntVar(&b.load.Batch, "batch", 10_000, "keys in a call")
	flag.BoolVar(&b.load.Skew, "skew", false, "draw duplicates as links are, mostly of a few")
	flag.IntVar(&b.callers, "callers", 0, "callers at once, at 70 % duplicates; 0: one caller, at 90, 70 and 50 %")
	flag.BoolVar(&b.bulk, "bulk", false, "load by sorted import, and measure export and import")
	index := flag.String("index", "", "fp64, fp40, exact128 or bounded")
	flag.BoolVar(&b.opt.Exact, "exact", false, "verify duplicates in Pebble")
	profile := flag.String("cpuprofile", "", "file for a CPU profile of all")
	flag.Parse()
	b.opt.Index = pebblestore.IndexMode(*index)
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			log.Fatal(err)
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			log.Fatal(err)
		}
		defer pprof.StopCPUProfile()
	}
	if err := b.run(); err != nil {
		log.Fatal(err)
	}
}

type bench struct {
	dir     string
	keys    float64
	load    storebench.Load
	callers int
	bulk    bool
	opt     pebblestore.Options
	stream  *storebench.Stream
}

type engine struct{ s *pebblestore.Store }

func (e engine) See(keys []hashkey.UrlShortHash, fresh []bool) error {
	return e.s.See(context.Background(), "", keys, fresh, store.SeeOptions{})
}

func (engine) CPU() time.Duration { return 0 }

func (b *bench) run() (err error) {
	if b.dir, err = os.MkdirTemp(b.dir, "firstseen-bench"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	b.stream = storebench.NewStream(int(b.keys) + int(b.load.Length.Seconds()*3e6))
	s, err := pebblestore.Open(b.dir, b.opt)
	if err != nil {
		return err
	}
	if err := b.fill(s); err != nil {
		return err
	}
	if err := b.loads(s); err != nil {
		return err
	}
	if b.bulk {
		if err := b.export(s); err != nil {
			return err
		}
	}
	if err := b.report(s); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	return b.reopen()
}

// fill records the first keys.
func (b *bench) fill(s *pebblestore.Store) error {
	n := int(b.keys)
	if !b.bulk {
		w := startWatch()
		if err := b.stream.Preload(engine{s}, n); err != nil {
			return err
		}
		w.print("load in batches", int64(n))
		return nil
	}
	keys := slices.Clone(b.stream.All[:n])
	slices.SortFunc(keys, func(x, y store.Key) int { return bytes.Compare(x[:], y[:]) })
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
	if fresh != int64(n) {
		return fmt.Errorf("cannot import; got %d new keys; want %d", fresh, n)
	}
	b.stream.Known = n
	w.print("import of sorted keys", int64(n))
	return nil
}

func (b *bench) loads(s *pebblestore.Store) error {
	if b.callers > 0 {
		b.load.Dup = 0.7
		r, err := b.stream.RunCallers(engine{s}, b.callers, b.load)
		fmt.Printf("%d callers  %v\n", b.callers, r)
		return err
	}
	for _, b.load.Dup = range []float64{0.9, 0.7, 0.5} {
		r, err := b.stream.Run(engine{s}, b.load)
		if err != nil {
			return err
		}
		fmt.Printf("%2.0f%% duplicates  %v\n", b.load.Dup*100, r)
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
	fmt.Printf("index %s: %.2f B/key of %d keys; write amplification %.1f; %d tables in L0; stalled %v\n",
		m.Index.Mode, float64(m.Index.Bytes)/float64(m.Index.Keys), m.Index.Keys, m.WriteAmp(), m.L0Tables, m.StallTime)
	return nil
}

func (b *bench) reopen() error {
	w := startWatch()
	s, err := pebblestore.Open(b.dir, b.opt)
	if err != nil {
		return err
	}
	st, err := s.Stats(context.Background(), "*")
	w.print("open", st.Seen)
	fmt.Printf("disk %.2f B/key; max RSS %d MB\n",
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
	fmt.Printf("%s: %d keys in %.2f s, %.0f keys/s, CPU %.3f us/key\n", what, n, wall.Seconds(),
		float64(n)/wall.Seconds(), cpu.Seconds()*1e6/float64(n))
}
