// Command rivals measures other seen-sets and pebblestore on one stream of keys, in one
// run, and prints the ratios. Every write is synced before its answer, and every
// answer is checked.
//
//	cd cmd/internal/tools/rivals/store && go run . -keys 10e6 -length 10s
//	cd cmd/internal/tools/rivals/store && go run . -keys 10e6 -only firstseen,runs,rocksdb
//	cd cmd/internal/tools/rivals/store && go run . -keys 10e6 -only firstseen,runs,rocksdb -callers 3
//	cd cmd/internal/tools/rivals/store && go run . -keys 10e6 -only firstseen,bbolt,sqlite -dup 70 -batch 1000
//	cd cmd/internal/tools/rivals/store && go run . -keys 50e6 -only firstseen,bbolt,sqlite -dup 70 -sorted
//
// RocksDB and SQLite take part when their libraries and a C++ compiler are
// there. Each rival has the shape that served it best: RocksDB a sorted MultiGet,
// one batch, and a sync that callers share, SQLite a transaction of sorted INSERT OR IGNORE, bbolt a
// transaction of sorted puts. None has an index in memory, which is what
// pebblestore spends 9 to 12 bytes a key on; "runs" has none.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/firstseen/firstseen/cmd/internal/tools/bench/store/storebench"
)

// rival is a seen-set to be measured.
type rival struct {
	name string
	open func(dir string) (engine, error)
}

type engine interface {
	storebench.Engine
	Compacts() (bool, error) // reports whether it compacts now
	Close() error
}

func main() {
	dir := flag.String("dir", "", "directory for the databases, removed afterwards (default: a temporary one)")
	keys := flag.Float64("keys", 1e6, "keys loaded before measuring")
	length := flag.Duration("length", 10*time.Second, "length of each load")
	batch := flag.Int("batch", 10_000, "keys in a call")
	callers := flag.Int("callers", 1, "callers at the same time")
	skew := flag.Bool("skew", false, "draw duplicates as links are")
	dup := flag.String("dup", "90,70,50", "shares of duplicates, in %")
	sorted := flag.Bool("sorted", false, "load the first keys in their order, which B-trees take in minutes where they need hours")
	only := flag.String("only", "", "these rivals alone, by name: firstseen,runs,bbolt,rocksdb,sqlite")
	flag.Parse()
	dups, err := shares(*dup)
	if err != nil {
		log.Fatal(err)
	}
	if err := run(*dir, *only, int(*keys), *sorted, dups, storebench.Load{Batch: *batch, Callers: *callers, Length: *length, Skew: *skew}); err != nil {
		log.Fatal(err)
	}
}

// shares reads percentages with commas between them.
func shares(text string) (dups []float64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseFloat(part, 64)
		if err != nil || v < 0 || v > 100 {
			return nil, fmt.Errorf("cannot read %q; want shares, such as 90,70,50", text)
		}
		dups = append(dups, v/100)
	}
	return dups, nil
}

func run(dir, only string, n int, sorted bool, dups []float64, l storebench.Load) (err error) {
	tmp, err := os.MkdirTemp(dir, "rivals")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	table := map[string]*measured{}
	all := rivals(tmp)
	fmt.Println("\n| store | duplicates |" + storebench.Columns + "\n|---|--:|" + storebench.Rule)
	for _, r := range all {
		if only != "" && !slices.Contains(strings.Split(only, ","), r.name) {
			continue
		}
		m, err := measure(r, filepath.Join(tmp, r.name), n, sorted, dups, l)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		table[r.name] = m
	}
	showLoaded(table)
	fmt.Print("\n| ours | against | duplicates | times as fast | CPU | disk | later |\n|---|---|--:|--:|--:|--:|--:|\n")
	for _, ours := range oursAll {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			if !slices.Contains(oursAll, name) && table[ours] != nil {
				table[ours].compare(ours, name, dups, table[name])
			}
		}
	}
	return nil
}

// measured is what a rival brought.
type measured struct {
	loaded float64             // keys/s
	loads  []storebench.Result // at each of dups
	disk   float64             // bytes a key, straight after the loads
	later  float64             // when compactions have ended
}

// showLoaded prints what loading the first keys took, and the disk after all loads and
// when compactions have ended.
func showLoaded(table map[string]*measured) {
	fmt.Print("\n| store | loaded, keys/s | disk B/key | later |\n|---|--:|--:|--:|\n")
	for _, name := range slices.Sorted(maps.Keys(table)) {
		fmt.Printf("| %s | %.0f | %.1f | %.1f |\n", name, table[name].loaded, table[name].disk, table[name].later)
	}
}

// compare prints how m does beside another: times as fast, and shares of its processor time and disk.
func (m *measured) compare(name, other string, dups []float64, o *measured) {
	for i := range dups {
		fmt.Printf("| %s | %s | %.0f %% | %.1f | %.2f | %.2f | %.2f |\n", name, other, dups[i]*100,
			m.loads[i].PerSecond()/o.loads[i].PerSecond(), m.loads[i].CPUPerKey()/o.loads[i].CPUPerKey(), m.disk/o.disk, m.later/o.later)
	}
}

func measure(r rival, dir string, n int, sorted bool, dups []float64, l storebench.Load) (*measured, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	e, err := r.open(dir)
	if err != nil {
		return nil, err
	}
	var stream storebench.Stream
	start, load := time.Now(), stream.Preload
	if sorted {
		load = stream.PreloadSorted
	}
	if err := load(e, n); err != nil {
		return nil, err
	}
	m := &measured{loaded: float64(n) / time.Since(start).Seconds()}
	for _, l.Dup = range dups {
		result, err := stream.Run(e, l)
		if err != nil {
			return nil, err
		}
		fmt.Printf("| %s | %.0f %% |%s\n", r.name, l.Dup*100, result.Row())
		m.loads = append(m.loads, result)
	}
	if m.disk, err = r.disk(dir, e, stream.Known); err != nil {
		return nil, err
	}
	if e, err = r.open(dir); err != nil {
		return nil, err
	}
	if err := storebench.Settle(e.Compacts); err != nil {
		return nil, err
	}
	if m.later, err = r.disk(dir, e, stream.Known); err != nil {
		return nil, err
	}
	return m, os.RemoveAll(dir)
}

// disk closes e and returns its bytes on disk for each of n keys. Between, it is opened
// once more: the rest of the log and replaced files are removed then.
func (r rival) disk(dir string, e engine, n int) (float64, error) {
	if err := e.Close(); err != nil {
		return 0, err
	}
	e, err := r.open(dir)
	if err != nil {
		return 0, err
	}
	if err := e.Close(); err != nil {
		return 0, err
	}
	return float64(storebench.DiskBytes(dir)) / float64(n), nil
}
