// Bench measures pebblestore: rates at given shares of duplicates, many
// callers, opening, memory and disk of a key, import and export. Every answer is
// checked. The rival stores are in store/rivals.
//
//	go run ./store/bench -keys 10e6 -length 15s
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"github.com/firstseen/firstseen/hashkey"
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/storebench"
	"github.com/firstseen/firstseen/store/pebblestore"
)

func main() {
	dir := flag.String("dir", "", "directory of the database; it is removed afterwards (default: a temporary one)")
	keys := flag.Float64("keys", 10e6, "keys loaded before measuring")
	length := flag.Duration("length", 15*time.Second, "length of each load")
	batch := flag.Int("batch", 10_000, "keys in a call")
	skew := flag.Bool("skew", false, "draw duplicates as links are")
	callers := flag.Int("callers", 0, "callers at once; 0: one caller, at 90, 70 and 50 % duplicates")
	profile := flag.String("cpuprofile", "", "file for a CPU profile of the loads")
	flag.Parse()
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
	if err := run(*dir, int(*keys), *callers, storebench.Load{Batch: *batch, Length: *length, Skew: *skew}); err != nil {
		log.Fatal(err)
	}
}

type engine struct{ s *pebblestore.Store }

func (e engine) See(keys []hashkey.UrlShortHash, fresh []bool) error {
	return e.s.See(context.Background(), "", keys, fresh, store.SeeOptions{})
}

func (engine) CPU() time.Duration { return 0 }

func run(dir string, n, callers int, l storebench.Load) error {
	if dir == "" {
		tmp, err := os.MkdirTemp("", "firstseen-bench")
		if err != nil {
			return err
		}
		dir = tmp
	}
	defer os.RemoveAll(dir)
	room := n + int(l.Length.Seconds()*3e6)
	stream := storebench.NewStream(room)
	s, err := pebblestore.Open(dir, pebblestore.Options{})
	if err != nil {
		return err
	}
	start := time.Now()
	if err := stream.Preload(engine{s}, n); err != nil {
		return err
	}
	fmt.Printf("load %d keys: %.0f keys/s\n", n, float64(n)/time.Since(start).Seconds())
	for _, dup := range []float64{0.9, 0.7, 0.5} {
		l.Dup = dup
		if callers > 0 {
			l.Dup = 0.7
			r, err := stream.RunCallers(engine{s}, callers, l)
			fmt.Printf("%d callers  %v\n", callers, r)
			return errors.Join(err, s.Close())
		}
		r, err := stream.Run(engine{s}, l)
		if err != nil {
			return err
		}
		fmt.Printf("%2.0f%% duplicates  %v\n", dup*100, r)
	}
	if err := s.Close(); err != nil {
		return err
	}
	return reopen(dir, stream.Known)
}

func reopen(dir string, n int) error {
	start := time.Now()
	s, err := pebblestore.Open(dir, pebblestore.Options{})
	if err != nil {
		return err
	}
	fmt.Printf("open with %d keys: %.2f s, disk %.2f B/key, max RSS %d MB\n", n, time.Since(start).Seconds(),
		float64(diskBytes(dir))/float64(n), storebench.MaxRSS()>>20)
	return s.Close()
}

func diskBytes(dir string) (n int64) {
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			n += info.Size()
		}
	}
	return n
}
