// Command store measures pebblestore: rates at shares of duplicates, growth, opening, memory and
// disk of a key, import and export. The n-th key is a hash of n, so that a billion keys need no list in memory. Every
// write is synced before its answer, and every answer is checked. Processor time is without that of drawing and
// checking keys, memory without the page cache. The rival stores are in cmd/internal/tools/rivals/store; docs/RESULTS.md
// has the figures.
//
//	go run ./cmd/internal/tools/bench/store -keys 10e6 -length 15s -callers 3
//
// With -grow it grows a store to -keys, with a row for each part, then closes, opens and
// kills it:
//
//	go run ./cmd/internal/tools/bench/store -grow 100e6 -keys 1e9 -dup 50 -callers 3
//
// With -batch 1 it first measures a seen-set on Pebble's own group commit, in the same way.
//
// Long runs can be cut up: -dup 90 measures one share of duplicates, and -keep leaves
// the database in -dir, where the next run finds it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/firstseen/firstseen/cmd/internal/tools/bench/store/storebench"
	"github.com/firstseen/firstseen/store/pebblestore"
)

func main() {
	var b bench
	flag.StringVar(&b.dir, "dir", "", "where to make the database, in a directory of its own that is removed afterwards (default: the temporary directory)")
	flag.BoolVar(&b.keep, "keep", false, "make the database in -dir itself, leave it there, and use the one that is there with as many keys or more")
	flag.Float64Var(&b.keys, "keys", 10e6, "keys loaded before measuring")
	flag.Float64Var(&b.grow, "grow", 0, "instead, grow a store to -keys, at the first share of -dup, and print a row for each so many keys")
	flag.DurationVar(&b.limit, "limit", 0, "end growing after so long (default: no limit)")
	flag.DurationVar(&b.load.Length, "length", 15*time.Second, "length of each load")
	flag.IntVar(&b.load.Batch, "batch", 10_000, "keys in a call")
	flag.IntVar(&b.load.Callers, "callers", 1, "callers at the same time")
	flag.BoolVar(&b.load.Skew, "skew", false, "draw duplicates as links are, mostly of a few")
	flag.Func("dup", "shares of duplicates, in % (default 90,70,50)", b.dups.set)
	flag.BoolVar(&b.bulk, "bulk", false, "measure exports too")
	flag.Func("index", "MB that the index may take; -1 for no index (default: no bound)", func(text string) error {
		n, err := strconv.ParseInt(text, 10, 32)
		b.opt.IndexBytes = n << 20
		return err
	})
	flag.BoolVar(&b.opt.Exact, "exact", false, "verify duplicates in the key runs")
	flag.StringVar(&b.profile, "cpuprofile", "", "file for a CPU profile of the loads")
	flag.BoolVar(&b.first, "first", false, "instead, open the store that is in -dir and print when it answered the first 1,000 keys")
	flag.Parse()
	if err := b.run(); err != nil {
		log.Fatal(err)
	}
}

// shares are typed as percentages with commas between them: 90,70,50.
type shares []float64

func (s *shares) set(text string) error {
	*s = nil
	for part := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseFloat(part, 64)
		if err != nil || v < 0 || v > 100 {
			return fmt.Errorf("cannot read %q; want percentages, such as 90,70,50", text)
		}
		*s = append(*s, v/100)
	}
	return nil
}

type bench struct {
	dir     string
	keep    bool
	keys    float64
	grow    float64
	limit   time.Duration
	load    storebench.Load
	dups    shares
	bulk    bool
	first   bool
	opt     pebblestore.Options
	profile string
	stream  storebench.Stream
}

func (b *bench) run() (err error) {
	if b.dups == nil {
		b.dups = shares{0.9, 0.7, 0.5}
	}
	b.load.Syncs = &storebench.LogSyncs{FS: vfs.Default}
	b.opt.FS = b.load.Syncs
	if b.first {
		return b.firstBatch(0)
	}
	if !b.keep {
		if b.dir, err = os.MkdirTemp(b.dir, "firstseen-bench"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	}
	if b.grow > 0 {
		return b.profiled(b.growth)
	}
	if b.load.Batch == 1 && !b.keep {
		if err := b.rival(); err != nil {
			return err
		}
	}
	s, err := b.loaded()
	if err != nil {
		return err
	}
	if err := b.profiled(func() error { return b.loads(storebench.Pebble{Store: s}, &b.stream) }); err != nil {
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
	if err := b.settle(s); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	return b.firstBatch(0)
}

// profiled runs f, under a profile if one is asked for.
func (b *bench) profiled(f func() error) error {
	if b.profile == "" {
		return f()
	}
	out, err := os.Create(b.profile)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(out); err != nil {
		return err
	}
	err = f()
	pprof.StopCPUProfile()
	return errors.Join(err, out.Close())
}
