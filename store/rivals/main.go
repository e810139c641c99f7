// Rivals measures other seen-sets and pebblestore on one stream of keys, in one
// run, and prints the ratios. Every write is synced before its answer, and every
// answer is checked.
//
//	cd store/rivals && go run . -keys 1e6 -length 10s
//
// RocksDB and SQLite take part when their libraries and a C++ compiler are
// there. Each rival has the shape that served it best: RocksDB a sorted MultiGet
// and one synced batch, SQLite a transaction of sorted INSERT OR IGNORE, bbolt a
// transaction of sorted puts. None has an index in memory, which is what
// pebblestore spends 9 to 12 bytes a key on; the line "bounded" is like for like.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/firstseen/firstseen/store/internal/storebench"
)

// rival is a seen-set to be measured.
type rival struct {
	name string
	open func(dir string) (engine, error)
}

type engine interface {
	storebench.Engine
	Close() error
}

func main() {
	dir := flag.String("dir", "", "directory for the databases, removed afterwards (default: a temporary one)")
	keys := flag.Float64("keys", 1e6, "keys loaded before measuring")
	length := flag.Duration("length", 10*time.Second, "length of each load")
	batch := flag.Int("batch", 10_000, "keys in a call")
	skew := flag.Bool("skew", false, "draw duplicates as links are")
	only := flag.String("only", "", "one rival, by name")
	flag.Parse()
	if err := run(*dir, *only, int(*keys), storebench.Load{Batch: *batch, Length: *length, Skew: *skew}); err != nil {
		log.Fatal(err)
	}
}

func run(dir, only string, n int, l storebench.Load) (err error) {
	tmp, err := os.MkdirTemp(dir, "rivals")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	table := map[string][]storebench.Result{}
	for _, r := range rivals(tmp) {
		if only != "" && r.name != only {
			continue
		}
		results, err := measure(r, filepath.Join(tmp, r.name), n, l)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		table[r.name] = results
	}
	ours := table[firstseen]
	for name, results := range table {
		for i, r := range results {
			if ours != nil && name != firstseen {
				fmt.Printf("%-10s %2.0f%% duplicates: pebblestore is %.1f times as fast, at %.2f of the CPU\n",
					name, dups[i]*100, ours[i].PerSecond()/r.PerSecond(), ours[i].CPUPerKey()/r.CPUPerKey())
			}
		}
	}
	return nil
}

var dups = []float64{0.9, 0.7, 0.5}

func measure(r rival, dir string, n int, l storebench.Load) (results []storebench.Result, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	e, err := r.open(dir)
	if err != nil {
		return nil, err
	}
	stream := storebench.NewStream(n + int(l.Length.Seconds()*2.5e6))
	start := time.Now()
	if err := stream.Preload(e, n); err != nil {
		return nil, err
	}
	loaded := time.Since(start)
	for _, l.Dup = range dups {
		result, err := stream.Run(e, l)
		if err != nil {
			return nil, err
		}
		fmt.Printf("%-10s %2.0f%% duplicates  %v\n", r.name, l.Dup*100, result)
		results = append(results, result)
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	fmt.Printf("%-10s loaded %d at %.0f keys/s, disk %.1f B/key\n", r.name, n, float64(n)/loaded.Seconds(),
		float64(storebench.DiskBytes(dir))/float64(stream.Known))
	return results, os.RemoveAll(dir)
}
